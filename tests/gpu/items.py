# SPDX-License-Identifier: Apache-2.0
"""What tests/gpu/run runs: the list, first what is most to be learned from a GPU. The tests of other rooms are the same
scripts that run on the simulation, with NVIDIA's libraries in front of the simulated ones."""
from dataclasses import dataclass, field

# Paths in the build folder, by the name that the tests know them by ($MHCSHADOW_TEST_NAME).
PROGRAMS = {
    "LIBRARY": "interpose/libmhcshadow.so",
    "REPORT": "tools/report/mhcshadow-report",
    "MICROTEST": "tools/microtest/mhcshadow-microtest",
    "MAKE_CHECKPOINT": "tests/demo/mhcshadow-make-checkpoint",
    "TRACE_DUMP": "tests/trace/trace_dump",
    "DEMO": "tests/demo/mhcshadow-demo",
    "DOORS": "tests/doors/doors",
    "CONTEXTS": "tests/doors/contexts",
    "PROCESS": "tests/doors/process",
    "STRESS": "tests/doors/stress",
    "PLUGIN_HOST": "tests/doors/plugin_host",
    "PLUGIN": "tests/doors/libcublas_plugin.so",
    "MEMORY_SAVER": "tests/doors/libmemory_saver.so",
    "SNAPSHOT": "tests/vectors/test_snapshot",
    "SHAPES_PROGRAM": "tests/vectors/test_shapes",
    "VECTORS_PROGRAM": "tests/vectors/test_vectors",
    "DRIVER": "tests/gpu/gpu_driver",
    "KERNEL_TIMES": "tests/gpu/gpu_kernel_times",
    "COST": "tests/gpu/gpu_cost",
    "ALGORITHMS": "tests/gpu/gpu_algorithms",
    "CAPTURES": "tests/gpu/gpu_captures",
}
SIMULATED_LIBRARIES = ("libcuda.so.1", "libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13")
SIMULATION = "tests/simcuda"


@dataclass(frozen=True)
class Item:
    name: str
    tells: str
    command: list  # a program's name, or a script of tests/; and arguments
    client: str = None  # what the script runs; "python" is this Python
    limit: int = 60  # seconds
    needs: tuple = ()  # beside a GPU: cublas, torch, sanitizer
    alone: bool = False  # it measures: nothing else may run meanwhile
    env: dict = field(default_factory=dict)
    simulated: list = None  # the command on the simulation, where it is another; []: nothing to do


CUBLAS = ("cublas",)
JIT = {"CUDA_FORCE_PTX_JIT": "1", "CUDA_CACHE_DISABLE": "1"}

ITEMS = [
    Item("driver", "the driver takes the kernels; what its calls and a graph's nodes cost", ["DRIVER"], alone=True),
    Item("driver-ptx", "the driver compiles the PTX", ["DRIVER"], alone=True, env=JIT, simulated=[]),
    Item("kernel-times", "GPU time of a sample's kernels", ["KERNEL_TIMES", "1", "16", "64"], alone=True,
         simulated=["KERNEL_TIMES", "1"]),
    Item("cost", "what samples, unsampled calls and the nodes of a graph cost the application", ["gpu/test_cost.py"],
         "COST", 150, CUBLAS, True),
    Item("kernels", "the kernels are right to the bit", ["SHAPES_PROGRAM"], needs=CUBLAS),
    Item("vectors", "all three references agree with the oracle", ["VECTORS_PROGRAM"], needs=CUBLAS),
    Item("snapshot", "the snapshot of any layout is right to the bit", ["SNAPSHOT"]),
    Item("errors", "results are bit-identical; the errors of each precision beside those expected",
         ["gpu/test_errors.py"], "DEMO", 240, CUBLAS),
    Item("captures", "capture modes and the lives of graphs", ["gpu/test_captures.py"], "CAPTURES", needs=CUBLAS),
    Item("torch", "PyTorch, eager and in graphs", ["gpu/test_torch.py"], "python", 150, ("torch",)),
    Item("graphs", "replays are seen like calls", ["e2e/test_graphs.py"], "DEMO", 120, CUBLAS),
    Item("algorithms", "the kernels that cuBLAS takes", ["ALGORITHMS"], needs=CUBLAS),
    Item("model", "names, weights and the three references", ["e2e/test_model.py"], "DEMO", 200, CUBLAS),
    Item("contexts", "streams, threads, contexts, and their ends", ["doors/test_contexts.py"], "CONTEXTS", 120, CUBLAS),
    Item("processes", "fork, exec, exit with samples in flight", ["doors/test_processes.py"], "PROCESS", 150, CUBLAS),
    Item("doors", "every door of cuBLAS in every form", ["doors/test_doors.py"], "DOORS", 200, CUBLAS),
    Item("stress", "many threads and doors at random", ["doors/test_stress.py", "500", "lazy"], "STRESS", 60, CUBLAS),
    Item("offline", "mhcshadow-microtest by the GPU's cuBLAS", ["gpu/test_offline.py"], "MICROTEST", 90, CUBLAS),
    Item("kernels-ptx", "the kernels as the driver compiles them", ["SHAPES_PROGRAM"], needs=CUBLAS, env=JIT,
         simulated=[]),
    Item("sanitizer", "compute-sanitizer finds nothing", ["gpu/test_sanitizer.py"], "PROCESS", 200,
         ("cublas", "sanitizer")),
]
