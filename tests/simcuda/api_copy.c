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
#include "copy.h"

static CUresult copy(const char *what, const struct sim_copy *c, CUstream stream, bool wait)
{
    struct sim_task *task = NULL;
    struct sim_work work;
    enum sim_place from, to;
    bool staged;
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r == CUDA_SUCCESS && wait)
        r = sim_capture_permits_wait(what, stream);
    if (r != CUDA_SUCCESS || c->width == 0 || c->height == 0)
        return r;
    if (!sim_copy_places(c, &to, &from))
        return CUDA_ERROR_INVALID_VALUE;
    staged = from == SIM_AT_PAGEABLE && to == SIM_AT_DEVICE && !stream->capture;
    if (staged && wait)
        sim_wait(stream->last);
    wait = !staged &&
           (to == SIM_AT_PAGEABLE || (wait && (from != SIM_AT_DEVICE || to != SIM_AT_DEVICE)));
    r = sim_copy_work(what, c, staged, &work);
    if (r == CUDA_SUCCESS)
        r = sim_submit(stream, &work, wait ? &task : NULL);
    sim_wait(task);
    sim_task_unref(task);
    return r;
}

static CUresult copy_1d(const char *what, uint64_t to, uint64_t from, size_t bytes, CUstream stream,
                        bool wait)
{
    const struct sim_copy c = {.to = to, .from = from, .width = bytes, .height = 1};

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
    struct sim_copy c;

    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    /* A pitch of 0 means packed rows. */
    c = (struct sim_copy){.to_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes,
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
    const struct sim_fill f = {
        .to = to, .count = count, .height = 1, .value = value, .width = width};
    struct sim_task *task = NULL;
    struct sim_work work;
    enum sim_place place;
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r == CUDA_SUCCESS && synchronous)
        r = sim_capture_permits_wait(what, stream);
    if (r != CUDA_SUCCESS || count == 0)
        return r;
    r = sim_fill_work(what, &f, &work, &place);
    if (r == CUDA_SUCCESS)
        r = sim_submit(stream, &work, synchronous && place == SIM_AT_PINNED ? &task : NULL);
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
