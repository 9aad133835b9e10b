/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: events. */
#include "api.h"
#include "capture.h"

#include <stdlib.h>

CUresult impl_cuEventCreate(CUevent *ret_event, unsigned flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    CUevent event;

    if (!ret_event)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS) {
        sim_say("cuEventCreate: events between processes are not simulated");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (flags & ~known)
        return CUDA_ERROR_INVALID_VALUE;
    event = calloc(1, sizeof(*event));
    if (!event || !sim_handle_add(SIM_EVENT, event)) {
        free(event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->context = sim_context_current();
    event->timing = !(flags & CU_EVENT_DISABLE_TIMING);
    *ret_event = event;
    return CUDA_SUCCESS;
}

CUresult impl_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r != CUDA_SUCCESS)
        return r;
    if (!sim_handle_is(SIM_EVENT, event) || event->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    /* CU_EVENT_RECORD_EXTERNAL means something in a capture only. */
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL || (flags && !stream->capture))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_submit_record(stream, event, flags & CU_EVENT_RECORD_EXTERNAL);
}

CUresult impl_cuEventRecord(CUevent event, CUstream stream)
{
    return impl_cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult impl_cuEventQuery(CUevent event)
{
    CUcontext context;
    CUresult r;
    bool done;

    if (!sim_handle_is(SIM_EVENT, event) || !event->context)
        return CUDA_ERROR_INVALID_HANDLE;
    r = sim_capture_permits_event_wait("cuEventQuery", event);
    if (r != CUDA_SUCCESS)
        return r;
    context = event->context; /* outlives the event, which another thread may destroy meanwhile */
    done = sim_poll(event->record);
    if (context->error != CUDA_SUCCESS)
        return context->error;
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult impl_cuEventSynchronize(CUevent event)
{
    CUcontext context;
    CUresult r;

    if (!sim_handle_is(SIM_EVENT, event) || !event->context)
        return CUDA_ERROR_INVALID_HANDLE;
    r = sim_capture_permits_event_wait("cuEventSynchronize", event);
    if (r != CUDA_SUCCESS)
        return r;
    context = event->context;
    sim_wait(event->record);
    return context->error;
}

/* The record stays queued; what waits for it still does. */
CUresult impl_cuEventDestroy_v2(CUevent event)
{
    if (!sim_handle_is(SIM_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    sim_handle_remove(SIM_EVENT, event);
    sim_task_unref(event->record);
    sim_nodes_clear(&event->tips);
    free(event);
    return CUDA_SUCCESS;
}

CUresult impl_cuEventElapsedTime(float *ret_ms, CUevent from, CUevent to)
{
    const struct sim_task *a, *b;

    if (!ret_ms)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_handle_is(SIM_EVENT, from) || !sim_handle_is(SIM_EVENT, to) || !from->timing ||
        !to->timing || !from->record || !to->record || from->context != to->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (from->capture || to->capture)
        return sim_capture_permits_event_wait("cuEventElapsedTime", from->capture ? from : to);
    a = from->record;
    b = to->record;
    if (a->state != SIM_DONE || b->state != SIM_DONE)
        return CUDA_ERROR_NOT_READY;
    *ret_ms = (float)(b->finished.tv_sec - a->finished.tv_sec) * 1e3f +
              (float)(b->finished.tv_nsec - a->finished.tv_nsec) * 1e-6f;
    return CUDA_SUCCESS;
}

CUresult impl_cuEventElapsedTime_v2(float *ret_ms, CUevent from, CUevent to)
{
    return impl_cuEventElapsedTime(ret_ms, from, to);
}
