/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills as work, with every byte checked. */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

struct copy {
    struct sim_copy rows;
    bool to_known, from_known; /* device or pinned memory, else pageable */
    unsigned char staged[];    /* rows packed */
};

bool sim_place_of(uint64_t address, uint64_t bytes, enum sim_place *ret_place)
{
    const struct sim_allocation *a = sim_allocation_find(address);

    *ret_place = !a ? SIM_AT_PAGEABLE : a->space == SIM_DEVICE ? SIM_AT_DEVICE : SIM_AT_PINNED;
    return !a || bytes <= a->base + a->bytes - address;
}

static size_t extent(size_t pitch, size_t width, size_t height)
{
    return (height - 1) * pitch + width;
}

bool sim_copy_places(const struct sim_copy *c, enum sim_place *ret_to, enum sim_place *ret_from)
{
    return sim_place_of(c->from, extent(c->from_pitch, c->width, c->height), ret_from) &&
           sim_place_of(c->to, extent(c->to_pitch, c->width, c->height), ret_to);
}

static void *reach(struct sim_memory *memory, const struct sim_op *op, bool known, uint64_t address,
                   size_t bytes, enum sim_access access, struct sim_fault *fault)
{
    const struct sim_where nowhere = {0};

    if (!known)
        return (void *)(uintptr_t)address;
    return sim_memory_access(memory, op, &nowhere, address, bytes, 1, access, fault);
}

static int run_copy(void *arg, struct sim_memory *memory, const struct sim_op *op,
                    struct sim_fault *fault)
{
    const struct copy *copy = arg;
    const struct sim_copy *c = &copy->rows;

    for (size_t row = 0; row < c->height; row++) {
        const void *from = reach(memory, op, copy->from_known, c->from + row * c->from_pitch,
                                 c->width, SIM_READ, fault);
        void *to = reach(memory, op, copy->to_known, c->to + row * c->to_pitch, c->width, SIM_WRITE,
                         fault);

        if (!from || !to || fault->set)
            return -1;
        memmove(to, from, c->width);
    }
    return 0;
}

static void stage(struct copy *copy)
{
    struct sim_copy *c = &copy->rows;

    for (size_t row = 0; row < c->height; row++)
        memcpy(copy->staged + row * c->width,
               (const char *)(uintptr_t)c->from + row * c->from_pitch, c->width);
    c->from = (uintptr_t)copy->staged;
    c->from_pitch = c->width;
}

CUresult sim_copy_work(const char *what, const struct sim_copy *rows, bool staged,
                       struct sim_work *ret_work)
{
    struct copy *copy;
    enum sim_place to, from;

    if (!sim_copy_places(rows, &to, &from))
        return CUDA_ERROR_INVALID_VALUE;
    copy = malloc(sizeof(*copy) + (staged ? rows->width * rows->height : 0));
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = (struct copy){
        .rows = *rows, .to_known = to != SIM_AT_PAGEABLE, .from_known = from != SIM_AT_PAGEABLE};
    if (staged)
        stage(copy);
    *ret_work = (struct sim_work){
        .what = what, .body = run_copy, .arg = copy, .type = CU_GRAPH_NODE_TYPE_MEMCPY};
    return CUDA_SUCCESS;
}

static int run_fill(void *arg, struct sim_memory *memory, const struct sim_op *op,
                    struct sim_fault *fault)
{
    const struct sim_fill *f = arg;

    for (size_t row = 0; row < f->height; row++) {
        unsigned char *to =
            reach(memory, op, true, f->to + row * f->pitch, f->count * f->width, SIM_WRITE, fault);

        if (!to || fault->set)
            return -1;
        if (f->width == 1)
            memset(to, (int)f->value, f->count);
        else
            for (size_t i = 0; i < f->count; i++)
                memcpy(to + i * f->width, &f->value, f->width);
    }
    return 0;
}

CUresult sim_fill_work(const char *what, const struct sim_fill *fill, struct sim_work *ret_work,
                       enum sim_place *ret_place)
{
    struct sim_fill *f;

    if (fill->count > SIZE_MAX / fill->width || fill->to % fill->width != 0 ||
        !sim_place_of(fill->to, extent(fill->pitch, fill->count * fill->width, fill->height),
                      ret_place) ||
        *ret_place == SIM_AT_PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;
    f = malloc(sizeof(*f));
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *f = *fill;
    *ret_work = (struct sim_work){
        .what = what, .body = run_fill, .arg = f, .type = CU_GRAPH_NODE_TYPE_MEMSET};
    return CUDA_SUCCESS;
}
