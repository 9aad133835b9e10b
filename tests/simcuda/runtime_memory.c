/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime API: memory, copies and fills. */
#include "runtime.h"

#include <stdint.h>
#include <string.h>

#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

/* The driver's synchronous form for this call's default stream. */
#define FOR_DEFAULT_STREAM(function) (rt_thread.per_thread_default ? function##_ptds : function)

CUresult rt_cudaMalloc(void **ret_memory, size_t bytes)
{
    CUdeviceptr address = 0;
    CUresult r;

    if (!ret_memory)
        return CUDA_ERROR_INVALID_VALUE;
    r = bytes ? cuMemAlloc_v2(&address, bytes) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS)
        *ret_memory = (void *)(uintptr_t)address;
    return r;
}

CUresult rt_cudaFree(void *memory)
{
    return cuMemFree_v2(ADDRESS(memory));
}

CUresult rt_cudaMallocHost(void **ret_host, size_t bytes)
{
    return cuMemAllocHost_v2(ret_host, bytes);
}

CUresult rt_cudaHostAlloc(void **ret_host, size_t bytes, unsigned flags)
{
    return cuMemHostAlloc(ret_host, bytes, flags);
}

CUresult rt_cudaFreeHost(void *host)
{
    return host ? cuMemFreeHost(host) : CUDA_SUCCESS;
}

CUresult rt_cudaHostGetDevicePointer(void **ret_memory, void *host, unsigned flags)
{
    CUdeviceptr address;
    CUresult r;

    if (!ret_memory)
        return CUDA_ERROR_INVALID_VALUE;
    r = cuMemHostGetDevicePointer_v2(&address, host, flags);
    if (r == CUDA_SUCCESS)
        *ret_memory = (void *)(uintptr_t)address;
    return r;
}

CUresult rt_cudaHostGetFlags(unsigned *ret_flags, void *host)
{
    return cuMemHostGetFlags(ret_flags, host);
}

CUresult rt_cudaHostRegister(void *host, size_t bytes, unsigned flags)
{
    return cuMemHostRegister_v2(host, bytes, flags);
}

CUresult rt_cudaHostUnregister(void *host)
{
    return cuMemHostUnregister(host);
}

CUresult rt_cudaMallocAsync(void **ret_memory, size_t bytes, cudaStream_t stream)
{
    CUdeviceptr address = 0;
    CUresult r;

    if (!ret_memory)
        return CUDA_ERROR_INVALID_VALUE;
    r = bytes ? cuMemAllocAsync(&address, bytes, rt_stream(stream)) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS)
        *ret_memory = (void *)(uintptr_t)address;
    return r;
}

CUresult rt_cudaFreeAsync(void *memory, cudaStream_t stream)
{
    return cuMemFreeAsync(ADDRESS(memory), rt_stream(stream));
}

CUresult rt_cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    return cuMemGetInfo_v2(ret_free, ret_total);
}

CUresult rt_cudaPointerGetAttributes(struct cudaPointerAttributes *ret_attributes,
                                     const void *memory)
{
    unsigned type;

    if (!ret_attributes)
        return CUDA_ERROR_INVALID_VALUE;
    memset(ret_attributes, 0, sizeof(*ret_attributes));
    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ADDRESS(memory)) !=
        CUDA_SUCCESS) {
        ret_attributes->type = cudaMemoryTypeUnregistered;
        ret_attributes->device = -2;
        ret_attributes->hostPointer = (void *)(uintptr_t)memory;
        return CUDA_SUCCESS;
    }
    ret_attributes->type = type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
    ret_attributes->devicePointer = (void *)(uintptr_t)memory;
    if (type != CU_MEMORYTYPE_DEVICE)
        ret_attributes->hostPointer = (void *)(uintptr_t)memory;
    return cuPointerGetAttribute(&ret_attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 ADDRESS(memory));
}

CUresult rt_cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    if (bytes == 0)
        return CUDA_SUCCESS;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return FOR_DEFAULT_STREAM(cuMemcpyHtoD_v2)(ADDRESS(to), from, bytes);
    case cudaMemcpyDeviceToHost:
        return FOR_DEFAULT_STREAM(cuMemcpyDtoH_v2)(to, ADDRESS(from), bytes);
    case cudaMemcpyDeviceToDevice:
        return FOR_DEFAULT_STREAM(cuMemcpyDtoD_v2)(ADDRESS(to), ADDRESS(from), bytes);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return FOR_DEFAULT_STREAM(cuMemcpy)(ADDRESS(to), ADDRESS(from), bytes);
    default:
        return (CUresult)cudaErrorInvalidMemcpyDirection;
    }
}

CUresult rt_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    if (bytes == 0)
        return CUDA_SUCCESS;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return cuMemcpyHtoDAsync_v2(ADDRESS(to), from, bytes, rt_stream(stream));
    case cudaMemcpyDeviceToHost:
        return cuMemcpyDtoHAsync_v2(to, ADDRESS(from), bytes, rt_stream(stream));
    case cudaMemcpyDeviceToDevice:
        return cuMemcpyDtoDAsync_v2(ADDRESS(to), ADDRESS(from), bytes, rt_stream(stream));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return cuMemcpyAsync(ADDRESS(to), ADDRESS(from), bytes, rt_stream(stream));
    default:
        return (CUresult)cudaErrorInvalidMemcpyDirection;
    }
}

static CUDA_MEMCPY2D rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                          size_t width, size_t height)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = ADDRESS(from),
                           .srcPitch = from_pitch,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = ADDRESS(to),
                           .dstPitch = to_pitch,
                           .WidthInBytes = width,
                           .Height = height};
}

static bool kind_is_known(enum cudaMemcpyKind kind)
{
    return (int)kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

CUresult rt_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    const CUDA_MEMCPY2D copy = rows(to, to_pitch, from, from_pitch, width, height);

    if (!kind_is_known(kind))
        return (CUresult)cudaErrorInvalidMemcpyDirection;
    return FOR_DEFAULT_STREAM(cuMemcpy2DUnaligned_v2)(&copy);
}

CUresult rt_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    const CUDA_MEMCPY2D copy = rows(to, to_pitch, from, from_pitch, width, height);

    if (!kind_is_known(kind))
        return (CUresult)cudaErrorInvalidMemcpyDirection;
    return cuMemcpy2DAsync_v2(&copy, rt_stream(stream));
}

CUresult rt_cudaMemset(void *to, int value, size_t bytes)
{
    return FOR_DEFAULT_STREAM(cuMemsetD8_v2)(ADDRESS(to), (unsigned char)value, bytes);
}

CUresult rt_cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return cuMemsetD8Async(ADDRESS(to), (unsigned char)value, bytes, rt_stream(stream));
}
