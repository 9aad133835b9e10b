/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: device and pinned memory, and what a pointer is. */
#include "api.h"
#include "capture.h"

#include <stdlib.h>

CUresult impl_cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
    const struct sim_device *device = &sim.devices[sim_context_current()->device];

    if (ret_free)
        *ret_free = sim.device_bytes - device->used;
    if (ret_total)
        *ret_total = sim.device_bytes;
    return CUDA_SUCCESS;
}

CUresult impl_cuMemAlloc_v2(CUdeviceptr *ret_address, size_t bytes)
{
    struct sim_allocation *a;
    CUresult r;

    if (!ret_address)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_allocation_new(sim_context_current(), bytes, SIM_DEVICE, 0, &a);
    if (r == CUDA_SUCCESS)
        *ret_address = a->base;
    return r;
}

static struct sim_allocation *at_start(uint64_t address, enum sim_memory_space space)
{
    struct sim_allocation *a = sim_allocation_find(address);

    return a && a->base == address && a->space == space && !a->freeing ? a : NULL;
}

/* The driver waits for the device before it unmaps memory, and programs came to rely on it. */
static CUresult free_now(uint64_t address, enum sim_memory_space space)
{
    struct sim_allocation *a = at_start(address, space);

    if (!a)
        return CUDA_ERROR_INVALID_VALUE;
    a->freeing = true; /* nobody else's, while a host function runs in the wait */
    sim_context_wait(a->context);
    sim_allocation_free(a);
    return CUDA_SUCCESS;
}

CUresult impl_cuMemFree_v2(CUdeviceptr address)
{
    return address == 0 ? CUDA_SUCCESS : free_now(address, SIM_DEVICE);
}

CUresult impl_cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_bytes, CUdeviceptr address)
{
    const struct sim_allocation *a = sim_allocation_find(address);

    if (!a || a->space != SIM_DEVICE)
        return CUDA_ERROR_NOT_FOUND;
    if (ret_base)
        *ret_base = a->base;
    if (ret_bytes)
        *ret_bytes = a->bytes;
    return CUDA_SUCCESS;
}

CUresult impl_cuMemHostAlloc(void **ret_host, size_t bytes, unsigned flags)
{
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    struct sim_allocation *a;
    CUresult r;

    if (!ret_host || flags & ~known)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_allocation_new(sim_context_current(), bytes, SIM_PINNED, flags, &a);
    if (r == CUDA_SUCCESS)
        *ret_host = (void *)(uintptr_t)a->base;
    return r;
}

CUresult impl_cuMemAllocHost_v2(void **ret_host, size_t bytes)
{
    return impl_cuMemHostAlloc(ret_host, bytes, 0);
}

CUresult impl_cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    if (!host || bytes == 0 ||
        flags & ~(unsigned)(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                            CU_MEMHOSTREGISTER_READ_ONLY))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_allocation_adopt(sim_context_current(), host, bytes, flags);
}

CUresult impl_cuMemHostUnregister(void *host)
{
    const struct sim_allocation *a = sim_allocation_find((uintptr_t)host);

    if (!a || !a->adopted)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return free_now((uintptr_t)host, SIM_PINNED);
}

CUresult impl_cuMemFreeHost(void *host)
{
    const struct sim_allocation *a = sim_allocation_find((uintptr_t)host);

    if (a && a->adopted)
        return CUDA_ERROR_INVALID_VALUE;
    return free_now((uintptr_t)host, SIM_PINNED);
}

static const struct sim_allocation *pinned(const void *host)
{
    const struct sim_allocation *a = sim_allocation_find((uintptr_t)host);

    return a && a->space == SIM_PINNED ? a : NULL;
}

CUresult impl_cuMemHostGetDevicePointer_v2(CUdeviceptr *ret_address, void *host, unsigned flags)
{
    if (!ret_address || flags != 0 || !pinned(host))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_address = (uintptr_t)host;
    return CUDA_SUCCESS;
}

CUresult impl_cuMemHostGetFlags(unsigned *ret_flags, void *host)
{
    const struct sim_allocation *a = pinned(host);

    if (!ret_flags || !a)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = a->flags;
    return CUDA_SUCCESS;
}

static CUresult permits_pool(const char *call, CUstream stream)
{
    if (stream->capture) {
        sim_say("%s: allocation and free nodes are not simulated", call);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return sim_capture_permits_use(call, stream);
}

/* Memory freed on some stream comes back only when that stream gets there. */
CUresult impl_cuMemAllocAsync(CUdeviceptr *ret_address, size_t bytes, CUstream stream)
{
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r == CUDA_SUCCESS)
        r = permits_pool("cuMemAllocAsync", stream);
    if (r != CUDA_SUCCESS)
        return r;
    r = impl_cuMemAlloc_v2(ret_address, bytes);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        sim_context_wait(sim_context_current());
        r = impl_cuMemAlloc_v2(ret_address, bytes);
    }
    return r;
}

/* The whole range counts as written: so any access elsewhere that isn't ordered before the free is
 * a race, whichever of the two happens to run first. */
static int free_in_order(void *arg, struct sim_memory *memory, const struct sim_op *op,
                         struct sim_fault *fault)
{
    const uint64_t base = *(const uint64_t *)arg;
    struct sim_allocation *a = sim_allocation_find(base);
    const struct sim_where nowhere = {0};

    if (!a || a->base != base)
        return 0; /* its context was closed */
    sim_memory_access(memory, op, &nowhere, base, a->bytes, 1, SIM_WRITE, fault);
    sim_allocation_free(a);
    return fault->set ? -1 : 0;
}

CUresult impl_cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    CUresult r = sim_stream_resolve(stream, &stream);
    struct sim_work work = {.what = "cuMemFreeAsync", .body = free_in_order};
    struct sim_allocation *a = at_start(address, SIM_DEVICE);
    uint64_t *base;

    if (r == CUDA_SUCCESS)
        r = permits_pool(work.what, stream);
    if (r != CUDA_SUCCESS || address == 0)
        return r;
    if (!a)
        return CUDA_ERROR_INVALID_VALUE;
    work.arg = base = malloc(sizeof(*base));
    if (!base)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *base = address;
    a->freeing = true;
    return sim_enqueue(stream, &work, NULL);
}

CUresult impl_cuPointerGetAttribute(void *ret_value, CUpointer_attribute attribute,
                                    CUdeviceptr address)
{
    const struct sim_allocation *a = sim_allocation_find(address);

    if (!ret_value || !a)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)ret_value = a->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)ret_value = a->space == SIM_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)ret_value = address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (a->space == SIM_DEVICE)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)ret_value = (void *)(uintptr_t)address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)ret_value = a->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)ret_value = a->context->device;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)ret_value = a->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)ret_value = a->bytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)ret_value = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)ret_value = 1;
        return CUDA_SUCCESS;
    default:
        sim_say("cuPointerGetAttribute: attribute %d is not simulated", (int)attribute);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/* Unlike the single form, an unknown pointer is no error: its attributes are zero. */
CUresult impl_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes,
                                     void **ret_values, CUdeviceptr address)
{
    if (!attributes || !ret_values)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        CUresult r;

        switch ((int)attributes[i]) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *(uint64_t *)ret_values[i] = 0;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *)ret_values[i] = -2; /* no device: as the driver answers */
            break;
        default:
            *(unsigned *)ret_values[i] = 0;
            break;
        }
        r = impl_cuPointerGetAttribute(ret_values[i], attributes[i], address);
        if (r == CUDA_ERROR_NOT_SUPPORTED)
            return r;
    }
    return CUDA_SUCCESS;
}
