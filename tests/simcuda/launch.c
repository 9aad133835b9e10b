/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel with its shape and a copy of its parameters, and a host function, as work. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

#include "module.h"

struct launch {
    struct ptx_launch run;
    struct sim_code *code;
    CUfunction function;
    void **pointers; /* to each parameter: what a node's parameters are asked for with */
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
    free(l->pointers);
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
           c->gridDimY <= 65535 && c->gridDimZ <= 65535 && c->blockDimX <= SIM_THREADS_PER_BLOCK &&
           c->blockDimY <= SIM_THREADS_PER_BLOCK && c->blockDimZ <= 64 &&
           c->blockDimX * c->blockDimY * c->blockDimZ <= SIM_THREADS_PER_BLOCK &&
           c->sharedMemBytes <= (unsigned)(f->max_dynamic_shared > 0 ? f->max_dynamic_shared : 0);
}

static void point_at_params(struct launch *l)
{
    const uint32_t count = ptx_kernel_param_count(l->run.kernel);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t offset, size;

        ptx_kernel_param(l->run.kernel, i, &offset, &size);
        l->pointers[i] = l->params + offset;
    }
}

CUresult sim_launch_work(const CUlaunchConfig *c, CUfunction f, void **kernel_params, void **extra,
                         struct sim_work *ret_work, CUcontext *ret_context)
{
    struct launch *l;
    CUresult r = sim_function_resolve(f, &f);

    if (r != CUDA_SUCCESS)
        return r;
    if (!shape_is_valid(c, f))
        return CUDA_ERROR_INVALID_VALUE;
    l = calloc(1, sizeof(*l) + ptx_kernel_param_bytes(f->kernel));
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = copy_params(l->params, f->kernel, kernel_params, extra);
    if (r == CUDA_SUCCESS) {
        l->pointers = calloc(ptx_kernel_param_count(f->kernel) + 1u, sizeof(l->pointers[0]));
        r = l->pointers ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (r != CUDA_SUCCESS) {
        free(l);
        return r;
    }
    l->code = f->module->code;
    l->code->refs++;
    l->function = f;
    l->run = (struct ptx_launch){.kernel = f->kernel,
                                 .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                                 .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                                 .dynamic_shared_bytes = c->sharedMemBytes,
                                 .params = l->params};
    point_at_params(l);
    *ret_work = (struct sim_work){.what = f->what,
                                  .body = run_launch,
                                  .arg = l,
                                  .drop = drop_launch,
                                  .type = CU_GRAPH_NODE_TYPE_KERNEL};
    *ret_context = f->module->context;
    return CUDA_SUCCESS;
}

bool sim_launch_params(const struct sim_work *work, CUDA_KERNEL_NODE_PARAMS *ret_params)
{
    const struct launch *l = work->arg;

    if (work->body != run_launch)
        return false;
    *ret_params = (CUDA_KERNEL_NODE_PARAMS){.func = l->function,
                                            .gridDimX = l->run.grid[0],
                                            .gridDimY = l->run.grid[1],
                                            .gridDimZ = l->run.grid[2],
                                            .blockDimX = l->run.block[0],
                                            .blockDimY = l->run.block[1],
                                            .blockDimZ = l->run.block[2],
                                            .sharedMemBytes = l->run.dynamic_shared_bytes,
                                            .kernelParams = l->pointers};
    return true;
}

struct host_function {
    CUhostFn function;
    void *data;
};

static int call_host_function(void *arg, struct sim_memory *memory, const struct sim_op *op,
                              struct sim_fault *fault)
{
    const struct host_function *h = arg;

    h->function(h->data);
    return 0;
}

CUresult sim_host_function_work(CUhostFn function, void *data, struct sim_work *ret_work)
{
    struct host_function *h = malloc(sizeof(*h));

    if (!h)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *h = (struct host_function){.function = function, .data = data};
    *ret_work = (struct sim_work){.what = "cuLaunchHostFunc",
                                  .body = call_host_function,
                                  .arg = h,
                                  .type = CU_GRAPH_NODE_TYPE_HOST,
                                  .host_function = true};
    return CUDA_SUCCESS;
}
