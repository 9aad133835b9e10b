/* SPDX-License-Identifier: Apache-2.0 */
/* A program with kernels of its own, built by nvcc for the toolkit's libcudart and run on the
 * simulated one: what nvcc generates around a launch, and the fatbin it puts into the program.
 */
#include <stdio.h>
#include <stdlib.h>

#define WORDS 1000

__global__ void scale(unsigned *x, unsigned times, unsigned plus)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < WORDS)
        x[i] = x[i] * times + plus;
}

/* Sums its block's words by way of shared memory. */
template <typename T> __global__ void sum(const T *x, T *total)
{
    extern __shared__ unsigned char raw[];
    T *part = (T *)raw;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    part[threadIdx.x] = i < WORDS ? x[i] : 0;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        atomicAdd(total, part[0]);
}

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(call) check(call, #call)

/* x = x * 2 + 0 in a graph, then with its node's parameters changed to x * 2 + 1. */
static bool graph_is_captured_and_changed(unsigned *x)
{
    cudaKernelNodeParams params;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaGraph_t graph;
    cudaStream_t stream;
    unsigned times = 2, plus = 1, first = 0;
    void *changed[] = {&x, &times, &plus};
    size_t count = 1;

    CHECK(cudaMemset(x, 0, WORDS * sizeof(*x)));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scale<<<(WORDS + 127) / 128, 128, 0, stream>>>(x, 2, 0);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphGetNodes(graph, &node, &count));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphKernelNodeGetParams(node, &params));
    if (params.func != (void *)scale || params.blockDim.x != 128 ||
        *(unsigned **)params.kernelParams[0] != x)
        return false;
    params.kernelParams = changed;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&first, x, sizeof(first), cudaMemcpyDeviceToHost));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return first == 3;
}

int main()
{
    static unsigned host[WORDS];
    unsigned *x, *total, result = 0, expected = 0;
    cudaFuncAttributes attributes;

    for (unsigned i = 0; i < WORDS; i++) {
        host[i] = i;
        expected += i * 3 + 7;
    }
    CHECK(cudaMalloc(&x, sizeof(host)));
    CHECK(cudaMalloc(&total, sizeof(*total)));
    CHECK(cudaMemcpy(x, host, sizeof(host), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(total, 0, sizeof(*total)));
    scale<<<(WORDS + 127) / 128, 128>>>(x, 3, 7);
    sum<unsigned><<<(WORDS + 255) / 256, 256, 256 * sizeof(unsigned)>>>(x, total);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&result, total, sizeof(result), cudaMemcpyDeviceToHost));
    if (result != expected) {
        printf("sum %u, expected %u\n", result, expected);
        return 1;
    }
    CHECK(cudaFuncGetAttributes(&attributes, scale));
    if (attributes.maxThreadsPerBlock != 1024)
        return 1;
    scale<<<1, 2000>>>(x, 3, 7);
    if (cudaGetLastError() != cudaErrorInvalidConfiguration) {
        printf("a block of 2000 threads was accepted\n");
        return 1;
    }
    if (!graph_is_captured_and_changed(x)) {
        printf("a captured kernel did not run with the parameters set\n");
        return 1;
    }
    return 0;
}
