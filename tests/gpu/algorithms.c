/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels cuBLAS takes for the mixing GEMM, by precision and number of tokens: the call is
 * captured into a graph, whose nodes name them. More than one kernel is a sum that is split over K.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>

#include "measure.h"
#include "tests/demo/linear.h"

#define K         16384
#define ROWS      24
#define TOKENS    4096 /* at most */
#define WORKSPACE (8 << 20)

static cublasHandle_t handle;
static cudaStream_t stream;
static struct demo_linear call;

static void *allocate(size_t bytes)
{
    void *memory;

    MUST(cudaMalloc(&memory, bytes));
    MUST(cudaMemset(memory, 0, bytes));
    return memory;
}

/* A kernel of a library has no CUfunction. */
static const char *name_of(const CUDA_KERNEL_NODE_PARAMS *params)
{
    void *const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    CUresult (*const function_name)(const char **, CUfunction) =
        (__typeof__(function_name))dlsym(driver, "cuFuncGetName");
    CUresult (*const kernel_name)(const char **, CUkernel) =
        (__typeof__(kernel_name))dlsym(driver, "cuKernelGetName");
    const char *name = NULL;

    if (params->func && function_name) {
        function_name(&name, params->func);
    } else if (params->kern && kernel_name) {
        kernel_name(&name, params->kern);
    }
    return name ? name : "(a kernel without a name)";
}

/* Returns how many kernels there are. */
static int print_kernels(CUgraph graph)
{
    CUgraphNode nodes[16];
    size_t count = sizeof(nodes) / sizeof(nodes[0]);
    int kernels = 0;

    MUST(cuGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        CUDA_KERNEL_NODE_PARAMS params = {0};
        CUgraphNodeType type;

        MUST(cuGraphNodeGetType(nodes[i], &type));
        if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            MUST(cuGraphKernelNodeGetParams(nodes[i], &params));
            printf(" %s%s", kernels++ ? "+ " : "", name_of(&params));
        }
    }
    return kernels;
}

static void look(const struct demo_precision *precision, int tokens)
{
    char name[64];
    cudaGraph_t graph;
    int kernels;

    call.precision = precision;
    call.tokens = tokens;
    demo_linear(handle, &call); /* loads what the capture must not */
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    demo_linear(handle, &call);
    MUST(cudaStreamEndCapture(stream, &graph));
    printf("fact %s.%d-tokens", precision->name, tokens);
    kernels = print_kernels(graph);
    printf("\n");
    snprintf(name, sizeof(name), "%s.%d-tokens.kernels", precision->name, tokens);
    measure_figure(name, kernels, "");
    MUST(cudaGraphDestroy(graph));
}

int main(void)
{
    static const char *const precisions[] = {"bf16", "bf16-f32", "fp16", "tf32", "fp32"};
    static const int tokens[] = {1, 4, 16, 64, 256, 1024, TOKENS};

    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cublasCreate(&handle));
    call = (struct demo_linear){
        .stream = stream,
        .workspace = allocate(WORKSPACE),
        .workspace_bytes = WORKSPACE,
        .rows = ROWS,
        .k = K,
        .weight = allocate((size_t)ROWS * K * sizeof(float)),
        .x = allocate((size_t)TOKENS * K * sizeof(float)),
        .out = allocate((size_t)TOKENS * ROWS * sizeof(float)),
    };
    MUST(cudaDeviceSynchronize());
    for (size_t i = 0; i < sizeof(precisions) / sizeof(precisions[0]); i++) {
        for (size_t j = 0; j < sizeof(tokens) / sizeof(tokens[0]); j++) {
            look(demo_precision_find(precisions[i]), tokens[j]);
        }
    }
    return 0;
}
