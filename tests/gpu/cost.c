/* SPDX-License-Identifier: Apache-2.0 */
/* What the preloaded library costs an application on this GPU: host and GPU time of a mixing GEMM
 * (24 coefficients, bf16) called through the hooks and past them, and of the launch of a
 * graph of 86 of them, captured through the hooks and past them. The ways alternate in one process;
 * each figure is the median of many rounds.
 *
 *     cost eager|graph K TOKENS DELAY_MB PAUSE_MS
 *
 * Before each round the GPU is kept busy with filling DELAY_MB of memory, so that all of the round
 * is queued when it begins: what is measured is then the GPU's time and not the host's. PAUSE_MS:
 * behind it, in which the library is through with what it sampled.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "measure.h"

#define ROWS      24
#define WEIGHTS   86
#define CALLS     16 /* a round: each may be sampled, and finds a slot */
#define LAUNCHES  4  /* the same */
#define WARM_UP   3  /* rounds */
#define WORKSPACE (8 << 20)

static cudaStream_t stream;
static cublasHandle_t handle;
static char *fn, *x, *c, *fill;
static size_t fill_bytes;
static int k, tokens;
static struct timespec pause_behind;

/* The functions as the linker binds them, or those of the libraries themselves. */
static struct ways {
    __typeof__(&cublasGemmEx) gemm;
    __typeof__(&cudaStreamBeginCapture) begin_capture;
    __typeof__(&cudaStreamEndCapture) end_capture;
    __typeof__(&cudaGraphInstantiateWithFlags) instantiate;
    __typeof__(&cudaGraphDestroy) destroy;
    __typeof__(&cudaGraphLaunch) launch;
} hooked = {cublasGemmEx,         cudaStreamBeginCapture,
            cudaStreamEndCapture, cudaGraphInstantiateWithFlags,
            cudaGraphDestroy,     cudaGraphLaunch},
  direct;

static void *past_the_hooks(const char *soname, const char *name, void *hook)
{
    void *const library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    void *const function = library ? dlsym(library, name) : NULL;

    if (!function || function == hook) {
        fprintf(stderr, "cost: %s: the library is not preloaded\n", name);
        exit(1);
    }
    return function;
}

static void find_direct(void)
{
#define FIND(field, soname, name)                                                                  \
    direct.field = (__typeof__(direct.field))past_the_hooks(soname, name, (void *)hooked.field)
    FIND(gemm, "libcublas.so.13", "cublasGemmEx");
    FIND(begin_capture, "libcudart.so.13", "cudaStreamBeginCapture");
    FIND(end_capture, "libcudart.so.13", "cudaStreamEndCapture");
    FIND(instantiate, "libcudart.so.13", "cudaGraphInstantiateWithFlags");
    FIND(destroy, "libcudart.so.13", "cudaGraphDestroy");
    FIND(launch, "libcudart.so.13", "cudaGraphLaunch");
#undef FIND
}

static char *allocate(size_t bytes)
{
    void *memory;

    MUST(cudaMalloc(&memory, bytes));
    MUST(cudaMemset(memory, 0x3c, bytes)); /* a small number in bf16 */
    return memory;
}

static void open_all(void)
{
    const size_t weights = (size_t)WEIGHTS * ROWS * (size_t)k * 2;

    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    fn = allocate(weights);
    x = allocate((size_t)tokens * (size_t)k * 2);
    c = allocate((size_t)tokens * ROWS * 2);
    if (fill_bytes > 0) {
        fill = allocate(fill_bytes);
    }
    MUST(cublasCreate(&handle));
    MUST(cublasSetStream(handle, stream));
    MUST(cublasSetWorkspace(handle, allocate(WORKSPACE), WORKSPACE));
    MUST(cudaDeviceSynchronize());
}

static void multiply(const struct ways *way, int i)
{
    static const float one = 1, zero = 0;

    MUST(way->gemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, ROWS, tokens, k, &one,
                   fn + (size_t)(i % WEIGHTS) * ROWS * (size_t)k * 2, CUDA_R_16BF, k, x,
                   CUDA_R_16BF, k, &zero, c, CUDA_R_16BF, ROWS, CUBLAS_COMPUTE_32F,
                   CUBLAS_GEMM_DEFAULT));
}

static cudaGraphExec_t capture(const struct ways *way)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    MUST(way->begin_capture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < WEIGHTS; i++) {
        multiply(way, i);
    }
    MUST(way->end_capture(stream, &graph));
    MUST(way->instantiate(&exec, graph, 0));
    MUST(way->destroy(graph));
    return exec;
}

/* One of the ways that are compared. */
struct work {
    const char *name;
    const struct ways *way;
    cudaGraphExec_t exec; /* NULL: calls */
    double host[MEASURE_ROUNDS], gpu[MEASURE_ROUNDS];
};

static void run(struct work *work, int round)
{
    static cudaEvent_t begin, end;
    const int count = work->exec ? LAUNCHES : CALLS;
    double time;
    float ms;

    if (!begin) {
        MUST(cudaEventCreateWithFlags(&begin, cudaEventDefault));
        MUST(cudaEventCreateWithFlags(&end, cudaEventDefault));
    }
    if (fill) {
        MUST(cudaMemsetAsync(fill, 0, fill_bytes, stream));
    }
    MUST(cudaEventRecord(begin, stream));
    time = -measure_now();
    for (int i = 0; i < count; i++) {
        if (work->exec) {
            MUST(work->way->launch(work->exec, stream));
        } else {
            multiply(work->way, (round + WARM_UP) * CALLS + i);
        }
    }
    time += measure_now();
    MUST(cudaEventRecord(end, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaEventElapsedTime(&ms, begin, end));
    if (round >= 0) {
        work->host[round] = time / count / 1e3;
        work->gpu[round] = (double)ms * 1e3 / count;
    }
    nanosleep(&pause_behind, NULL);
}

static void compare(struct work *works, size_t count)
{
    char name[64];

    for (int r = -WARM_UP; r < measure_rounds(); r++) {
        for (size_t i = 0; i < count; i++) {
            run(&works[i], r);
        }
    }
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "%s.host", works[i].name);
        measure_figure(name, measure_median(works[i].host), "us");
        snprintf(name, sizeof(name), "%s.gpu", works[i].name);
        measure_figure(name, measure_median(works[i].gpu), "us");
    }
}

int main(int argc, char **argv)
{
    const bool graph = argc == 6 && strcmp(argv[1], "graph") == 0;
    int pause;

    if (argc != 6) {
        fprintf(stderr, "usage: cost eager|graph K TOKENS DELAY_MB PAUSE_MS\n");
        return 2;
    }
    k = atoi(argv[2]);
    tokens = atoi(argv[3]);
    fill_bytes = (size_t)atoi(argv[4]) << 20;
    pause = atoi(argv[5]);
    pause_behind = (struct timespec){pause / 1000, pause % 1000 * 1000000L};
    find_direct();
    open_all();
    for (int i = 0; i < 2 * WEIGHTS; i++) { /* a warm-up, as every server makes one */
        multiply(&hooked, i);
        if (i % CALLS == 0) {
            MUST(cudaStreamSynchronize(stream));
            nanosleep(&pause_behind, NULL);
        }
    }
    if (graph) {
        const cudaGraphExec_t bare = capture(&direct), noded = capture(&hooked);
        struct work works[] = {{.name = "without", .way = &direct, .exec = bare},
                               {.name = "with-nodes-disabled", .way = &direct, .exec = noded},
                               {.name = "with-all", .way = &hooked, .exec = noded}};

        compare(works, sizeof(works) / sizeof(works[0]));
    } else {
        struct work works[] = {{.name = "without", .way = &direct},
                               {.name = "with", .way = &hooked}};

        compare(works, sizeof(works) / sizeof(works[0]));
    }
    return 0;
}
