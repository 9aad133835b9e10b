/* SPDX-License-Identifier: Apache-2.0 */
/* Microseconds of host time that the preloaded library adds to cudaGraphLaunch of a graph that was
 * captured under it, on the simulated CUDA: its launch is a stand-in for the driver's, which takes
 * some microseconds, and so are the calls that a sampled launch makes of it. To the simulation a
 * disabled node is no work; what it costs on a GPU is not measured here.
 *
 *     bench_graphs LIBMHCSHADOW.SO
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "tests/must.h"

#define LAUNCHES 7 /* a round, and one that warms up: so few that there are slots for all */
#define GEMMS    86
#define K        64
#define TOKENS   8

#define RARELY "1/1000000000"

/* parameter: ns behind a round, in which the simulation computes what was sampled */
static const struct bench_mode modes[] = {
    {"no library, twice", true, 0, {{NULL}}},
    {"no mixing GEMM in the process", false, 0, {{"MHCSHADOW_SHAPES", "24x128"}}},
    {"MHCSHADOW_GRAPHS=0", false, 0, {{"MHCSHADOW_GRAPHS", "0"}, {"MHCSHADOW_SAMPLE", RARELY}}},
    {"followed, not sampled", false, 0, {{"MHCSHADOW_SAMPLE", RARELY}}},
    {"followed, 4 GEMMs sampled", false, 20000000, {{"MHCSHADOW_SAMPLE", "all"}}},
};

static cudaStream_t stream;
static cudaGraphExec_t exec;

static void gemm(cublasHandle_t handle, const float *fn, const float *x, float *c)
{
    static const float one = 1, zero = 0;

    MUST(cublasSgemm_v2(handle, CUBLAS_OP_T, CUBLAS_OP_N, 24, TOKENS, K, &one, fn, K, x, K, &zero,
                        c, 24));
}

static void *idle(void *unused)
{
    for (;;) {
        pause();
    }
    return unused;
}

/* The simulated launch allocates, which costs a process less while it has a single thread, as no
 * server does, and more where the heap happens to have shrunk since. */
static void steady_heap(void)
{
    pthread_t thread;

    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    MUST(pthread_create(&thread, NULL, idle, NULL));
}

/* A graph of GEMMS mixing GEMMs, as a decode step has them; returns how many nodes it has. */
static unsigned make_graph(const struct bench_mode *mode)
{
    cublasHandle_t handle;
    cudaGraph_t graph;
    size_t nodes;
    float *memory;

    steady_heap();
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
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
    MUST(cudaGraphGetNodes(graph, NULL, &nodes));
    MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cudaGraphDestroy(graph));
    return (unsigned)nodes;
}

/* The median launch of a round, as whoever else uses the processor disturbs some. What was launched
 * runs afterwards: in the lazy order, not before someone waits for it. */
static double make_launches(const struct bench_mode *mode)
{
    const struct timespec a_moment = {0, mode->parameter};
    double time[LAUNCHES];

    for (int i = -1; i < LAUNCHES; i++) { /* the first warms up */
        const double start = bench_now();

        MUST(cudaGraphLaunch(exec, stream));
        time[i < 0 ? 0 : i] = bench_now() - start;
    }
    MUST(cudaStreamSynchronize(stream));
    nanosleep(&a_moment, NULL);
    return bench_spread(time, LAUNCHES).median * 1e6;
}

int main(int argc, char **argv)
{
    static const struct bench bench = {
        .unit = "us per launch (simulated CUDA)",
        .counted = "nodes",
        .decimals = 2,
        .modes = modes,
        .count = sizeof(modes) / sizeof(modes[0]),
        .prepare = make_graph,
        .round = make_launches,
    };

    setenv("SIMCUDA_QUIET", "1", 1);
    setenv("MHCSHADOW_SHAPES", "24x64", 0);
    setenv("MHCSHADOW_ROWS", "1", 1);
    setenv("MHCSHADOW_REFERENCE", "host", 1); /* the quickest here */
    return bench_main(argc, argv, &bench);
}
