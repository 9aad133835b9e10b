/* SPDX-License-Identifier: Apache-2.0 */
/* Microseconds of host time that the preloaded library adds to cudaGraphLaunch, on the simulated
 * CUDA: its launch is a stand-in for the driver's, which takes some microseconds, and so are the
 * calls that a sampled launch makes of it. Direct and hooked launches of one graph alternate in one
 * process; each figure is the median of many rounds.
 *
 *     bench_graphs LIBMHCSHADOW.SO
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS   101
#define LAUNCHES 4 /* a round: so few that there are slots for all */
#define GEMMS    86
#define K        64
#define TOKENS   8

static const struct mode {
    const char *name, *shapes, *sample;
    long pause; /* ns behind a round, in which the simulation computes what was sampled */
} modes[] = {
    {"no mixing GEMM in the process", "24x128", "all", 0},
    {"followed, no turn", "24x64", "1/1000000000", 0},
    {"followed, 4 GEMMs sampled", "24x64", "all", 20000000},
};

typedef __typeof__(cudaGraphLaunch) graph_launch;

static cudaStream_t stream;

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "bench_graphs: %s failed\n", what);
        exit(1);
    }
}

#define MUST(call) must((call) == 0, #call)

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void gemm(cublasHandle_t handle, const float *fn, const float *x, float *c)
{
    static const float one = 1, zero = 0;

    MUST(cublasSgemm_v2(handle, CUBLAS_OP_T, CUBLAS_OP_N, 24, TOKENS, K, &one, fn, K, x, K, &zero,
                        c, 24));
}

/* A graph of GEMMS mixing GEMMs, as a decode step has them. */
static cudaGraphExec_t make_graph(void)
{
    cublasHandle_t handle;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    float *memory;

    MUST(cudaMalloc((void **)&memory, GEMMS * 24 * K * sizeof(float) + 65536));
    MUST(cudaMemset(memory, 0, GEMMS * 24 * K * sizeof(float) + 65536));
    MUST(cudaDeviceSynchronize());
    MUST(cublasCreate_v2(&handle));
    MUST(cublasSetStream_v2(handle, stream));
    gemm(handle, memory + 8192, memory, memory + 4096); /* a warm-up, as every server makes one */
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < GEMMS; i++) {
        gemm(handle, memory + 8192 + i * 24 * K, memory, memory + 4096);
    }
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cudaGraphDestroy(graph));
    return exec;
}

/* us per launch of one round. What was launched runs afterwards: in the lazy order, not before
 * someone waits for it. */
static double round_of(graph_launch *launch, cudaGraphExec_t exec, long pause)
{
    const struct timespec a_moment = {0, pause};
    double time = -now();

    for (int i = 0; i < LAUNCHES; i++) {
        MUST(launch(exec, stream));
    }
    time += now();
    MUST(cudaStreamSynchronize(stream));
    nanosleep(&a_moment, NULL);
    return time / LAUNCHES;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int measure(const struct mode *mode)
{
    double direct[ROUNDS], hooked[ROUNDS];
    void *const library = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);
    graph_launch *const real = library ? (graph_launch *)dlsym(library, "cudaGraphLaunch") : NULL;
    cudaGraphExec_t exec;

    must(real && real != cudaGraphLaunch, "the preload of the library");
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    exec = make_graph();
    for (int i = 0; i < ROUNDS; i++) {
        direct[i] = round_of(real, exec, 0);
        hooked[i] = round_of(cudaGraphLaunch, exec, mode->pause);
    }
    qsort(direct, ROUNDS, sizeof(double), ascending);
    qsort(hooked, ROUNDS, sizeof(double), ascending);
    printf("%-32s %10.2f %10.2f %10.2f %8.3f\n", mode->name, direct[ROUNDS / 2], hooked[ROUNDS / 2],
           hooked[ROUNDS / 2] - direct[ROUNDS / 2], hooked[ROUNDS / 2] / direct[ROUNDS / 2]);
    return 0;
}

static int run_preloaded(char **argv, const struct mode *mode)
{
    char directory[] = "/tmp/mhcs-bench-XXXXXX", command[64];
    int status = 1;
    pid_t child;

    must(mkdtemp(directory) != NULL, "mkdtemp");
    child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", argv[1], 1);
        setenv("SIMCUDA_QUIET", "1", 1);
        setenv("MHCSHADOW_DIR", directory, 1);
        setenv("MHCSHADOW_SHAPES", mode->shapes, 1);
        setenv("MHCSHADOW_SAMPLE", mode->sample, 1);
        setenv("MHCSHADOW_ROWS", "1", 1);
        setenv("MHCSHADOW_REFERENCE", "host", 1); /* the quickest here */
        execl("/proc/self/exe", argv[0], "--mode", mode->name, (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    snprintf(command, sizeof(command), "rm -r %s", directory);
    return system(command) == 0 && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const size_t count = sizeof(modes) / sizeof(modes[0]);
    int failed = 0;

    if (argc == 3 && strcmp(argv[1], "--mode") == 0) {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(modes[i].name, argv[2]) == 0) {
                return measure(&modes[i]);
            }
        }
    }
    if (argc != 2) {
        fprintf(stderr, "usage: bench_graphs LIBMHCSHADOW.SO\n");
        return 2;
    }
    printf("%-32s %10s %10s %10s %8s\n", "us per launch (simulated CUDA)", "direct", "preloaded",
           "added", "ratio");
    fflush(stdout);
    for (size_t i = 0; i < count; i++) {
        failed |= run_preloaded(argv, &modes[i]);
    }
    return failed;
}
