/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: a kernel's attributes, and launching it. */
#include "api.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_PER_BLOCK    1024
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
        *ret_value = THREADS_PER_BLOCK;
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
    blocks = threads > THREADS_PER_BLOCK ? 0 : THREADS_PER_SM / ((threads + 31) / 32 * 32);
    if (blocks > BLOCKS_PER_SM)
        blocks = BLOCKS_PER_SM;
    if ((size_t)blocks > SHARED_PER_SM / shared)
        blocks = (int)(SHARED_PER_SM / shared);
    *ret_blocks = blocks;
    return CUDA_SUCCESS;
}

struct launch {
    struct ptx_launch run;
    struct sim_code *code;
    unsigned char params[];
};

static int run_launch(void *arg, struct sim_memory *memory, const struct sim_op *op,
                      struct sim_fault *fault)
{
    struct launch *l = arg;

    l->run.memory = memory;
    l->run.op = op;
    return ptx_run(&l->run, fault);
}

static void drop_launch(void *arg)
{
    struct launch *l = arg;

    sim_code_unref(l->code);
    free(l);
}

/* The `extra` form: one buffer laid out as the kernel has its parameters. */
static CUresult copy_buffer(unsigned char *params, size_t bytes, void **extra)
{
    const void *buffer = NULL;
    size_t size = 0;

    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!buffer || size < bytes)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(params, buffer, bytes);
    return CUDA_SUCCESS;
}

static CUresult copy_params(unsigned char *params, const struct ptx_kernel *kernel,
                            void **kernel_params, void **extra)
{
    const uint32_t count = ptx_kernel_param_count(kernel);

    if (kernel_params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra)
        return copy_buffer(params, ptx_kernel_param_bytes(kernel), extra);
    if (count > 0 && !kernel_params)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t offset, size;

        ptx_kernel_param(kernel, i, &offset, &size);
        if (!kernel_params[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(params + offset, kernel_params[i], size);
    }
    return CUDA_SUCCESS;
}

static bool shape_is_valid(const CUlaunchConfig *c, CUfunction f)
{
    return c->gridDimX > 0 && c->gridDimY > 0 && c->gridDimZ > 0 && c->blockDimX > 0 &&
           c->blockDimY > 0 && c->blockDimZ > 0 && c->gridDimX <= INT32_MAX &&
           c->gridDimY <= 65535 && c->gridDimZ <= 65535 && c->blockDimX <= THREADS_PER_BLOCK &&
           c->blockDimY <= THREADS_PER_BLOCK && c->blockDimZ <= 64 &&
           c->blockDimX * c->blockDimY * c->blockDimZ <= THREADS_PER_BLOCK &&
           c->sharedMemBytes <= (unsigned)(f->max_dynamic_shared > 0 ? f->max_dynamic_shared : 0);
}

static CUresult launch(const CUlaunchConfig *c, CUfunction f, void **kernel_params, void **extra)
{
    struct sim_work work = {.body = run_launch, .drop = drop_launch};
    struct launch *l;
    CUstream stream;
    CUresult r = sim_function_resolve(f, &f);

    if (r == CUDA_SUCCESS)
        r = sim_stream_resolve(c->hStream, &stream);
    if (r != CUDA_SUCCESS)
        return r;
    if (stream->context != f->module->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!shape_is_valid(c, f))
        return CUDA_ERROR_INVALID_VALUE;
    l = calloc(1, sizeof(*l) + ptx_kernel_param_bytes(f->kernel));
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = copy_params(l->params, f->kernel, kernel_params, extra);
    if (r != CUDA_SUCCESS) {
        free(l);
        return r;
    }
    l->code = f->module->code;
    l->code->refs++;
    l->run = (struct ptx_launch){.kernel = f->kernel,
                                 .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                                 .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                                 .dynamic_shared_bytes = c->sharedMemBytes,
                                 .params = l->params};
    work.what = f->what;
    work.arg = l;
    return sim_enqueue(stream, &work, NULL);
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
