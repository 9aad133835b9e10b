/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: their actors, the two default streams, and their end. */
#include "capture.h"

#include <stdlib.h>

/* Round robin, so that an actor is taken again as late as possible: its ticks go on counting, and
 * the new stream counts as ordered after the old one. */
static bool take_actor(uint32_t *ret_actor)
{
    for (uint32_t i = 0; i < SIM_CLOCKS_MAX; i++) {
        uint32_t actor = (sim.next_actor + i) % SIM_CLOCKS_MAX;

        if (sim.actors[actor])
            continue;
        sim.actors[actor] = true;
        sim.next_actor = actor + 1;
        *ret_actor = actor;
        return true;
    }
    sim_say("more than %d streams at one time: destroy some, or raise SIM_CLOCKS_MAX",
            SIM_CLOCKS_MAX);
    return false;
}

CUresult sim_stream_new(CUcontext context, bool blocking, int priority, CUstream *ret_stream)
{
    CUstream stream = calloc(1, sizeof(*stream));

    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!take_actor(&stream->actor)) {
        free(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!sim_handle_add(SIM_STREAM, stream)) {
        sim.actors[stream->actor] = false;
        free(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->context = context;
    stream->id = ++sim.object_id;
    stream->blocking = blocking;
    stream->priority = priority;
    stream->next = sim.streams;
    sim.streams = stream;
    *ret_stream = stream;
    return CUDA_SUCCESS;
}

void sim_stream_destroy(CUstream stream)
{
    sim_capture_leave(stream);
    sim_handle_remove(SIM_STREAM, stream);
    stream->destroyed = true;
    /* Whoever waits for the whole context later also waits for this stream's work. */
    if (stream->last)
        sim_clock_join(stream->context->retired, stream->last->clock);
    sim_stream_reap(stream);
}

void sim_stream_reap(CUstream stream)
{
    CUstream *link = &sim.streams;

    if (!stream->destroyed || stream->queue)
        return;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    sim.actors[stream->actor] = false;
    sim_task_unref(stream->last);
    free(stream);
}

static CUresult own_default_stream(CUcontext context, CUstream *ret_stream)
{
    CUresult r;

    for (CUstream s = sim.streams; s; s = s->next) {
        if (s->context == context && s->thread == sim_thread.id && !s->destroyed) {
            *ret_stream = s;
            return CUDA_SUCCESS;
        }
    }
    r = sim_stream_new(context, true, 0, ret_stream);
    if (r == CUDA_SUCCESS)
        (*ret_stream)->thread = sim_thread.id;
    return r;
}

CUresult sim_stream_resolve(CUstream handle, CUstream *ret_stream)
{
    CUcontext context = sim_context_current();

    if (!handle)
        handle = sim_thread.per_thread_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle == CU_STREAM_LEGACY) {
        *ret_stream = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD)
        return own_default_stream(context, ret_stream);
    if (!sim_handle_is(SIM_STREAM, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret_stream = handle;
    return CUDA_SUCCESS;
}
