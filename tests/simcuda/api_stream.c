/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: streams and host functions. */
#include "api.h"

#include <stdlib.h>

#define RESOLVE(stream)                                                                            \
    do {                                                                                           \
        CUresult resolved = sim_stream_resolve(stream, &stream);                                   \
        if (resolved != CUDA_SUCCESS)                                                              \
            return resolved;                                                                       \
    } while (0)

CUresult impl_cuStreamCreateWithPriority(CUstream *ret_stream, unsigned flags, int priority)
{
    if (!ret_stream || flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    if (priority > SIM_PRIORITY_LEAST)
        priority = SIM_PRIORITY_LEAST;
    if (priority < SIM_PRIORITY_GREATEST)
        priority = SIM_PRIORITY_GREATEST;
    return sim_stream_new(sim_context_current(), !(flags & CU_STREAM_NON_BLOCKING), priority,
                          ret_stream);
}

CUresult impl_cuStreamCreate(CUstream *ret_stream, unsigned flags)
{
    return impl_cuStreamCreateWithPriority(ret_stream, flags, 0);
}

/* Returns at once; the work that is queued is still done. */
CUresult impl_cuStreamDestroy_v2(CUstream stream)
{
    if (!sim_handle_is(SIM_STREAM, stream) || stream == stream->context->legacy || stream->thread)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_stream_destroy(stream);
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamSynchronize(CUstream stream)
{
    CUcontext context;

    RESOLVE(stream);
    context = stream->context; /* outlives the stream, which another thread may destroy meanwhile */
    sim_wait(stream->last);
    return context->error;
}

CUresult impl_cuStreamQuery(CUstream stream)
{
    CUcontext context;

    RESOLVE(stream);
    context = stream->context;
    if (!sim_poll(stream->last))
        return context->error != CUDA_SUCCESS ? context->error : CUDA_ERROR_NOT_READY;
    return context->error;
}

CUresult impl_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    struct sim_work work = {.what = "cuStreamWaitEvent"};

    RESOLVE(stream);
    if (!sim_handle_is(SIM_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags != CU_EVENT_WAIT_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    if (!event->record)
        return CUDA_SUCCESS;
    work.after = event->record;
    return sim_enqueue(stream, &work, NULL);
}

CUresult impl_cuStreamGetPriority(CUstream stream, int *ret_priority)
{
    RESOLVE(stream);
    if (!ret_priority)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_priority = stream->priority;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetFlags(CUstream stream, unsigned *ret_flags)
{
    RESOLVE(stream);
    if (!ret_flags)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = stream->blocking || stream == stream->context->legacy ? CU_STREAM_DEFAULT
                                                                       : CU_STREAM_NON_BLOCKING;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCtx(CUstream stream, CUcontext *ret_context)
{
    RESOLVE(stream);
    if (!ret_context)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_context = stream->context;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetId(CUstream stream, unsigned long long *ret_id)
{
    RESOLVE(stream);
    if (!ret_id)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_id = stream->id;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetDevice(CUstream stream, CUdevice *ret_device)
{
    RESOLVE(stream);
    if (!ret_device)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_device = stream->context->device;
    return CUDA_SUCCESS;
}

/* No stream captures: there is no cuStreamBeginCapture here. */
CUresult impl_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *ret_status)
{
    RESOLVE(stream);
    if (!ret_status)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *ret_status,
                                     cuuint64_t *ret_id)
{
    if (ret_id)
        *ret_id = 0;
    return impl_cuStreamIsCapturing(stream, ret_status);
}

CUresult impl_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *ret_status,
                                        cuuint64_t *ret_id, CUgraph *ret_graph,
                                        const CUgraphNode **ret_nodes, size_t *ret_count)
{
    return impl_cuStreamGetCaptureInfo(stream, ret_status, ret_id);
}

CUresult impl_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *ret_status,
                                        cuuint64_t *ret_id, CUgraph *ret_graph,
                                        const CUgraphNode **ret_nodes,
                                        const CUgraphEdgeData **ret_edges, size_t *ret_count)
{
    return impl_cuStreamGetCaptureInfo(stream, ret_status, ret_id);
}

struct host_function {
    CUhostFn function;
    void *data;
};

static int call_host_function(void *arg, struct sim_memory *memory, const struct sim_op *op,
                              struct sim_fault *fault)
{
    const struct host_function *h = arg;

    h->function(h->data);
    return 0;
}

CUresult impl_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    struct sim_work work = {
        .what = "cuLaunchHostFunc", .body = call_host_function, .host_function = true};
    struct host_function *h;

    RESOLVE(stream);
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    work.arg = h = malloc(sizeof(*h));
    if (!h)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *h = (struct host_function){.function = function, .data = data};
    return sim_enqueue(stream, &work, NULL);
}
