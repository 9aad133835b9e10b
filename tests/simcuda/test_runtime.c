/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime API as a program uses it. Built twice: linked with the simulated libraries, and
 * linked with the toolkit's own libcudart and then started with LD_LIBRARY_PATH set to the
 * simulated ones, as a user's program would be. So it includes nothing but CUDA's header, and no
 * test framework that would bring a library path of its own.
 */
#include <cuda_runtime_api.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 1024

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#define OK(call)                                                                                   \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_));        \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static void devices_are_described(void)
{
    struct cudaDeviceProp properties;
    int count = 0, device = -1, major = 0, version = 0;

    OK(cudaGetDeviceCount(&count));
    CHECK(count == 2);
    OK(cudaGetDeviceProperties(&properties, 1));
    CHECK(properties.major == 9 && properties.minor == 0);
    CHECK(properties.warpSize == 32 && properties.multiProcessorCount == 132);
    CHECK(properties.totalGlobalMem == (size_t)64 << 20);
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(major == 9);
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version == 13000);
    OK(cudaDriverGetVersion(&version));
    CHECK(version == 13000);
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    CHECK(device == 1);
    OK(cudaSetDevice(0));
}

static void errors_are_remembered_until_read(void)
{
    void *p;

    CHECK(cudaMalloc(&p, (size_t)1 << 40) == cudaErrorMemoryAllocation);
    CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
}

static void memory_is_counted_and_described(void)
{
    struct cudaPointerAttributes a;
    size_t before, after, total;
    char *p, *pinned;

    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMalloc((void **)&p, 1 << 20));
    OK(cudaMemGetInfo(&after, &total));
    CHECK(before - after == 1 << 20);
    OK(cudaPointerGetAttributes(&a, p + 100));
    CHECK(a.type == cudaMemoryTypeDevice && a.device == 0 && a.devicePointer == p + 100);
    OK(cudaMallocHost((void **)&pinned, 100));
    OK(cudaPointerGetAttributes(&a, pinned));
    CHECK(a.type == cudaMemoryTypeHost && a.hostPointer == pinned);
    OK(cudaPointerGetAttributes(&a, &total));
    CHECK(a.type == cudaMemoryTypeUnregistered);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(p));
    OK(cudaFree(NULL));
    CHECK(cudaFree(p) == cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaMemGetInfo(&after, &total));
    CHECK(before == after);
}

/* The bytes go up from pageable, through device memory, and come down to pinned memory. */
static void copies_arrive_in_stream_order(void)
{
    uint32_t *pageable = malloc(4 * WORDS), *pinned, *a, *b;
    cudaStream_t one, two;
    cudaEvent_t event;

    OK(cudaMallocHost((void **)&pinned, 4 * WORDS));
    OK(cudaMalloc((void **)&a, 4 * WORDS));
    OK(cudaMallocAsync((void **)&b, 4 * WORDS, 0));
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&two, cudaStreamNonBlocking, -1));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (uint32_t i = 0; i < WORDS; i++)
        pageable[i] = i;
    OK(cudaMemcpyAsync(a, pageable, 4 * WORDS, cudaMemcpyHostToDevice, one));
    memset(pageable, 0, 4 * WORDS); /* it was staged: the caller may reuse it */
    OK(cudaMemcpyAsync(b, a, 4 * WORDS, cudaMemcpyDefault, one));
    OK(cudaEventRecord(event, one));
    OK(cudaStreamWaitEvent(two, event, 0));
    OK(cudaMemcpyAsync(pinned, b, 4 * WORDS, cudaMemcpyDeviceToHost, two));
    OK(cudaStreamSynchronize(two));
    for (uint32_t i = 0; i < WORDS; i++)
        CHECK(pinned[i] == i);
    OK(cudaMemset(b, 0x11, 8));
    OK(cudaMemcpy(pageable, b, 12, cudaMemcpyDeviceToHost));
    CHECK(pageable[0] == 0x11111111 && pageable[1] == 0x11111111 && pageable[2] == 2);
    CHECK(cudaMemcpy(pageable, b, 4, (enum cudaMemcpyKind)7) == cudaErrorInvalidMemcpyDirection);
    CHECK(cudaMemcpy(b, pageable, 4 * WORDS + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFreeAsync(b, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(two));
    OK(cudaFree(a));
    OK(cudaFreeHost(pinned));
    free(pageable);
}

static void rows_are_copied_with_their_pitches(void)
{
    unsigned char host[4][16], back[4][10], *p;

    for (int i = 0; i < 64; i++)
        host[i / 16][i % 16] = (unsigned char)i;
    memset(back, 0, sizeof(back));
    OK(cudaMalloc((void **)&p, 4 * 32));
    OK(cudaMemcpy2D(p, 32, host, 16, 10, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, 10, p, 32, 10, 4, cudaMemcpyDeviceToHost));
    for (int row = 0; row < 4; row++)
        CHECK(memcmp(back[row], host[row], 10) == 0);
    CHECK(cudaMemcpy2D(p, 8, host, 16, 10, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFree(p));
}

static void registered_memory_is_pinned_until_it_is_not(void)
{
    struct cudaPointerAttributes a;
    uint32_t *host = malloc(4 * WORDS), *p;

    memset(host, 0, 4 * WORDS);
    OK(cudaHostRegister(host, 4 * WORDS, cudaHostRegisterDefault));
    CHECK(cudaHostRegister(host, 4, 0) == cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaPointerGetAttributes(&a, host));
    CHECK(a.type == cudaMemoryTypeHost);
    OK(cudaMalloc((void **)&p, 4 * WORDS));
    OK(cudaMemset(p, 1, 4 * WORDS));
    OK(cudaMemcpyAsync(host, p, 4 * WORDS, cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize(0));
    CHECK(host[WORDS - 1] == 0x01010101);
    OK(cudaHostUnregister(host));
    CHECK(cudaHostUnregister(host) == cudaErrorHostMemoryNotRegistered);
    cudaGetLastError();
    OK(cudaFree(p));
    free(host);
}

static void events_measure_time(void)
{
    cudaEvent_t from, to;
    float ms = -1;

    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to));
    OK(cudaEventRecord(from, 0));
    OK(cudaEventRecord(to, 0));
    OK(cudaEventSynchronize(to));
    OK(cudaEventElapsedTime(&ms, from, to));
    CHECK(ms >= 0 && ms < 60e3f);
    OK(cudaEventDestroy(from));
    OK(cudaEventDestroy(to));
}

static void add_one(void *data)
{
    ++*(int *)data;
}

static void no_stream_is_capturing(void)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;

    OK(cudaStreamIsCapturing(0, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
}

static void a_host_function_is_called(void)
{
    int calls = 0;

    OK(cudaLaunchHostFunc(0, add_one, &calls));
    OK(cudaDeviceSynchronize());
    CHECK(calls == 1);
}

static void a_captured_stream_becomes_a_graph(void)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    unsigned enabled = 7, word = 0, *device;
    cudaGraphNode_t nodes[2];
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    cudaStream_t stream;
    size_t count = 2;

    OK(cudaMalloc((void **)&device, 4));
    OK(cudaMemset(device, 0, 4));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    CHECK(cudaMalloc((void **)&device, 4) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated && !graph);
    cudaGetLastError();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(device, 1, 4, stream));
    OK(cudaMemsetAsync(device, 2, 2, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(count == 2);
    OK(cudaGraphNodeGetType(nodes[0], &type));
    CHECK(type == cudaGraphNodeTypeMemset);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphUpload(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&word, device, 4, cudaMemcpyDeviceToHost));
    CHECK(word == 0x01010202);
    OK(cudaGraphNodeSetEnabled(exec, nodes[1], 0));
    OK(cudaGraphNodeGetEnabled(exec, nodes[1], &enabled));
    CHECK(enabled == 0);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&word, device, 4, cudaMemcpyDeviceToHost));
    CHECK(word == 0x01010101);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(device));
}

static void a_graph_is_built_by_hand(void)
{
    struct cudaMemsetParams fill = {.value = 3, .elementSize = 1, .width = 4, .height = 1};
    cudaGraphInstantiateParams how = {0};
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t nodes[4], copy;
    cudaGraph_t graph, child, clone;
    cudaGraphExec_t exec;
    unsigned word = 0;
    int calls = 0;
    const struct cudaHostNodeParams host = {.fn = add_one, .userData = &calls};

    OK(cudaMalloc(&fill.dst, 4));
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphAddHostNode(&nodes[0], child, NULL, 0, &host));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill));
    OK(cudaGraphAddEmptyNode(&nodes[1], graph, &nodes[0], 1));
    OK(cudaGraphAddMemcpyNode1D(&nodes[2], graph, &nodes[1], 1, &word, fill.dst, 4,
                                cudaMemcpyDeviceToHost));
    OK(cudaGraphAddChildGraphNode(&nodes[3], graph, &nodes[2], 1, child));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&copy, nodes[0], clone));
    CHECK(copy != nodes[0]);
    OK(cudaGraphInstantiateWithParams(&exec, graph, &how));
    CHECK(how.result_out == cudaGraphInstantiateSuccess);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    CHECK(word == 0x03030303 && calls == 1);
    OK(cudaGraphExecUpdate(exec, clone, &info));
    CHECK(info.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    CHECK(calls == 2);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(fill.dst));
}

static void a_reset_device_can_be_used_again(void)
{
    cudaGraphExec_t exec, other;
    cudaGraph_t graph;
    cudaStream_t stream;
    void *p;

    OK(cudaMalloc(&p, 100));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 0, 100, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaDeviceReset());
    CHECK(cudaFree(p) == cudaErrorInvalidValue);
    CHECK(cudaGraphLaunch(exec, 0) == cudaErrorInvalidValue);
    CHECK(cudaGraphInstantiate(&other, graph, 0) == cudaErrorContextIsDestroyed);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    cudaGetLastError();
    OK(cudaMalloc(&p, 100));
    OK(cudaFree(p));
}

int main(void)
{
    devices_are_described();
    errors_are_remembered_until_read();
    memory_is_counted_and_described();
    copies_arrive_in_stream_order();
    rows_are_copied_with_their_pitches();
    registered_memory_is_pinned_until_it_is_not();
    events_measure_time();
    no_stream_is_capturing();
    a_captured_stream_becomes_a_graph();
    a_graph_is_built_by_hand();
    a_host_function_is_called();
    a_reset_device_can_be_used_again();
    printf("%d failures\n", failures);
    return failures != 0;
}
