/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: which one a thread uses, and their begin and end. */
#include "graph_exec.h"

#include <string.h>

CUcontext sim_context_current(void)
{
    return sim_thread.depth ? sim_thread.stack[sim_thread.depth - 1] : NULL;
}

CUresult sim_context_open(CUcontext context, int device, unsigned flags)
{
    CUresult r;

    context->device = device;
    context->flags = flags;
    context->api_version = (unsigned)sim_driver_version();
    context->error = CUDA_SUCCESS;
    context->id = ++sim.object_id;
    memset(context->retired, 0, sizeof(context->retired));
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1u << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8u << 20;
    r = sim_stream_new(context, false, 0, &context->legacy);
    if (r != CUDA_SUCCESS)
        return r;
    if (!sim_handle_add(SIM_CONTEXT, context)) {
        sim_stream_destroy(context->legacy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context->alive = true;
    return CUDA_SUCCESS;
}

void sim_context_wait(CUcontext context)
{
    for (;;) {
        CUstream s = sim.streams;

        while (s && (s->context != context || !s->queue))
            s = s->next;
        if (!s)
            break;
        /* Streams may come and go while a host function runs: look again from the start. */
        sim_wait(s->newest);
    }
    for (CUstream s = sim.streams; s; s = s->next)
        if (s->context == context && s->last)
            sim_clock_join(sim.host, s->last->clock);
    sim_clock_join(sim.host, context->retired);
}

static void forget_events(CUcontext context)
{
    size_t cursor = 0;
    CUevent event;

    /* The handles stay valid, as the application must still destroy them. */
    while ((event = sim_table_next(&sim.handles[SIM_EVENT], &cursor)))
        if (event->context == context)
            event->context = NULL;
}

void sim_context_close(CUcontext context)
{
    CUstream next;

    sim_context_wait(context);
    sim_execs_close(context);
    sim_nodes_close(context);
    for (CUstream s = sim.streams; s; s = next) {
        next = s->next;
        if (s->context == context && !s->destroyed)
            sim_stream_destroy(s);
    }
    context->legacy = NULL;
    sim_modules_close(context);
    sim_allocations_close(context);
    forget_events(context);
    sim_handle_remove(SIM_CONTEXT, context);
    context->alive = false;
    context->error = CUDA_SUCCESS;
}
