/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime API this library has: the one list of it, as api_list.h is for the driver.
 *
 * Includers define API(name, needs, twin, parameters, arguments):
 *   needs   FREE: nothing. INIT: cuInit. CTX: the thread's device has a current context
 *   twin    NONE, or PTSZ/PTDS: has a _ptsz/_ptds twin whose stream 0 is the thread's own
 */
#ifndef API
#error "define API before including runtime_list.h"
#endif

/* clang-format off */
API(cudaDriverGetVersion, FREE, NONE, (int *ret_version), (ret_version))
API(cudaRuntimeGetVersion, FREE, NONE, (int *ret_version), (ret_version))

API(cudaGetDeviceCount, INIT, NONE, (int *ret_count), (ret_count))
API(cudaGetDevice, INIT, NONE, (int *ret_device), (ret_device))
API(cudaSetDevice, INIT, NONE, (int device), (device))
API(cudaInitDevice, INIT, NONE, (int device, unsigned device_flags, unsigned flags), (device, device_flags, flags))
API(cudaGetDeviceProperties, INIT, NONE, (struct cudaDeviceProp *ret_properties, int device), (ret_properties, device))
API(cudaDeviceGetAttribute, INIT, NONE, (int *ret_value, enum cudaDeviceAttr attribute, int device), (ret_value, attribute, device))
API(cudaDeviceGetPCIBusId, INIT, NONE, (char *id, int size, int device), (id, size, device))
API(cudaDeviceGetByPCIBusId, INIT, NONE, (int *ret_device, const char *id), (ret_device, id))
API(cudaDeviceSynchronize, CTX, NONE, (void), ())
API(cudaDeviceReset, INIT, NONE, (void), ())
API(cudaDeviceGetStreamPriorityRange, CTX, NONE, (int *ret_least, int *ret_greatest), (ret_least, ret_greatest))
API(cudaDeviceGetLimit, CTX, NONE, (size_t *ret_value, enum cudaLimit limit), (ret_value, limit))
API(cudaDeviceSetLimit, CTX, NONE, (enum cudaLimit limit, size_t value), (limit, value))

API(cudaMalloc, CTX, NONE, (void **ret_memory, size_t bytes), (ret_memory, bytes))
API(cudaFree, CTX, NONE, (void *memory), (memory))
API(cudaMallocHost, CTX, NONE, (void **ret_host, size_t bytes), (ret_host, bytes))
API(cudaHostAlloc, CTX, NONE, (void **ret_host, size_t bytes, unsigned flags), (ret_host, bytes, flags))
API(cudaFreeHost, CTX, NONE, (void *host), (host))
API(cudaHostGetDevicePointer, CTX, NONE, (void **ret_memory, void *host, unsigned flags), (ret_memory, host, flags))
API(cudaHostGetFlags, CTX, NONE, (unsigned *ret_flags, void *host), (ret_flags, host))
API(cudaHostRegister, CTX, NONE, (void *host, size_t bytes, unsigned flags), (host, bytes, flags))
API(cudaHostUnregister, CTX, NONE, (void *host), (host))
API(cudaMallocAsync, CTX, PTSZ, (void **ret_memory, size_t bytes, cudaStream_t stream), (ret_memory, bytes, stream))
API(cudaFreeAsync, CTX, PTSZ, (void *memory, cudaStream_t stream), (memory, stream))
API(cudaMemGetInfo, CTX, NONE, (size_t *ret_free, size_t *ret_total), (ret_free, ret_total))
API(cudaPointerGetAttributes, CTX, NONE, (struct cudaPointerAttributes *ret_attributes, const void *memory), (ret_attributes, memory))
API(cudaMemcpy, CTX, PTDS, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind), (to, from, bytes, kind))
API(cudaMemcpyAsync, CTX, PTSZ, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream), (to, from, bytes, kind, stream))
API(cudaMemcpy2D, CTX, PTDS, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind), (to, to_pitch, from, from_pitch, width, height, kind))
API(cudaMemcpy2DAsync, CTX, PTSZ, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream), (to, to_pitch, from, from_pitch, width, height, kind, stream))
API(cudaMemset, CTX, PTDS, (void *to, int value, size_t bytes), (to, value, bytes))
API(cudaMemsetAsync, CTX, PTSZ, (void *to, int value, size_t bytes, cudaStream_t stream), (to, value, bytes, stream))

API(cudaStreamCreate, CTX, NONE, (cudaStream_t *ret_stream), (ret_stream))
API(cudaStreamCreateWithFlags, CTX, NONE, (cudaStream_t *ret_stream, unsigned flags), (ret_stream, flags))
API(cudaStreamCreateWithPriority, CTX, NONE, (cudaStream_t *ret_stream, unsigned flags, int priority), (ret_stream, flags, priority))
API(cudaStreamDestroy, CTX, NONE, (cudaStream_t stream), (stream))
API(cudaStreamSynchronize, CTX, PTSZ, (cudaStream_t stream), (stream))
API(cudaStreamQuery, CTX, PTSZ, (cudaStream_t stream), (stream))
API(cudaStreamWaitEvent, CTX, PTSZ, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags))
API(cudaStreamGetFlags, CTX, PTSZ, (cudaStream_t stream, unsigned *ret_flags), (stream, ret_flags))
API(cudaStreamGetPriority, CTX, PTSZ, (cudaStream_t stream, int *ret_priority), (stream, ret_priority))
API(cudaStreamGetId, CTX, PTSZ, (cudaStream_t stream, unsigned long long *ret_id), (stream, ret_id))
API(cudaStreamIsCapturing, CTX, PTSZ, (cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status), (stream, ret_status))
#if CUDART_VERSION >= 13000 /* before, it had another signature and a version in its name */
API(cudaStreamGetCaptureInfo, CTX, PTSZ, (cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status, unsigned long long *ret_id, cudaGraph_t *ret_graph, const cudaGraphNode_t **ret_nodes, const cudaGraphEdgeData **ret_edges, size_t *ret_count), (stream, ret_status, ret_id, ret_graph, ret_nodes, ret_edges, ret_count))
#endif
API(cudaThreadExchangeStreamCaptureMode, INIT, NONE, (enum cudaStreamCaptureMode *mode), (mode))
API(cudaStreamBeginCapture, CTX, PTSZ, (cudaStream_t stream, enum cudaStreamCaptureMode mode), (stream, mode))
API(cudaStreamBeginCaptureToGraph, CTX, PTSZ, (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges, size_t count, enum cudaStreamCaptureMode mode), (stream, graph, nodes, edges, count, mode))
API(cudaStreamEndCapture, CTX, PTSZ, (cudaStream_t stream, cudaGraph_t *ret_graph), (stream, ret_graph))
#if CUDART_VERSION >= 13000 /* before, without edges */
API(cudaStreamUpdateCaptureDependencies, CTX, PTSZ, (cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges, size_t count, unsigned flags), (stream, nodes, edges, count, flags))
#endif
API(cudaLaunchHostFunc, CTX, PTSZ, (cudaStream_t stream, cudaHostFn_t function, void *data), (stream, function, data))

API(cudaEventCreate, CTX, NONE, (cudaEvent_t *ret_event), (ret_event))
API(cudaEventCreateWithFlags, CTX, NONE, (cudaEvent_t *ret_event, unsigned flags), (ret_event, flags))
API(cudaEventRecord, CTX, PTSZ, (cudaEvent_t event, cudaStream_t stream), (event, stream))
API(cudaEventRecordWithFlags, CTX, PTSZ, (cudaEvent_t event, cudaStream_t stream, unsigned flags), (event, stream, flags))
API(cudaEventQuery, CTX, NONE, (cudaEvent_t event), (event))
API(cudaEventSynchronize, CTX, NONE, (cudaEvent_t event), (event))
API(cudaEventDestroy, CTX, NONE, (cudaEvent_t event), (event))
API(cudaEventElapsedTime, CTX, NONE, (float *ret_ms, cudaEvent_t from, cudaEvent_t to), (ret_ms, from, to))

API(cudaGetDriverEntryPoint, INIT, PTSZ, (const char *symbol, void **ret_function, unsigned long long flags, enum cudaDriverEntryPointQueryResult *ret_status), (symbol, ret_function, flags, ret_status))
API(cudaGetDriverEntryPointByVersion, INIT, PTSZ, (const char *symbol, void **ret_function, unsigned version, unsigned long long flags, enum cudaDriverEntryPointQueryResult *ret_status), (symbol, ret_function, version, flags, ret_status))

API(cudaLaunchKernel, CTX, PTSZ, (const void *host, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream), (host, grid, block, args, shared, stream))
API(__cudaLaunchKernel, CTX, PTSZ, (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream), (kernel, grid, block, args, shared, stream))
API(__cudaGetKernel, CTX, NONE, (cudaKernel_t *ret_kernel, const void *host), (ret_kernel, host))
API(cudaFuncGetAttributes, CTX, NONE, (struct cudaFuncAttributes *ret_attributes, const void *host), (ret_attributes, host))
API(cudaFuncSetAttribute, CTX, NONE, (const void *host, enum cudaFuncAttribute attribute, int value), (host, attribute, value))
API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, CTX, NONE, (int *ret_blocks, const void *host, int threads, size_t shared), (ret_blocks, host, threads, shared))
API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, CTX, NONE, (int *ret_blocks, const void *host, int threads, size_t shared, unsigned flags), (ret_blocks, host, threads, shared, flags))

API(cudaGraphCreate, INIT, NONE, (cudaGraph_t *ret_graph, unsigned flags), (ret_graph, flags))
API(cudaGraphDestroy, INIT, NONE, (cudaGraph_t graph), (graph))
API(cudaGraphClone, INIT, NONE, (cudaGraph_t *ret_clone, cudaGraph_t graph), (ret_clone, graph))
API(cudaGraphNodeFindInClone, INIT, NONE, (cudaGraphNode_t *ret_node, cudaGraphNode_t original, cudaGraph_t clone), (ret_node, original, clone))
API(cudaGraphNodeGetType, INIT, NONE, (cudaGraphNode_t node, enum cudaGraphNodeType *ret_type), (node, ret_type))
API(cudaGraphGetNodes, INIT, NONE, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count), (graph, nodes, count))
API(cudaGraphGetRootNodes, INIT, NONE, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count), (graph, nodes, count))
API(cudaGraphDestroyNode, INIT, NONE, (cudaGraphNode_t node), (node))
API(cudaGraphAddEmptyNode, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count), (ret_node, graph, after, count))
API(cudaGraphAddKernelNode, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const struct cudaKernelNodeParams *params), (ret_node, graph, after, count, params))
API(cudaGraphKernelNodeGetParams, CTX, NONE, (cudaGraphNode_t node, struct cudaKernelNodeParams *ret_params), (node, ret_params))
API(cudaGraphKernelNodeSetParams, CTX, NONE, (cudaGraphNode_t node, const struct cudaKernelNodeParams *params), (node, params))
API(cudaGraphAddMemcpyNode1D, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind), (ret_node, graph, after, count, to, from, bytes, kind))
API(cudaGraphAddMemsetNode, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const struct cudaMemsetParams *params), (ret_node, graph, after, count, params))
API(cudaGraphConditionalHandleCreate, CTX, NONE, (cudaGraphConditionalHandle *ret_handle, cudaGraph_t graph, unsigned value, unsigned flags), (ret_handle, graph, value, flags))
API(cudaGraphAddHostNode, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const struct cudaHostNodeParams *params), (ret_node, graph, after, count, params))
API(cudaGraphAddEventRecordNode, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaEvent_t event), (ret_node, graph, after, count, event))
API(cudaGraphAddEventWaitNode, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaEvent_t event), (ret_node, graph, after, count, event))
API(cudaGraphAddChildGraphNode, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaGraph_t child), (ret_node, graph, after, count, child))
API(cudaGraphChildGraphNodeGetGraph, INIT, NONE, (cudaGraphNode_t node, cudaGraph_t *ret_graph), (node, ret_graph))
#if CUDART_VERSION >= 13000 /* before, without edges */
API(cudaGraphAddNode, CTX, NONE, (cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params), (ret_node, graph, after, edges, count, params))
API(cudaGraphGetEdges, INIT, NONE, (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges, size_t *count), (graph, from, to, edges, count))
API(cudaGraphNodeGetDependencies, INIT, NONE, (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count), (node, nodes, edges, count))
API(cudaGraphNodeGetDependentNodes, INIT, NONE, (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count), (node, nodes, edges, count))
API(cudaGraphAddDependencies, INIT, NONE, (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edges, size_t count), (graph, from, to, edges, count))
#endif

API(cudaGraphInstantiate, CTX, NONE, (cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long flags), (ret_exec, graph, flags))
API(cudaGraphInstantiateWithFlags, CTX, NONE, (cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long flags), (ret_exec, graph, flags))
API(cudaGraphInstantiateWithParams, CTX, PTSZ, (cudaGraphExec_t *ret_exec, cudaGraph_t graph, cudaGraphInstantiateParams *params), (ret_exec, graph, params))
API(cudaGraphExecDestroy, INIT, NONE, (cudaGraphExec_t exec), (exec))
API(cudaGraphExecGetFlags, INIT, NONE, (cudaGraphExec_t exec, unsigned long long *ret_flags), (exec, ret_flags))
API(cudaGraphUpload, CTX, PTSZ, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
API(cudaGraphLaunch, CTX, PTSZ, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
API(cudaGraphNodeSetEnabled, INIT, NONE, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled), (exec, node, enabled))
API(cudaGraphNodeGetEnabled, INIT, NONE, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *ret_enabled), (exec, node, ret_enabled))
API(cudaGraphExecKernelNodeSetParams, CTX, NONE, (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *params), (exec, node, params))
API(cudaGraphExecUpdate, CTX, NONE, (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *ret_info), (exec, graph, ret_info))
