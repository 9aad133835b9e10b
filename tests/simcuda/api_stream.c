/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: streams and host functions. */
#include "api.h"
#include "capture.h"
#include "launch.h"

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
    if (stream->capture)
        return sim_capture_permits_wait("cuStreamDestroy", stream);
    sim_stream_destroy(stream);
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamSynchronize(CUstream stream)
{
    CUcontext context;
    CUresult r;

    RESOLVE(stream);
    r = sim_capture_permits_wait("cuStreamSynchronize", stream);
    if (r != CUDA_SUCCESS)
        return r;
    context = stream->context; /* outlives the stream, which another thread may destroy meanwhile */
    sim_wait(stream->last);
    return context->error;
}

CUresult impl_cuStreamQuery(CUstream stream)
{
    CUcontext context;
    CUresult r;

    RESOLVE(stream);
    r = sim_capture_permits_wait("cuStreamQuery", stream);
    if (r != CUDA_SUCCESS)
        return r;
    context = stream->context;
    if (!sim_poll(stream->last))
        return context->error != CUDA_SUCCESS ? context->error : CUDA_ERROR_NOT_READY;
    return context->error;
}

CUresult impl_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    RESOLVE(stream);
    if (!sim_handle_is(SIM_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    /* Outside of a capture the flag means nothing that isn't so anyway. */
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_submit_wait(stream, event, stream->capture && flags & CU_EVENT_WAIT_EXTERNAL);
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

CUresult impl_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    struct sim_work work;
    CUresult r;

    RESOLVE(stream);
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_host_function_work(function, data, &work);
    return r == CUDA_SUCCESS ? sim_submit(stream, &work, NULL) : r;
}
