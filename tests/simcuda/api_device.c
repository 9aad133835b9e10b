/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: what a device is. Figures are those of an H200 where it matters to no test. */
#include "api.h"

#include <stdio.h>
#include <string.h>

#define CHECK_DEVICE(device)                                                                       \
    do {                                                                                           \
        if ((device) < 0 || (device) >= sim.device_count)                                          \
            return CUDA_ERROR_INVALID_DEVICE;                                                      \
    } while (0)

CUresult impl_cuDeviceGet(CUdevice *ret_device, int ordinal)
{
    if (!ret_device)
        return CUDA_ERROR_INVALID_VALUE;
    CHECK_DEVICE(ordinal);
    *ret_device = ordinal;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetCount(int *ret_count)
{
    if (!ret_count)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_count = sim.device_count;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetName(char *name, int size, CUdevice device)
{
    if (!name || size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    CHECK_DEVICE(device);
    snprintf(name, (size_t)size, "simcuda sm_%d%d", sim.cc_major, sim.cc_minor);
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice device)
{
    if (!ret_uuid)
        return CUDA_ERROR_INVALID_VALUE;
    CHECK_DEVICE(device);
    memcpy(ret_uuid->bytes, "simcuda-device-0", 16);
    ret_uuid->bytes[15] = (char)('0' + device);
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid(CUuuid *ret_uuid, CUdevice device)
{
    return impl_cuDeviceGetUuid_v2(ret_uuid, device);
}

CUresult impl_cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice device)
{
    if (!ret_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    CHECK_DEVICE(device);
    *ret_bytes = sim.device_bytes;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice device)
{
    if (!ret_major || !ret_minor)
        return CUDA_ERROR_INVALID_VALUE;
    CHECK_DEVICE(device);
    *ret_major = sim.cc_major;
    *ret_minor = sim.cc_minor;
    return CUDA_SUCCESS;
}

/* -1: not an attribute known here. */
static int attribute_value(CUdevice_attribute attribute, CUdevice device)
{
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return sim.cc_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return sim.cc_minor;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return device + 1;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return 132;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
        return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
        return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
        return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        return SIM_SHARED_DEFAULT;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        return SIM_SHARED_MOST;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
        return 1 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
        return 64 << 10;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        return 50 << 20;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: /* kHz */
        return 1980000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        return 3201000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        return 6144;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        return 3;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
        return 512;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
        return 1;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
    case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
    case CU_DEVICE_ATTRIBUTE_TCC_DRIVER:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD:
        return 0;
    default:
        return -1;
    }
}

CUresult impl_cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice device)
{
    int value;

    if (!ret_value)
        return CUDA_ERROR_INVALID_VALUE;
    CHECK_DEVICE(device);
    value = attribute_value(attribute, device);
    if (value < 0) {
        sim_say("cuDeviceGetAttribute: attribute %d is not simulated", (int)attribute);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    *ret_value = value;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetPCIBusId(char *id, int size, CUdevice device)
{
    if (!id || size < 13)
        return CUDA_ERROR_INVALID_VALUE;
    CHECK_DEVICE(device);
    snprintf(id, (size_t)size, "0000:%02x:00.0", (unsigned)device + 1);
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetByPCIBusId(CUdevice *ret_device, const char *id)
{
    unsigned domain, bus, slot;

    if (!ret_device || !id || sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3)
        return CUDA_ERROR_INVALID_VALUE;
    if (domain != 0 || slot != 0 || bus < 1 || bus > (unsigned)sim.device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    *ret_device = (int)bus - 1;
    return CUDA_SUCCESS;
}
