/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing GEMMs of several doors and forms captured into CUDA graphs in a capture mode, while
 * another thread makes its own, and the graphs' lives: destroyed before the executable one, cloned,
 * updated, captured into a second time. Prints a checksum of each replay and of the thread's calls.
 *
 *     captures global|thread-local|relaxed
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/doors/problem.h"
#include "tests/must.h"

#define K         64
#define REPLAYS   4
#define WORKSPACE (8 << 20)
#define BESIDE    40 /* calls of the other thread, of which some come while a capture lasts */

static const struct problem problems[] = {
    {.hook = MHCS_HOOK_cublasGemmEx, .m = 24, .n = 5, .k = K, .ta = true, .alpha = 1},
    {.hook = MHCS_HOOK_cublasGemmEx, .m = 24, .n = 6, .k = K, .ta = true, .alpha = 1, .beta = 0.5f},
    {.hook = MHCS_HOOK_cublasSgemm_v2, .m = 24, .n = 7, .k = K, .ta = true, .alpha = 1},
    {.hook = MHCS_HOOK_cublasHgemm, .m = 24, .n = 8, .k = K, .ta = true, .alpha = 1},
    {.hook = MHCS_HOOK_cublasGemmStridedBatchedEx, .m = 24, .n = 9, .k = K, .ta = true, .alpha = 1},
    {.hook = MHCS_HOOK_cublasLtMatmul, .m = 24, .n = 10, .k = K, .ta = true, .alpha = 1},
    {.hook = MHCS_HOOK_cublasGemmEx, .m = 4, .n = 11, .k = K, .ta = true, .alpha = 1},
};
#define PROBLEMS (sizeof(problems) / sizeof(problems[0]))

static const struct {
    const char *name;
    enum cudaStreamCaptureMode mode;
} modes[] = {{"global", cudaStreamCaptureModeGlobal},
             {"thread-local", cudaStreamCaptureModeThreadLocal},
             {"relaxed", cudaStreamCaptureModeRelaxed}};

static struct problem_handles handles;
static cudaStream_t stream;
static struct problem_call *calls[PROBLEMS];

static void make_all(void)
{
    for (size_t i = 0; i < PROBLEMS; i++) {
        MUST(problem_make(calls[i], &handles, stream));
    }
}

/* The results accumulate where beta is not zero, so that a lost or doubled replay shows. */
static void print_results(const char *what)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < PROBLEMS; i++) {
        sum = mhcs_mix64(sum ^ problem_result(calls[i], false, stream));
    }
    printf("%s %016llx\n", what, (unsigned long long)sum);
}

static void replay(const char *what, cudaGraphExec_t exec)
{
    for (int i = 0; i < REPLAYS; i++) {
        MUST(cudaGraphLaunch(exec, stream));
        print_results(what);
    }
}

static cudaGraph_t capture(enum cudaStreamCaptureMode mode)
{
    cudaGraph_t graph;

    MUST(cudaStreamBeginCapture(stream, mode));
    make_all();
    MUST(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;

    MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

/* Of our own: what cuBLAS allocates while it is captured becomes nodes, and such graphs may not be
 * cloned or instantiated twice. */
static void set_up(const struct problem_handles *of, CUstream on)
{
    CUdeviceptr workspace;

    MUST(cublasSetStream_v2(of->cublas, on));
    MUST(cuMemAlloc(&workspace, WORKSPACE));
    MUST(cublasSetWorkspace_v2(of->cublas, (void *)workspace, WORKSPACE));
}

/* ---- the thread beside ---- */

static struct {
    pthread_t thread;
    atomic_int made, asked; /* calls */
    CUcontext context;
    uint64_t sum;
} beside;

/* Only what other threads may do while a capture lasts in the global mode: no allocation, no wait.
 */
static void *work_beside(void *unused)
{
    const struct problem p = {.hook = MHCS_HOOK_cublasGemmEx,
                              .m = 24,
                              .n = 4,
                              .k = K,
                              .ta = true,
                              .alpha = 1,
                              .seed = 99};
    struct problem_handles own;
    struct problem_call *call;
    CUstream own_stream;

    MUST(cuCtxSetCurrent(beside.context));
    problem_open(&own);
    MUST(cuStreamCreate(&own_stream, CU_STREAM_NON_BLOCKING));
    set_up(&own, own_stream);
    call = problem_prepare(&p, own_stream);
    for (int i = 0; i < BESIDE; i++) {
        while (beside.asked <= i) {
            sched_yield();
        }
        MUST(problem_make(call, &own, own_stream));
        beside.made++;
    }
    while (beside.asked <= BESIDE) {
        sched_yield();
    }
    beside.sum = problem_result(call, false, own_stream);
    problem_drop(call);
    problem_close(&own);
    return unused;
}

static void ask_beside(int count)
{
    const int wanted = beside.asked + count;

    beside.asked = wanted;
    while (beside.made < (wanted < BESIDE ? wanted : BESIDE)) {
        sched_yield();
    }
}

/* ---- */

static void capture_beside_a_thread(enum cudaStreamCaptureMode mode)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    MUST(cudaStreamBeginCapture(stream, mode));
    make_all();
    ask_beside(BESIDE / 2);
    MUST(cudaStreamEndCapture(stream, &graph));
    exec = instantiate(graph);
    MUST(cudaGraphDestroy(graph)); /* as PyTorch does */
    replay("captured beside a thread", exec);
    MUST(cudaGraphExecDestroy(exec));
}

static void clone_graph(enum cudaStreamCaptureMode mode)
{
    const cudaGraph_t graph = capture(mode);
    cudaGraph_t copy;
    cudaGraphExec_t exec;

    MUST(cudaGraphClone(&copy, graph));
    MUST(cudaGraphDestroy(graph));
    exec = instantiate(copy);
    replay("cloned", exec);
    MUST(cudaGraphDestroy(copy));
    MUST(cudaGraphExecDestroy(exec));
}

static void update(enum cudaStreamCaptureMode mode)
{
    const cudaGraph_t first = capture(mode), second = capture(mode);
    const cudaGraphExec_t exec = instantiate(first);
    cudaGraphExecUpdateResultInfo info;

    replay("before the update", exec);
    printf("update %d\n", (int)cudaGraphExecUpdate(exec, second, &info));
    MUST(cudaGraphDestroy(first));
    MUST(cudaGraphDestroy(second));
    replay("after the update", exec);
    MUST(cudaGraphExecDestroy(exec));
}

/* Two executable graphs of one, launched in turn, and the graph gone. */
static void twice(enum cudaStreamCaptureMode mode)
{
    const cudaGraph_t graph = capture(mode);
    const cudaGraphExec_t one = instantiate(graph), other = instantiate(graph);

    MUST(cudaGraphDestroy(graph));
    replay("one of two", one);
    replay("the other of two", other);
    MUST(cudaGraphExecDestroy(one));
    replay("the other alone", other);
    MUST(cudaGraphExecDestroy(other));
}

int main(int argc, char **argv)
{
    const enum cudaStreamCaptureMode *mode = NULL;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (argc == 2 && strcmp(argv[1], modes[i].name) == 0) {
            mode = &modes[i].mode;
        }
    }
    if (!mode) {
        fprintf(stderr, "usage: captures global|thread-local|relaxed\n");
        return 2;
    }
    MUST(cudaSetDevice(0));
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cuCtxGetCurrent(&beside.context));
    problem_open(&handles);
    set_up(&handles, stream);
    for (size_t i = 0; i < PROBLEMS; i++) {
        struct problem p = problems[i];

        p.seed = i;
        calls[i] = problem_prepare(&p, stream);
    }
    make_all(); /* a warm-up, as every server makes one */
    print_results("eager");
    MUST(pthread_create(&beside.thread, NULL, work_beside, NULL));
    ask_beside(2); /* it has its memory */

    capture_beside_a_thread(*mode);
    clone_graph(*mode);
    update(*mode);
    twice(*mode);

    ask_beside(BESIDE); /* more than are left: it comes to its end */
    pthread_join(beside.thread, NULL);
    printf("beside %016llx\n", (unsigned long long)beside.sum);
    return 0;
}
