/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: a kernel's attributes, and launching it. */
#include "api.h"
#include "capture.h"
#include "launch.h"
#include "module.h"

#define THREADS_PER_SM       2048
#define BLOCKS_PER_SM        32
#define SHARED_PER_SM        (228 << 10)
#define SHARED_OF_EACH_BLOCK (1 << 10) /* the system's own share */

CUresult impl_cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute,
                                 CUfunction function)
{
    CUresult r = sim_function_resolve(function, &function);

    if (r != CUDA_SUCCESS)
        return r;
    if (!ret_value)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *ret_value = SIM_THREADS_PER_BLOCK;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *ret_value = (int)ptx_kernel_shared_bytes(function->kernel);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *ret_value = 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: /* registers are ptxas' business, which never ran */
        *ret_value = 32;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *ret_value = 10 * sim.cc_major + sim.cc_minor;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *ret_value = function->max_dynamic_shared;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *ret_value = -1;
        return CUDA_SUCCESS;
    default:
        sim_say("cuFuncGetAttribute: attribute %d is not simulated", (int)attribute);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult impl_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    CUresult r = sim_function_resolve(function, &function);

    if (r != CUDA_SUCCESS)
        return r;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > SIM_SHARED_MOST - (int)ptx_kernel_shared_bytes(function->kernel))
            return CUDA_ERROR_INVALID_VALUE;
        function->max_dynamic_shared = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: /* a hint about the cache */
        return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, CUfunction function,
                                                          int threads, size_t dynamic_shared)
{
    CUresult r = sim_function_resolve(function, &function);
    size_t shared;
    int blocks;

    if (r != CUDA_SUCCESS)
        return r;
    if (!ret_blocks || threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    shared = ptx_kernel_shared_bytes(function->kernel) + SHARED_OF_EACH_BLOCK + dynamic_shared;
    blocks = threads > SIM_THREADS_PER_BLOCK ? 0 : THREADS_PER_SM / ((threads + 31) / 32 * 32);
    if (blocks > BLOCKS_PER_SM)
        blocks = BLOCKS_PER_SM;
    if ((size_t)blocks > SHARED_PER_SM / shared)
        blocks = (int)(SHARED_PER_SM / shared);
    *ret_blocks = blocks;
    return CUDA_SUCCESS;
}

static CUresult launch(const CUlaunchConfig *c, CUfunction f, void **kernel_params, void **extra)
{
    struct sim_work work;
    CUcontext context;
    CUstream stream;
    CUresult r = sim_stream_resolve(c->hStream, &stream);

    if (r == CUDA_SUCCESS)
        r = sim_launch_work(c, f, kernel_params, extra, &work, &context);
    if (r != CUDA_SUCCESS)
        return r;
    if (stream->context != context) {
        sim_work_drop(&work);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return sim_submit(stream, &work, NULL);
}

CUresult impl_cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             CUstream stream, void **kernel_params, void **extra)
{
    const CUlaunchConfig config = {.gridDimX = grid_x,
                                   .gridDimY = grid_y,
                                   .gridDimZ = grid_z,
                                   .blockDimX = block_x,
                                   .blockDimY = block_y,
                                   .blockDimZ = block_z,
                                   .sharedMemBytes = shared,
                                   .hStream = stream};

    return launch(&config, function, kernel_params, extra);
}

/* Those that change nothing here are accepted; one that would is refused by name. */
CUresult impl_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                               void **kernel_params, void **extra)
{
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];

        switch ((int)a->id) {
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            if (a->value.clusterDim.x == 1 && a->value.clusterDim.y == 1 &&
                a->value.clusterDim.z == 1)
                break;
            /* fallthrough */
        default:
            sim_say("cuLaunchKernelEx: launch attribute %d is not simulated", (int)a->id);
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return launch(config, function, kernel_params, extra);
}
