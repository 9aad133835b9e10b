/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct job {
    void (*task)(void *context, size_t i, uint32_t thread);
    void *context;
    size_t count;
    atomic_size_t next; /* any thread takes by adding, relaxed: tasks share nothing */
};

struct worker {
    struct job *job;
    uint32_t number;
    pthread_t thread;
};

uint32_t mhcs_parallel_cores(void)
{
    cpu_set_t set;
    const int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    return count < 1 ? 1 : count > MHCS_THREADS_MAX ? MHCS_THREADS_MAX : (uint32_t)count;
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct job *job = worker->job;
    size_t i;

    while ((i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < job->count)
        job->task(job->context, i, worker->number);
    return NULL;
}

void mhcs_parallel(uint32_t threads, size_t count,
                   void (*task)(void *context, size_t i, uint32_t thread), void *context)
{
    struct job job = {.task = task, .context = context, .count = count};
    struct worker workers[MHCS_THREADS_MAX];
    uint32_t started = 1;

    workers[0] = (struct worker){.job = &job};
    while (started < threads && started < count) {
        workers[started] = (struct worker){.job = &job, .number = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
        started++;
    }
    work(&workers[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
}
