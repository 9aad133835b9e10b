/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime API: versions, devices and driver entry points. */
#include "runtime.h"

#include <string.h>

#define RUNTIME_VERSION 13000

CUresult rt_cudaDriverGetVersion(int *ret_version)
{
    return cuDriverGetVersion(ret_version);
}

CUresult rt_cudaRuntimeGetVersion(int *ret_version)
{
    if (!ret_version)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_version = RUNTIME_VERSION;
    return CUDA_SUCCESS;
}

CUresult rt_cudaGetDeviceCount(int *ret_count)
{
    return cuDeviceGetCount(ret_count);
}

CUresult rt_cudaGetDevice(int *ret_device)
{
    if (!ret_device)
        return CUDA_ERROR_INVALID_VALUE;
    if (cuCtxGetDevice(ret_device) != CUDA_SUCCESS)
        *ret_device = rt_thread.device;
    return CUDA_SUCCESS;
}

CUresult rt_cudaSetDevice(int device)
{
    CUcontext context;
    CUresult r = cuDevicePrimaryCtxRetain(&context, device);

    if (r != CUDA_SUCCESS)
        return r;
    rt_thread.device = device;
    return cuCtxSetCurrent(context);
}

CUresult rt_cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    CUcontext context;

    return cuDevicePrimaryCtxRetain(&context, device);
}

static int attribute(CUdevice_attribute a, int device)
{
    int value = 0;

    cuDeviceGetAttribute(&value, a, device);
    return value;
}

CUresult rt_cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    CUresult r;

    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    memset(p, 0, sizeof(*p));
    r = cuDeviceGetName(p->name, sizeof(p->name), device);
    if (r != CUDA_SUCCESS)
        return r;
    cuDeviceGetUuid((CUuuid *)&p->uuid, device);
    cuDeviceTotalMem_v2(&p->totalGlobalMem, device);
#define GET(field, name)                                                                           \
    p->field = (__typeof__(p->field))attribute(CU_DEVICE_ATTRIBUTE_##name, device)
    GET(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK);
    GET(regsPerBlock, MAX_REGISTERS_PER_BLOCK);
    GET(warpSize, WARP_SIZE);
    GET(memPitch, MAX_PITCH);
    GET(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
    GET(maxThreadsDim[0], MAX_BLOCK_DIM_X);
    GET(maxThreadsDim[1], MAX_BLOCK_DIM_Y);
    GET(maxThreadsDim[2], MAX_BLOCK_DIM_Z);
    GET(maxGridSize[0], MAX_GRID_DIM_X);
    GET(maxGridSize[1], MAX_GRID_DIM_Y);
    GET(maxGridSize[2], MAX_GRID_DIM_Z);
    GET(totalConstMem, TOTAL_CONSTANT_MEMORY);
    GET(major, COMPUTE_CAPABILITY_MAJOR);
    GET(minor, COMPUTE_CAPABILITY_MINOR);
    GET(textureAlignment, TEXTURE_ALIGNMENT);
    GET(multiProcessorCount, MULTIPROCESSOR_COUNT);
    GET(canMapHostMemory, CAN_MAP_HOST_MEMORY);
    GET(concurrentKernels, CONCURRENT_KERNELS);
    GET(ECCEnabled, ECC_ENABLED);
    GET(pciBusID, PCI_BUS_ID);
    GET(asyncEngineCount, ASYNC_ENGINE_COUNT);
    GET(unifiedAddressing, UNIFIED_ADDRESSING);
    GET(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH);
    GET(l2CacheSize, L2_CACHE_SIZE);
    GET(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR);
    GET(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED);
    GET(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    GET(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR);
    GET(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED);
    GET(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
    GET(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    GET(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR);
    GET(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK);
#undef GET
    return CUDA_SUCCESS;
}

CUresult rt_cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr a, int device)
{
    return cuDeviceGetAttribute(ret_value, (CUdevice_attribute)a, device);
}

CUresult rt_cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    return cuDeviceGetPCIBusId(id, size, device);
}

CUresult rt_cudaDeviceGetByPCIBusId(int *ret_device, const char *id)
{
    return cuDeviceGetByPCIBusId(ret_device, id);
}

CUresult rt_cudaDeviceSynchronize(void)
{
    return cuCtxSynchronize();
}

CUresult rt_cudaDeviceReset(void)
{
    int device;

    rt_cudaGetDevice(&device);
    return cuDevicePrimaryCtxReset_v2(device);
}

CUresult rt_cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
    return cuCtxGetStreamPriorityRange(ret_least, ret_greatest);
}

CUresult rt_cudaDeviceGetLimit(size_t *ret_value, enum cudaLimit limit)
{
    return cuCtxGetLimit(ret_value, (CUlimit)limit);
}

CUresult rt_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    return cuCtxSetLimit((CUlimit)limit, value);
}

/* A name that isn't there is no error here: the status says so. */
CUresult rt_cudaGetDriverEntryPointByVersion(const char *symbol, void **ret_function,
                                             unsigned version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *ret_status)
{
    CUdriverProcAddressQueryResult status;
    CUresult r;

    if (flags == cudaEnableDefault && rt_thread.per_thread_default)
        flags = cudaEnablePerThreadDefaultStream;
    r = cuGetProcAddress_v2(symbol, ret_function, (int)version, flags, &status);
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_FOUND)
        return r;
    if (ret_status)
        *ret_status = (enum cudaDriverEntryPointQueryResult)status;
    return CUDA_SUCCESS;
}

CUresult rt_cudaGetDriverEntryPoint(const char *symbol, void **ret_function,
                                    unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *ret_status)
{
    int driver;
    CUresult r = cuDriverGetVersion(&driver);

    if (r != CUDA_SUCCESS)
        return r;
    return rt_cudaGetDriverEntryPointByVersion(
        symbol, ret_function, driver < RUNTIME_VERSION ? (unsigned)driver : RUNTIME_VERSION, flags,
        ret_status);
}
