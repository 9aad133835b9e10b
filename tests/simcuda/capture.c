/* SPDX-License-Identifier: Apache-2.0 */
/* Captures: which streams are in one, what that forbids, and how work becomes nodes. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

static const char *error_name(CUresult error)
{
    const char *name = "an error";

    cuGetErrorName(error, &name);
    return name;
}

/* What went wrong in `call`, for which the capture pays; NULL: none does. */
static CUresult violation(CUresult error, const char *call, const char *why,
                          struct sim_capture *capture)
{
    if (capture)
        sim_complain("%s: %s: %s (%d); capture %llu is invalidated", call, why, error_name(error),
                     (int)error, (unsigned long long)capture->id);
    else
        sim_complain("%s: %s: %s (%d)", call, why, error_name(error), (int)error);
    if (capture)
        capture->invalid = true;
    return error;
}

static struct sim_capture *capture_by_id(uint64_t id)
{
    struct sim_capture *c = sim.captures;

    while (c && c->id != id)
        c = c->next;
    return c;
}

/* cuThreadExchangeStreamCaptureMode's words. */
static bool prohibits(const struct sim_capture *c)
{
    const bool own = c->thread == sim_thread.id;

    switch (sim_thread.capture_mode) {
    case CU_STREAM_CAPTURE_MODE_GLOBAL:
        return own ? c->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                   : c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL:
        return own && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    case CU_STREAM_CAPTURE_MODE_RELAXED:
        break;
    }
    return false;
}

CUresult sim_capture_permits_unsafe(const char *call)
{
    CUresult r = CUDA_SUCCESS;

    for (struct sim_capture *c = sim.captures; c; c = c->next)
        if (prohibits(c))
            r = violation(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call,
                          c->thread == sim_thread.id ? "unsafe while this thread captures"
                                                     : "unsafe while another thread captures",
                          c);
    return r;
}

static CUstream blocking_captured(CUcontext context, CUstream after)
{
    CUstream s = after ? after->next : sim.streams;

    while (s && (s->context != context || !s->blocking || !s->capture))
        s = s->next;
    return s;
}

bool sim_capture_blocks_legacy(CUcontext context)
{
    return blocking_captured(context, NULL) != NULL;
}

CUresult sim_capture_permits_use(const char *call, CUstream stream)
{
    CUresult r = CUDA_SUCCESS;

    if (stream->capture && stream->capture->invalid)
        return violation(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, call,
                         "the stream's capture was invalidated before", NULL);
    if (stream != stream->context->legacy)
        return CUDA_SUCCESS;
    for (CUstream s = NULL; (s = blocking_captured(stream->context, s));)
        r = violation(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, call,
                      "the legacy stream would depend on a captured stream", s->capture);
    return r;
}

CUresult sim_capture_permits_wait(const char *call, CUstream stream)
{
    CUresult r = sim_capture_permits_use(call, stream);

    if (r != CUDA_SUCCESS)
        return r;
    if (stream->capture)
        return violation(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call, "the stream is captured",
                         stream->capture);
    return sim_capture_permits_unsafe(call);
}

CUresult sim_capture_permits_event_wait(const char *call, CUevent event)
{
    if (event->capture)
        return violation(CUDA_ERROR_CAPTURED_EVENT, call,
                         "the event was last recorded in a captured stream",
                         capture_by_id(event->capture));
    return sim_capture_permits_unsafe(call);
}

CUresult sim_capture_permits_context_wait(const char *call, CUcontext context)
{
    CUresult r = CUDA_SUCCESS;

    for (CUstream s = sim.streams; s; s = s->next)
        if (s->context == context && s->capture && s == s->capture->origin)
            r = violation(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call,
                          "a stream of the context is captured", s->capture);
    return r != CUDA_SUCCESS ? r : sim_capture_permits_unsafe(call);
}

CUresult sim_capture_begin(CUstream stream, struct sim_graph *graph, const struct sim_nodes *after,
                           CUstreamCaptureMode mode)
{
    static uint64_t ids;
    struct sim_capture *capture;
    CUresult r;

    if (stream == stream->context->legacy)
        return violation(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuStreamBeginCapture",
                         "the legacy stream can't be captured", NULL);
    if (stream->capture || (graph && graph->captured_into))
        return violation(CUDA_ERROR_ILLEGAL_STATE, "cuStreamBeginCapture",
                         "the stream, or the graph, is in a capture already", NULL);
    capture = calloc(1, sizeof(*capture));
    if (!capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *capture = (struct sim_capture){.next = sim.captures,
                                    .id = ++ids,
                                    .graph = graph,
                                    .into_given = graph != NULL,
                                    .mode = mode,
                                    .thread = sim_thread.id,
                                    .origin = stream};
    r = graph ? CUDA_SUCCESS : sim_graph_new(&capture->graph);
    if (r == CUDA_SUCCESS && !sim_nodes_join(&stream->tips, after)) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
        if (!graph)
            sim_graph_free(capture->graph);
    }
    if (r != CUDA_SUCCESS) {
        free(capture);
        return r;
    }
    capture->graph->captured_into = true;
    stream->capture = capture;
    sim.captures = capture;
    return CUDA_SUCCESS;
}

static void leave(CUstream stream)
{
    stream->capture = NULL;
    sim_nodes_clear(&stream->tips);
    free(stream->told);
    stream->told = NULL;
}

/* Has every stream that was drawn in come back? */
static bool is_joined(const struct sim_capture *capture)
{
    for (CUstream s = sim.streams; s; s = s->next)
        for (uint32_t i = 0; s->capture == capture && i < s->tips.count; i++)
            if (!sim_node_reaches(s->tips.at[i], &capture->origin->tips))
                return false;
    return true;
}

/* Ends it, and returns the graph unless it was the capture's own and is of no use. */
static struct sim_graph *finish(struct sim_capture *capture, bool useful)
{
    struct sim_capture **link = &sim.captures;
    struct sim_graph *graph = capture->graph;

    for (CUstream s = sim.streams; s; s = s->next)
        if (s->capture == capture)
            leave(s);
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    graph->captured_into = false;
    if (!useful && !capture->into_given)
        sim_graph_free(graph);
    free(capture);
    return useful ? graph : NULL;
}

CUresult sim_capture_end(CUstream stream, struct sim_graph **ret_graph)
{
    static const char call[] = "cuStreamEndCapture";
    struct sim_capture *capture = stream->capture;
    CUresult r = CUDA_SUCCESS;

    *ret_graph = NULL;
    if (!capture)
        return violation(CUDA_ERROR_ILLEGAL_STATE, call, "the stream is not captured", NULL);
    if (capture->origin != stream)
        return violation(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, call,
                         "the capture was begun on another stream", capture);
    if (capture->thread != sim_thread.id && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return violation(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, call,
                         "the capture was begun by another thread", NULL);
    if (capture->invalid) /* was complained about */
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        r = violation(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, call,
                      "a stream that the capture has forked to was not joined", NULL);
    *ret_graph = finish(capture, r == CUDA_SUCCESS);
    return r;
}

void sim_capture_leave(CUstream stream)
{
    struct sim_capture *capture = stream->capture;

    if (!capture)
        return;
    capture->invalid = true;
    if (capture->origin == stream)
        finish(capture, false);
    else
        leave(stream);
}

CUresult sim_capture_node(CUstream stream, CUgraphNodeType type, struct sim_node **ret_node)
{
    CUresult r = sim_node_new(stream->capture->graph, type, &stream->tips, ret_node);

    if (r != CUDA_SUCCESS)
        return r;
    (*ret_node)->context = stream->context;
    stream->tips.count = 0;
    return sim_nodes_add(&stream->tips, *ret_node) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_submit(CUstream stream, const struct sim_work *work, struct sim_task **ret_task)
{
    struct sim_recipe *recipe;
    struct sim_node *node;
    CUresult r = sim_capture_permits_use(work->what, stream);

    if (r != CUDA_SUCCESS) {
        sim_work_drop(work);
        return r;
    }
    if (!stream->capture)
        return sim_enqueue(stream, work, ret_task);
    r = sim_recipe_new(work, &recipe);
    if (r != CUDA_SUCCESS)
        return r;
    r = sim_capture_node(stream, work->type, &node);
    if (r == CUDA_SUCCESS)
        node->recipe = recipe;
    else
        sim_recipe_unref(recipe);
    return r;
}

CUresult sim_submit_record(CUstream stream, CUevent event, bool external)
{
    const struct sim_work work = {.what = "cuEventRecord"};
    struct sim_task *task;
    struct sim_node *node;
    CUresult r = sim_capture_permits_use(work.what, stream);

    if (r != CUDA_SUCCESS)
        return r;
    if (external) {
        r = sim_capture_node(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &node);
        if (r == CUDA_SUCCESS)
            node->event = event;
        return r;
    }
    event->tips.count = 0;
    event->capture = 0;
    if (stream->capture) {
        event->capture = stream->capture->id;
        return sim_nodes_join(&event->tips, &stream->tips) ? CUDA_SUCCESS
                                                           : CUDA_ERROR_OUT_OF_MEMORY;
    }
    r = sim_enqueue(stream, &work, &task);
    if (r != CUDA_SUCCESS)
        return r;
    sim_task_unref(event->record);
    event->record = task;
    return CUDA_SUCCESS;
}

/* Waiting for an event of a capture: it joins two branches of it, or draws the stream in. */
static CUresult join(CUstream stream, CUevent event)
{
    static const char call[] = "cuStreamWaitEvent";
    struct sim_capture *capture = capture_by_id(event->capture);

    if (!capture)
        return violation(CUDA_ERROR_CAPTURED_EVENT, call,
                         "the event was last recorded in a capture that has ended",
                         stream->capture);
    if (capture->invalid)
        return violation(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, call,
                         "the event's capture was invalidated before", stream->capture);
    if (stream == stream->context->legacy)
        return violation(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, call,
                         "the legacy stream can't be drawn into a capture", capture);
    if (stream->capture && stream->capture != capture) {
        capture->invalid = true;
        return violation(CUDA_ERROR_STREAM_CAPTURE_MERGE, call,
                         "the event is of another capture than the stream", stream->capture);
    }
    stream->capture = capture;
    return sim_nodes_join(&stream->tips, &event->tips) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_submit_wait(CUstream stream, CUevent event, bool external)
{
    const struct sim_work work = {.what = "cuStreamWaitEvent"};
    struct sim_node *node;
    CUresult r = sim_capture_permits_use(work.what, stream);

    if (r != CUDA_SUCCESS)
        return r;
    if (external) {
        r = sim_capture_node(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &node);
        if (r == CUDA_SUCCESS)
            node->event = event;
        return r;
    }
    if (event->capture)
        return join(stream, event);
    if (!event->record)
        return CUDA_SUCCESS;
    if (stream->capture)
        return violation(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, work.what,
                         "the event was recorded outside of the stream's capture", stream->capture);
    r = sim_queue(stream, &work, &event->record, 1, NULL);
    if (r == CUDA_SUCCESS)
        sim_order_queued();
    return r;
}
