/* SPDX-License-Identifier: Apache-2.0 */
/* Operations from the moment they are queued to the moment they are done: what they follow, the
 * clock they get, running one, and telling those that wait for it.
 */
#include "engine.h"

#include <stdlib.h>

void sim_clock_join(uint32_t *clock, const uint32_t *other)
{
    for (int i = 0; i < SIM_CLOCKS_MAX; i++)
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
}

struct sim_task *sim_task_ref(struct sim_task *task)
{
    task->refs++;
    return task;
}

void sim_task_unref(struct sim_task *task)
{
    if (task && --task->refs == 0)
        free(task);
}

void sim_work_drop(const struct sim_work *work)
{
    if (work->drop)
        work->drop(work->arg);
    else
        free(work->arg);
}

/* A finished predecessor still orders memory: its clock counts though there's nothing to wait for.
 * One that is queued in the same stream comes before the task in any case. */
static bool follow(struct sim_task *task, struct sim_task *other)
{
    struct sim_task **after = task->after;

    if (!other || other->stream == task->stream)
        return true;
    sim_clock_join(task->clock, other->clock);
    if (other->state == SIM_DONE)
        return true;
    if (task->after_count == task->after_capacity) {
        uint32_t capacity = task->after_capacity ? 2 * task->after_capacity : 2;

        after = realloc(after, capacity * sizeof(after[0]));
        if (!after)
            return false;
        task->after = after;
        task->after_capacity = capacity;
    }
    after[task->after_count++] = sim_task_ref(other);
    return true;
}

static void unfollow(struct sim_task *task)
{
    for (uint32_t i = 0; i < task->after_count; i++)
        sim_task_unref(task->after[i]);
    free(task->after);
    task->after = NULL;
    task->after_count = task->after_capacity = 0;
}

/* Work on the legacy default stream follows all that was queued on the context's blocking streams,
 * and blocking streams follow it. */
static bool follow_legacy_rules(struct sim_task *task, CUstream stream)
{
    CUcontext context = stream->context;

    if (stream->blocking)
        return follow(task, context->legacy->last);
    if (stream != context->legacy)
        return true;
    sim_clock_join(task->clock, context->retired);
    for (CUstream s = sim.streams; s; s = s->next)
        if (s->context == context && s->blocking && !follow(task, s->last))
            return false;
    return true;
}

static void append(CUstream stream, struct sim_task *task)
{
    task->before = stream->queue ? stream->newest : NULL;
    if (stream->queue)
        stream->newest->next = task;
    else
        stream->queue = task;
    stream->newest = task;
    sim_task_unref(stream->last);
    stream->last = sim_task_ref(task);
}

CUresult sim_queue(CUstream stream, const struct sim_work *work, struct sim_task *const *after,
                   size_t after_count, struct sim_task **ret_task)
{
    struct sim_task *task = calloc(1, sizeof(*task));

    if (!task)
        goto fail;
    task->work = *work;
    task->stream = stream;
    task->refs = 1;
    sim_clock_join(task->clock, sim.host);
    if (stream->last)
        sim_clock_join(task->clock, stream->last->clock);
    for (size_t i = 0; i < after_count; i++)
        if (!follow(task, after[i]))
            goto fail;
    if (!follow_legacy_rules(task, stream))
        goto fail;
    task->clock[stream->actor] = ++sim.ticks[stream->actor];
    task->op = (struct sim_op){.id = ++sim.op_id,
                               .actor = stream->actor,
                               .tick = task->clock[stream->actor],
                               .clock = task->clock,
                               .what = work->what};
    append(stream, task);
    if (ret_task)
        *ret_task = sim_task_ref(task);
    return CUDA_SUCCESS;

fail:
    if (task)
        unfollow(task);
    free(task);
    sim_work_drop(work);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_enqueue(CUstream stream, const struct sim_work *work, struct sim_task **ret_task)
{
    CUresult r = sim_queue(stream, work, NULL, 0, ret_task);

    if (r == CUDA_SUCCESS)
        sim_order_queued();
    return r;
}

bool sim_task_ready(const struct sim_task *task)
{
    if (task->state != SIM_QUEUED)
        return false;
    for (uint32_t i = 0; i < task->after_count; i++)
        if (task->after[i]->state != SIM_DONE)
            return false;
    return true;
}

static void finish(struct sim_task *task)
{
    CUstream stream = task->stream;

    stream->queue = task->next;
    if (task->next)
        task->next->before = NULL;
    task->next = NULL;
    task->stream = NULL;
    task->state = SIM_DONE;
    clock_gettime(CLOCK_MONOTONIC, &task->finished);
    sim_work_drop(&task->work);
    task->work.arg = NULL;
    unfollow(task);
    sim_task_unref(task);
    sim_stream_reap(stream);
    pthread_cond_broadcast(&sim.changed);
}

/* The function sees all that came before it on the stream, and what the host does next may rely on
 * having been told so by it. */
static void run_host_function(struct sim_task *task)
{
    struct sim_fault unused = {0};

    pthread_mutex_unlock(&sim.lock);
    sim_thread.in_host_function = true;
    task->work.body(task->work.arg, NULL, &task->op, &unused);
    sim_thread.in_host_function = false;
    pthread_mutex_lock(&sim.lock);
    sim_clock_join(sim.host, task->clock);
}

void sim_task_run(struct sim_task *task)
{
    CUcontext context = task->stream->context;
    struct sim_fault fault = {0};

    task->state = SIM_RUNNING;
    if (task->work.body && context->error == CUDA_SUCCESS) {
        if (task->work.host_function)
            run_host_function(task);
        else if (task->work.body(task->work.arg, sim.memory, &task->op, &fault) != 0)
            sim_report(context, &fault);
    }
    finish(task);
}
