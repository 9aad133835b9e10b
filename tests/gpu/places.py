# SPDX-License-Identifier: Apache-2.0
"""Where things are: the build folder's programs, and the CUDA that they are to run on."""
import glob
import json
import os
import subprocess
import sys

from items import PROGRAMS, SIMULATION

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A process of its own asks: a driver may hang, or end it.
PROBE = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
count, version, name = ctypes.c_int(0), ctypes.c_int(0), ctypes.create_string_buffer(128)
if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0:
    cuda.cuDeviceGetName(name, 128, 0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    path = next(line.split()[-1] for line in open("/proc/self/maps") if "/libcuda.so" in line)
    print(json.dumps({"count": count.value, "name": name.value.decode(), "driver": version.value, "path": path}))
"""


class Unusable(Exception):
    """Says what is missing."""


def probe(library_path):
    """The GPU, as the programs will find it; None: there is none."""
    env = dict(os.environ, LD_LIBRARY_PATH=library_path, SIMCUDA_QUIET="1")
    command = [sys.executable, "-c", PROBE]
    try:
        run = subprocess.run(command, env=env, text=True, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired as hang:
        raise Unusable("the CUDA driver does not answer within a minute") from hang
    return json.loads(run.stdout) if run.returncode == 0 and run.stdout else None


def from_environment():
    return list(filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")))


def of_the_system():
    try:
        cache = subprocess.run(["/sbin/ldconfig", "-p"], text=True, capture_output=True, check=False).stdout
    except OSError:
        return []
    return [os.path.dirname(line.split()[-1]) for line in cache.splitlines() if "=>" in line]


def candidates(given):
    """Folders in which NVIDIA's libraries may be, best first."""
    toolkits = filter(None, [os.environ.get("CUDA_HOME"), "/usr/local/cuda"])
    toolkits = [os.path.join(toolkit, lib) for toolkit in toolkits for lib in ("lib64", "lib")]
    wheels = [folder for place in sys.path for folder in sorted(glob.glob(os.path.join(place, "nvidia", "*", "lib")))]
    unpacked = os.path.join(SOURCE, "build", "cuda", "nvidia", "cu13", "lib")  # by quickstart
    return [*given, *from_environment(), *toolkits, *wheels, unpacked, *of_the_system()]


class Places:
    """simulated: with the simulation in the place of a GPU."""

    def __init__(self, build, cuda, simulated):
        self.build, self.simulated = os.path.abspath(build), simulated
        self.simulation = os.path.join(self.build, SIMULATION)
        self.lacks = {}  # need: why it is not met
        for path in PROGRAMS.values():
            if not os.path.exists(os.path.join(self.build, path)):
                raise Unusable(f"no {path} in {self.build}: build first (./quickstart gpu does), or name it by --build")
        carried = os.path.join(self.build, "lib")  # by pack.py
        if simulated:
            self.library_path = f"{self.simulation}:{carried}"
            self.gpu = probe(self.library_path)
            self.lacks = {"torch": "the simulation does not run PyTorch",
                          "sanitizer": "the simulation checks every access in any case"}
            return
        self.gpu = probe(os.environ.get("LD_LIBRARY_PATH", ""))
        if self.gpu and "simcuda" in self.gpu["name"]:
            raise Unusable("LD_LIBRARY_PATH leads to the simulation: --simulated is what that is for")
        driver = [os.path.dirname(self.gpu["path"])] if self.gpu else []
        folders = [*self.find_cublas(cuda), *driver, *from_environment(), carried]
        self.library_path = ":".join(dict.fromkeys(folders))

    def find_cublas(self, given):
        folders, found = candidates(given), []
        for name in ("libcublas.so.13", "libcublasLt.so.13", "libcudart.so.13"):
            folder = next((folder for folder in folders if os.path.exists(os.path.join(folder, name))), None)
            if folder:
                found.append(folder)
            else:
                self.lacks["cublas"] = f"no {name} here; --cuda names its folder"
        return found

    def program(self, name):
        return sys.executable if name == "python" else os.path.join(self.build, PROGRAMS[name])

    def environment(self):
        """Of every item."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("MHCSHADOW_")}
        env.update({f"MHCSHADOW_TEST_{name}": self.program(name) for name in PROGRAMS})
        env.update(LD_LIBRARY_PATH=self.library_path, PYTHONPATH=os.path.join(SOURCE, "tests", "e2e"),
                   PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1", SIMCUDA_QUIET="1",
                   MHCSHADOW_TEST_GPU="simulated" if self.simulated else "gpu", MHCSHADOW_TEST_FEW="0",
                   MHCSHADOW_TEST_PAUSE="0", MHCSHADOW_TEST_VECTORS=os.path.join(SOURCE, "tests", "vectors"),
                   # Else cuBLAS may sum in another order from run to run, where several streams work.
                   CUBLAS_WORKSPACE_CONFIG=":4096:8")
        return env

    def cannot_load(self, name):
        """Why a program would not run, or not on what it is meant to; None: it would. Where a library of NVIDIA's is
        missing, the linker takes the simulated one, beside which the program was linked."""
        env = dict(self.environment(), LD_TRACE_LOADED_OBJECTS="1")
        run = subprocess.run([self.program(name)], env=env, text=True, capture_output=True, timeout=60, check=False)
        simulation = None if self.simulated else os.path.realpath(self.simulation)
        for line in run.stdout.splitlines():
            library, _, path = line.strip().partition(" => ")
            if path == "not found":
                return f"{name.lower()} finds no {library}"
            if os.path.dirname(os.path.realpath(path.split(" ")[0])) == simulation:
                return f"{name.lower()} would run on the simulated {library}"
        return run.stderr.strip() if run.returncode else None
