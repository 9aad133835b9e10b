/* SPDX-License-Identifier: Apache-2.0 */
/* The orders: which of the operations that may run does run, and when.
 *
 *   lazy         nothing until the host waits; then only what that wait needs, latest queued first
 *   random:SEED  a few at any call that queues; while the host waits, any that may run
 *   eager        each as soon as it is queued, a graph's nodes as they were captured
 *   threads      a worker thread for each device runs them at random (threads:SEED)
 *
 * The first three are deterministic for a single host thread. A query (cuEventQuery, cuStreamQuery)
 * of unfinished work runs one operation that this work needs before it answers, so that a program
 * that polls comes to an end in every order. A program that waits for a host function or for a word
 * in pinned memory without any call into CUDA never ends in lazy: use threads or eager for it.
 */
#include "engine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"lazy", "random", "eager", "threads"};

static uint64_t draw(uint64_t below)
{
    /* splitmix64 */
    uint64_t x = sim.random += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % below;
}

CUresult sim_order_parse(const char *text)
{
    size_t length = strcspn(text, ":");
    char *end = NULL;

    sim.random = 1;
    for (int i = SIM_LAZY; i <= SIM_THREADS; i++)
        if (strlen(names[i]) == length && strncmp(text, names[i], length) == 0)
            sim.order = (enum sim_order)i, end = (char *)text + length;
    if (end && *end == ':' && (sim.order == SIM_RANDOM || sim.order == SIM_THREADS))
        sim.random = strtoull(end + 1, &end, 10);
    if (end && *end == '\0')
        return CUDA_SUCCESS;
    sim_say("SIMCUDA_ORDER=%s is not one of lazy, random:SEED, eager, threads, threads:SEED", text);
    return CUDA_ERROR_INVALID_VALUE;
}

const char *sim_order_name(void)
{
    return names[sim.order];
}

static void push(struct sim_task **todo, struct sim_task *task)
{
    if (!task || task->state == SIM_DONE || task->wanted)
        return;
    task->wanted = true;
    task->todo = *todo;
    *todo = task;
}

/* Marks the task and all that must run before it. A mark stays: what was wanted once is wanted. */
static void want(struct sim_task *task)
{
    struct sim_task *todo = NULL;

    push(&todo, task);
    while (todo) {
        struct sim_task *t = todo;

        todo = t->todo;
        push(&todo, t->before);
        for (uint32_t i = 0; i < t->after_count; i++)
            push(&todo, t->after[i]);
    }
}

enum choice { LATEST_QUEUED, FIRST_QUEUED, ANY };

/* A task that may run now, or NULL: on `device` (-1: any), and only a wanted one if asked. */
static struct sim_task *pick(int device, bool wanted, enum choice choice)
{
    struct sim_task *best = NULL;
    uint64_t found = 0;

    for (CUstream s = sim.streams; s; s = s->next) {
        struct sim_task *head = s->queue;

        if (!head || (wanted && !head->wanted) || (device >= 0 && s->context->device != device) ||
            !sim_task_ready(head))
            continue;
        found++;
        if (!best || (choice == ANY ? draw(found) == 0
                                    : (choice == LATEST_QUEUED) == (head->op.id > best->op.id)))
            best = head;
    }
    return best;
}

static struct sim_task *pick_for_wait(void)
{
    switch (sim.order) {
    case SIM_LAZY:
        return pick(-1, true, LATEST_QUEUED);
    case SIM_RANDOM:
        return pick(-1, false, ANY);
    case SIM_EAGER:
        return pick(-1, false, FIRST_QUEUED);
    case SIM_THREADS:
        break;
    }
    return NULL;
}

static void *work_for_device(void *arg)
{
    const int device = (int)((struct sim_device *)arg - sim.devices);

    pthread_mutex_lock(&sim.lock);
    for (;;) {
        struct sim_task *task = pick(device, false, ANY);

        if (!task) {
            pthread_cond_wait(&sim.changed, &sim.lock);
            continue;
        }
        sim_task_run(task);
        /* Let host threads in between two operations. */
        pthread_mutex_unlock(&sim.lock);
        sched_yield();
        pthread_mutex_lock(&sim.lock);
    }
    return NULL;
}

/* Detached: at exit the process ends under it, whatever it is doing. */
static void start_workers(void)
{
    for (int i = 0; i < sim.device_count; i++) {
        pthread_attr_t attributes;
        pthread_t thread;

        if (sim.devices[i].worker)
            continue;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sim.devices[i].worker =
            pthread_create(&thread, &attributes, work_for_device, &sim.devices[i]) == 0;
        pthread_attr_destroy(&attributes);
        if (!sim.devices[i].worker)
            sim_say("can't start the worker thread of device %d", i);
    }
}

void sim_order_queued(void)
{
    struct sim_task *task;

    switch (sim.order) {
    case SIM_LAZY:
        break;
    case SIM_RANDOM:
        for (uint64_t n = draw(3); n > 0 && (task = pick(-1, false, ANY)); n--)
            sim_task_run(task);
        break;
    case SIM_EAGER:
        while ((task = pick(-1, false, FIRST_QUEUED)))
            sim_task_run(task);
        break;
    case SIM_THREADS:
        start_workers();
        pthread_cond_broadcast(&sim.changed);
        break;
    }
}

void sim_wait(struct sim_task *task)
{
    if (!task)
        return;
    sim_task_ref(task);
    want(task);
    while (task->state != SIM_DONE) {
        struct sim_task *next = pick_for_wait();

        if (next)
            sim_task_run(next);
        else /* a worker, or another host thread in a host function, is at it */
            pthread_cond_wait(&sim.changed, &sim.lock);
    }
    sim_clock_join(sim.host, task->clock);
    sim_task_unref(task);
}

bool sim_poll(struct sim_task *task)
{
    struct sim_task *next = NULL;
    bool done;

    if (!task)
        return true;
    sim_task_ref(task);
    want(task);
    if (task->state != SIM_DONE && sim.order != SIM_THREADS)
        next = pick(-1, true, sim.order == SIM_RANDOM ? ANY : LATEST_QUEUED);
    if (next)
        sim_task_run(next);
    done = task->state == SIM_DONE;
    if (done)
        sim_clock_join(sim.host, task->clock);
    sim_task_unref(task);
    return done;
}
