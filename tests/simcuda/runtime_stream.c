/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime API: streams, events and host functions. */
#include "runtime.h"

CUresult rt_cudaStreamCreate(cudaStream_t *ret_stream)
{
    return cuStreamCreate(ret_stream, CU_STREAM_DEFAULT);
}

CUresult rt_cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned flags)
{
    return cuStreamCreate(ret_stream, flags);
}

CUresult rt_cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned flags, int priority)
{
    return cuStreamCreateWithPriority(ret_stream, flags, priority);
}

CUresult rt_cudaStreamDestroy(cudaStream_t stream)
{
    return cuStreamDestroy_v2(stream);
}

CUresult rt_cudaStreamSynchronize(cudaStream_t stream)
{
    return cuStreamSynchronize(rt_stream(stream));
}

CUresult rt_cudaStreamQuery(cudaStream_t stream)
{
    return cuStreamQuery(rt_stream(stream));
}

CUresult rt_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    return cuStreamWaitEvent(rt_stream(stream), event, flags);
}

CUresult rt_cudaStreamGetFlags(cudaStream_t stream, unsigned *ret_flags)
{
    return cuStreamGetFlags(rt_stream(stream), ret_flags);
}

CUresult rt_cudaStreamGetPriority(cudaStream_t stream, int *ret_priority)
{
    return cuStreamGetPriority(rt_stream(stream), ret_priority);
}

CUresult rt_cudaStreamGetId(cudaStream_t stream, unsigned long long *ret_id)
{
    return cuStreamGetId(rt_stream(stream), ret_id);
}

CUresult rt_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status)
{
    return cuStreamIsCapturing(rt_stream(stream), (CUstreamCaptureStatus *)ret_status);
}

#if CUDART_VERSION >= 13000
CUresult rt_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status,
                                     unsigned long long *ret_id, cudaGraph_t *ret_graph,
                                     const cudaGraphNode_t **ret_nodes,
                                     const cudaGraphEdgeData **ret_edges, size_t *ret_count)
{
    return cuStreamGetCaptureInfo_v3(rt_stream(stream), (CUstreamCaptureStatus *)ret_status,
                                     (cuuint64_t *)ret_id, ret_graph, ret_nodes,
                                     (const CUgraphEdgeData **)ret_edges, ret_count);
}
#endif

CUresult rt_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    return cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode);
}

CUresult rt_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    return cuLaunchHostFunc(rt_stream(stream), function, data);
}

CUresult rt_cudaEventCreate(cudaEvent_t *ret_event)
{
    return cuEventCreate(ret_event, CU_EVENT_DEFAULT);
}

CUresult rt_cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned flags)
{
    return cuEventCreate(ret_event, flags);
}

CUresult rt_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cuEventRecord(event, rt_stream(stream));
}

CUresult rt_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return cuEventRecordWithFlags(event, rt_stream(stream), flags);
}

CUresult rt_cudaEventQuery(cudaEvent_t event)
{
    return cuEventQuery(event);
}

CUresult rt_cudaEventSynchronize(cudaEvent_t event)
{
    return cuEventSynchronize(event);
}

CUresult rt_cudaEventDestroy(cudaEvent_t event)
{
    return cuEventDestroy_v2(event);
}

CUresult rt_cudaEventElapsedTime(float *ret_ms, cudaEvent_t from, cudaEvent_t to)
{
    return cuEventElapsedTime(ret_ms, from, to);
}
