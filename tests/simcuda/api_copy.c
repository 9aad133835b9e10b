/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: copies and fills.
 *
 * How much a copy waits follows the manual ("API synchronization behavior"): an asynchronous one
 * from pageable memory takes the bytes at the call, one to pageable memory returns when it is done.
 * Captured, either reads and writes the pageable memory when the graph runs.
 * A synchronous one waits when a host buffer is involved, except that one from pageable memory
 * waits only for the earlier work; between two device buffers it doesn't wait at all.
 */
#include "api.h"
#include "capture.h"

#include <stdlib.h>
#include <string.h>

enum place { PAGEABLE, PINNED, DEVICE };

struct copy {
    uint64_t to, from; /* of the first row */
    size_t to_pitch, from_pitch, width, height;
    bool to_known, from_known; /* device or pinned memory, else pageable */
    unsigned char staged[];    /* pageable source of an asynchronous copy, rows packed */
};

struct fill {
    uint64_t to;
    size_t count;
    uint32_t value;
    unsigned width; /* bytes of one value */
};

/* Unknown addresses are pageable host memory. False: a range that leaves its allocation. */
static bool place_of(uint64_t address, uint64_t bytes, enum place *ret_place)
{
    const struct sim_allocation *a = sim_allocation_find(address);

    *ret_place = !a ? PAGEABLE : a->space == SIM_DEVICE ? DEVICE : PINNED;
    return !a || bytes <= a->base + a->bytes - address;
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
    const struct copy *c = arg;

    for (size_t row = 0; row < c->height; row++) {
        const void *from = reach(memory, op, c->from_known, c->from + row * c->from_pitch, c->width,
                                 SIM_READ, fault);
        void *to =
            reach(memory, op, c->to_known, c->to + row * c->to_pitch, c->width, SIM_WRITE, fault);

        if (!from || !to || fault->set)
            return -1;
        memmove(to, from, c->width);
    }
    return 0;
}

static int run_fill(void *arg, struct sim_memory *memory, const struct sim_op *op,
                    struct sim_fault *fault)
{
    const struct fill *f = arg;
    unsigned char *to = reach(memory, op, true, f->to, f->count * f->width, SIM_WRITE, fault);

    if (!to || fault->set)
        return -1;
    if (f->width == 1)
        memset(to, (int)f->value, f->count);
    else
        for (size_t i = 0; i < f->count; i++)
            memcpy(to + i * f->width, &f->value, f->width);
    return 0;
}

/* Copies the source now, so that the caller may reuse it. */
static struct copy *stage(const struct copy *c)
{
    struct copy *staged = malloc(sizeof(*staged) + c->width * c->height);

    if (!staged)
        return NULL;
    *staged = *c;
    for (size_t row = 0; row < c->height; row++)
        memcpy(staged->staged + row * c->width,
               (const char *)(uintptr_t)c->from + row * c->from_pitch, c->width);
    staged->from = (uintptr_t)staged->staged;
    staged->from_pitch = c->width;
    return staged;
}

static size_t extent(size_t pitch, size_t width, size_t height)
{
    return (height - 1) * pitch + width;
}

static CUresult copy(const char *what, struct copy *c, CUstream stream, bool wait)
{
    struct sim_work work = {.what = what, .body = run_copy, .type = CU_GRAPH_NODE_TYPE_MEMCPY};
    struct sim_task *task = NULL;
    enum place from, to;
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r == CUDA_SUCCESS && wait)
        r = sim_capture_permits_wait(what, stream);
    if (r != CUDA_SUCCESS || c->width == 0 || c->height == 0)
        return r;
    if (!place_of(c->from, extent(c->from_pitch, c->width, c->height), &from) ||
        !place_of(c->to, extent(c->to_pitch, c->width, c->height), &to))
        return CUDA_ERROR_INVALID_VALUE;
    c->from_known = from != PAGEABLE;
    c->to_known = to != PAGEABLE;
    if (from == PAGEABLE && to == DEVICE && !stream->capture) {
        if (wait)
            sim_wait(stream->last);
        wait = false;
        work.arg = stage(c);
    } else {
        wait = to == PAGEABLE || (wait && (from != DEVICE || to != DEVICE));
        work.arg = malloc(sizeof(*c));
        if (work.arg)
            *(struct copy *)work.arg = *c;
    }
    if (!work.arg)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = sim_submit(stream, &work, wait ? &task : NULL);
    sim_wait(task);
    sim_task_unref(task);
    return r;
}

static CUresult copy_1d(const char *what, uint64_t to, uint64_t from, size_t bytes, CUstream stream,
                        bool wait)
{
    struct copy c = {.to = to, .from = from, .width = bytes, .height = 1};

    return copy(what, &c, stream, wait);
}

/* In the forms that name the direction, the device side must be device (or pinned) memory. */
static bool known(uint64_t address)
{
    return sim_allocation_find(address) != NULL;
}

CUresult impl_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_1d("cuMemcpy", to, from, bytes, NULL, true);
}

CUresult impl_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_1d("cuMemcpyAsync", to, from, bytes, stream, false);
}

CUresult impl_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    if (!known(to))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_1d("cuMemcpyHtoD", to, (uintptr_t)from, bytes, NULL, true);
}

CUresult impl_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    if (!known(from))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_1d("cuMemcpyDtoH", (uintptr_t)to, from, bytes, NULL, true);
}

CUresult impl_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    if (!known(from) || !known(to))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_1d("cuMemcpyDtoD", to, from, bytes, NULL, true);
}

CUresult impl_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    if (!known(to))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_1d("cuMemcpyHtoDAsync", to, (uintptr_t)from, bytes, stream, false);
}

CUresult impl_cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    if (!known(from))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_1d("cuMemcpyDtoHAsync", (uintptr_t)to, from, bytes, stream, false);
}

CUresult impl_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    if (!known(from) || !known(to))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_1d("cuMemcpyDtoDAsync", to, from, bytes, stream, false);
}

/* One side of a 2D copy: where its first byte is. 0: a kind of memory that isn't simulated. */
static uint64_t corner(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                       size_t pitch)
{
    const uint64_t offset = y * pitch + x;

    switch ((int)type) {
    case CU_MEMORYTYPE_HOST:
        return (uintptr_t)host + offset;
    case CU_MEMORYTYPE_DEVICE:
        return known(device) ? device + offset : 0;
    case CU_MEMORYTYPE_UNIFIED:
        return device + offset;
    default:
        return 0;
    }
}

static CUresult copy_2d(const char *what, const CUDA_MEMCPY2D *p, CUstream stream, bool wait)
{
    struct copy c;

    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    /* A pitch of 0 means packed rows. */
    c = (struct copy){.to_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes,
                      .from_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
                      .width = p->WidthInBytes,
                      .height = p->Height};
    if (p->srcMemoryType == CU_MEMORYTYPE_ARRAY || p->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
        sim_say("%s: arrays are not simulated", what);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    c.from =
        corner(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, p->srcY, c.from_pitch);
    c.to = corner(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, p->dstY, c.to_pitch);
    if (c.from == 0 || c.to == 0 || c.from_pitch < c.width || c.to_pitch < c.width)
        return CUDA_ERROR_INVALID_VALUE;
    return copy(what, &c, stream, wait);
}

CUresult impl_cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
    return copy_2d("cuMemcpy2D", p, NULL, true);
}

CUresult impl_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p)
{
    return copy_2d("cuMemcpy2DUnaligned", p, NULL, true);
}

CUresult impl_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
    return copy_2d("cuMemcpy2DAsync", p, stream, false);
}

static CUresult fill(const char *what, uint64_t to, uint32_t value, unsigned width, size_t count,
                     CUstream stream, bool synchronous)
{
    struct sim_work work = {.what = what, .body = run_fill, .type = CU_GRAPH_NODE_TYPE_MEMSET};
    struct sim_task *task = NULL;
    struct fill *f;
    enum place place;
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r == CUDA_SUCCESS && synchronous)
        r = sim_capture_permits_wait(what, stream);
    if (r != CUDA_SUCCESS || count == 0)
        return r;
    if (count > SIZE_MAX / width || to % width != 0 || !place_of(to, count * width, &place) ||
        place == PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;
    work.arg = f = malloc(sizeof(*f));
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *f = (struct fill){.to = to, .count = count, .value = value, .width = width};
    r = sim_submit(stream, &work, synchronous && place == PINNED ? &task : NULL);
    sim_wait(task);
    sim_task_unref(task);
    return r;
}

CUresult impl_cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
    return fill("cuMemsetD8", to, value, 1, count, NULL, true);
}

CUresult impl_cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
    return fill("cuMemsetD16", to, value, 2, count, NULL, true);
}

CUresult impl_cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count)
{
    return fill("cuMemsetD32", to, value, 4, count, NULL, true);
}

CUresult impl_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return fill("cuMemsetD8Async", to, value, 1, count, stream, false);
}

CUresult impl_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    return fill("cuMemsetD16Async", to, value, 2, count, stream, false);
}

CUresult impl_cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    return fill("cuMemsetD32Async", to, value, 4, count, stream, false);
}
