/* SPDX-License-Identifier: Apache-2.0 */
/* A launch: its blocks one after the other, the warps of a block in turn from barrier to barrier.
 */
#include "ptx_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "ptx_frame.h"
#include "ptx_schedule.h"

#define BLOCK_THREADS_MAX 1024u
#define SHARED_ALIGN      128u
#define STEPS_MAX         200000000ull /* fifty of the largest launches: one that spins ends some time */

__attribute__((format(printf, 3, 4))) static bool refuse(const struct ptx_launch *launch,
                                                         struct sim_fault *fault,
                                                         const char *format, ...)
{
    char what[300];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    fault->set = true;
    fault->code = PTX_FAULT_LAUNCH;
    snprintf(fault->text, sizeof(fault->text), "%s: %s", launch->op->what, what);
    return false;
}

/* ---- Module variables ---- */

/* The values come from no operation of the program: written as by the host. */
static bool place_globals(const struct ptx_launch *launch, struct sim_fault *fault)
{
    struct ptx_module *module = launch->kernel->module;
    static const struct sim_where where;
    struct sim_op loader = *launch->op;
    loader.id = UINT32_MAX;
    loader.what = "module load";
    if (module->globals == NULL || module->memory == launch->memory)
        return true;
    if (module->memory != NULL)
        return refuse(launch, fault, "the module's variables are in another device's memory");
    for (struct ptx_variable *v = module->globals; v != NULL; v = v->next) {
        v->offset = sim_memory_alloc(launch->memory, v->bytes, SIM_DEVICE);
        if (v->offset == 0)
            return refuse(launch, fault, "no device memory for the variable %s", v->name);
        void *p = sim_memory_access(launch->memory, &loader, &where, v->offset, v->bytes, 1,
                                    SIM_WRITE, fault);
        if (v->init != NULL)
            memcpy(p, v->init, v->bytes);
        else
            memset(p, 0, v->bytes);
        sim_memory_host_owns(launch->memory, v->offset, v->bytes);
    }
    module->memory = launch->memory;
    return true;
}

/* ---- Blocks ---- */

static void start_warp(struct ptx_block *b, uint32_t index, uint32_t linear)
{
    const struct ptx_launch *l = b->launch;
    const uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    const uint32_t left = threads - index * PTX_LANES;
    struct ptx_warp *w = &b->warps[index];
    memset(w, 0, sizeof(*w));
    w->block = b;
    w->index = index;
    w->all = left >= PTX_LANES ? PTX_ALL_LANES : (1u << left) - 1;
    w->where.block = linear;
    struct ptx_frame *f = ptx_frame_push(w, l->kernel, w->all);
    for (uint32_t lane = 0; lane < PTX_LANES && l->kernel->param_bytes > 0; lane++)
        memcpy(f->params + (size_t)l->kernel->area_bytes * lane, l->params, l->kernel->param_bytes);
}

static bool report_deadlock(struct ptx_block *b)
{
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < b->warp_count; i++)
        waiting = b->warps[i].waits != NULL ? i : waiting;
    struct ptx_warp *w = &b->warps[waiting];
    const struct ptx_barrier *barrier = &b->barriers[w->barrier];
    char others[100] = "";
    for (uint32_t i = 0; i < b->warp_count && others[0] == '\0'; i++) {
        if (b->warps[i].waits == NULL)
            snprintf(others, sizeof(others), "warp %u has exited", i);
        else if (b->warps[i].barrier != w->barrier)
            snprintf(others, sizeof(others), "warp %u waits at barrier %u", i, b->warps[i].barrier);
    }
    return ptx_fault(w, w->waits, w->all, PTX_FAULT_LAUNCH,
                     "waits for ever: %u of %u threads came to barrier %u; %s", barrier->arrived,
                     barrier->expected, w->barrier, others);
}

static bool run_warps(struct ptx_block *b)
{
    for (;;) {
        bool ran = false, waiting = false;
        for (uint32_t i = 0; i < b->warp_count; i++) {
            struct ptx_warp *w = &b->warps[i];
            if (w->waits == NULL && w->top != NULL) {
                ran = true;
                if (!ptx_warp_run(w))
                    return false;
            }
            waiting |= w->waits != NULL;
        }
        if (!ran)
            return waiting ? report_deadlock(b) : true;
    }
}

static bool run_block(struct ptx_block *b, uint32_t linear)
{
    const uint32_t *grid = b->launch->grid;
    b->index[0] = linear % grid[0];
    b->index[1] = linear / grid[0] % grid[1];
    b->index[2] = linear / grid[0] / grid[1];
    b->epoch = 0;
    memset(b->barriers, 0, sizeof(b->barriers));
    if (b->shared_bytes > 0) {
        memset(b->shared_init, 0, b->shared_bytes);
        race_area_reset(&b->shared_races, b->shared_bytes, 2);
    }
    for (uint32_t i = 0; i < b->warp_count; i++)
        start_warp(b, i, linear);
    return run_warps(b);
}

static void drop_frames(struct ptx_block *b)
{
    for (uint32_t i = 0; i < b->warp_count; i++) {
        while (b->warps[i].top != NULL)
            ptx_frame_pop(&b->warps[i]);
    }
}

static bool check_launch(const struct ptx_launch *l, struct sim_fault *fault)
{
    const struct ptx_kernel *k = l->kernel;
    const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    if (threads == 0 || threads > BLOCK_THREADS_MAX || blocks == 0 || blocks > UINT32_MAX)
        return refuse(l, fault, "a grid of %llu blocks of %llu threads", (unsigned long long)blocks,
                      (unsigned long long)threads);
    if (k->threads_max != 0 && threads > k->threads_max)
        return refuse(l, fault, "%llu threads a block, above its .maxntid of %u",
                      (unsigned long long)threads, k->threads_max);
    for (int i = 0; i < 3 && k->threads_required[0] != 0; i++) {
        if (l->block[i] != k->threads_required[i])
            return refuse(l, fault, "a block other than its .reqntid of %u x %u x %u",
                          k->threads_required[0], k->threads_required[1], k->threads_required[2]);
    }
    return true;
}

static void take_shared(struct ptx_block *b)
{
    const uint32_t fixed = b->launch->kernel->shared_bytes;
    b->dynamic_shared = (fixed + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
    b->shared_bytes = b->launch->dynamic_shared_bytes == 0
                          ? fixed
                          : b->dynamic_shared + b->launch->dynamic_shared_bytes;
    b->shared = must(malloc(2 * (size_t)b->shared_bytes + 1));
    b->shared_init = b->shared + b->shared_bytes;
}

int ptx_run(const struct ptx_launch *launch, struct sim_fault *fault)
{
    if (!check_launch(launch, fault) || !place_globals(launch, fault))
        return -1;
    const uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    const uint32_t blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    struct ptx_block b = {.launch = launch, .fault = fault, .steps_limit = STEPS_MAX};
    b.warp_count = (threads + PTX_LANES - 1) / PTX_LANES;
    b.warps = must(aligned_alloc(64, b.warp_count * sizeof(struct ptx_warp)));
    memset(b.warps, 0, b.warp_count * sizeof(struct ptx_warp));
    take_shared(&b);
    bool ok = true;
    for (uint32_t i = 0; i < blocks && ok; i++)
        ok = run_block(&b, i);
    drop_frames(&b);
    race_area_free(&b.shared_races);
    free(b.shared);
    free(b.warps);
    return ok ? 0 : -1;
}
