# SPDX-License-Identifier: Apache-2.0
"""The programs of a build, without debug information, and the libraries that they need beside CUDA and the C library,
in a folder that can be carried to another machine: there tests/gpu/run --build takes it for the build folder."""
import os
import re
import shutil
import subprocess

from items import PROGRAMS, SIMULATED_LIBRARIES, SIMULATION

# On any machine; or of CUDA, which comes with the GPU.
PRESENT = re.compile(r"(ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|cuda|cudart|cublas|cublasLt)[-.])")


def libraries_of(program):
    """Names and paths."""
    env = dict(os.environ, LD_TRACE_LOADED_OBJECTS="1")
    run = subprocess.run([program], env=env, text=True, capture_output=True, check=False)
    found = re.findall(r"^\s*(\S+) => (/\S+)", run.stdout, re.M)
    return [(name, path) for name, path in found if not PRESENT.match(name)]


def copy(path, to):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copy(path, to)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-debug", to], check=False)


def pack(build, to):
    """Returns the bytes."""
    for path in [*PROGRAMS.values(), *(os.path.join(SIMULATION, name) for name in SIMULATED_LIBRARIES)]:
        copy(os.path.join(build, path), os.path.join(to, path))
        for name, library in libraries_of(os.path.join(build, path)):
            if not os.path.exists(os.path.join(to, "lib", name)):
                copy(library, os.path.join(to, "lib", name))
    return sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(to) for file in files)
