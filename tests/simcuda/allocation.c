/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations as the API sees them: which context and device each belongs to, and each device's
 * share of the one simulated address space (UVA: an address says which device it is on).
 */
#include "engine.h"

#include <stdlib.h>

/* What sim_memory_alloc() rounds up to. */
static uint64_t charged(const struct sim_allocation *a)
{
    return a->space == SIM_DEVICE ? (a->bytes + 255) & ~UINT64_C(255) : 0;
}

static struct sim_allocation *new_entry(CUcontext context, uint64_t bytes,
                                        enum sim_memory_space space, unsigned flags)
{
    struct sim_allocation *a = calloc(1, sizeof(*a));

    if (a)
        *a = (struct sim_allocation){.bytes = bytes,
                                     .context = context,
                                     .space = space,
                                     .flags = flags,
                                     .id = ++sim.object_id};
    return a;
}

CUresult sim_allocation_new(CUcontext context, uint64_t bytes, enum sim_memory_space space,
                            unsigned flags, struct sim_allocation **ret_allocation)
{
    struct sim_device *device = &sim.devices[context->device];
    struct sim_allocation *a;

    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    a = new_entry(context, bytes, space, flags);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    /* In two steps because bytes may be near 2^64. */
    if (space == SIM_DEVICE &&
        (bytes > sim.device_bytes || charged(a) > sim.device_bytes - device->used))
        goto out_of_memory;
    a->base = sim_memory_alloc(sim.memory, bytes, space);
    if (a->base == 0)
        goto out_of_memory;
    if (!sim_table_put(&sim.allocations, a->base, a)) {
        sim_memory_release(sim.memory, a->base);
        goto out_of_memory;
    }
    device->used += charged(a);
    *ret_allocation = a;
    return CUDA_SUCCESS;

out_of_memory:
    free(a);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_allocation_adopt(CUcontext context, void *host, uint64_t bytes, unsigned flags)
{
    struct sim_allocation *a = new_entry(context, bytes, SIM_PINNED, flags);

    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    a->base = (uintptr_t)host;
    a->adopted = true;
    if (!sim_memory_adopt(sim.memory, a->base, bytes)) {
        free(a);
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    if (!sim_table_put(&sim.allocations, a->base, a)) {
        sim_memory_release(sim.memory, a->base);
        free(a);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

struct sim_allocation *sim_allocation_find(uint64_t address)
{
    uint64_t base, bytes;
    enum sim_memory_space space;

    if (!sim_memory_find(sim.memory, address, &base, &bytes, &space))
        return NULL;
    return sim_table_get(&sim.allocations, base);
}

void sim_allocation_free(struct sim_allocation *a)
{
    sim.devices[a->context->device].used -= charged(a);
    sim_table_remove(&sim.allocations, a->base);
    sim_memory_release(sim.memory, a->base);
    free(a);
}

void sim_allocations_close(CUcontext context)
{
    struct sim_allocation *a;
    size_t cursor = 0;

    while ((a = sim_table_next(&sim.allocations, &cursor)))
        if (a->context == context)
            sim_allocation_free(a);
}
