/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: contexts and the thread's stack of them. */
#include "api.h"
#include "capture.h"

#include <stdlib.h>

static struct sim_device *device_at(CUdevice device)
{
    return device >= 0 && device < sim.device_count ? &sim.devices[device] : NULL;
}

CUresult impl_cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice device)
{
    struct sim_device *d = device_at(device);
    CUresult r;

    if (!d)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!ret_context)
        return CUDA_ERROR_INVALID_VALUE;
    if (!d->primary.alive) {
        d->primary.primary = true;
        r = sim_context_open(&d->primary, device, d->primary.flags);
        if (r != CUDA_SUCCESS)
            return r;
    }
    d->primary.retained++;
    *ret_context = &d->primary;
    return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    struct sim_device *d = device_at(device);

    if (!d)
        return CUDA_ERROR_INVALID_DEVICE;
    if (d->primary.retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--d->primary.retained == 0)
        sim_context_close(&d->primary);
    return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxRelease(CUdevice device)
{
    return impl_cuDevicePrimaryCtxRelease_v2(device);
}

/* Whoever retained it keeps the handle, and finds the context destroyed until the next retain. */
CUresult impl_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    struct sim_device *d = device_at(device);

    if (!d)
        return CUDA_ERROR_INVALID_DEVICE;
    if (d->primary.alive)
        sim_context_close(&d->primary);
    d->primary.retained = 0;
    return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxReset(CUdevice device)
{
    return impl_cuDevicePrimaryCtxReset_v2(device);
}

CUresult impl_cuDevicePrimaryCtxGetState(CUdevice device, unsigned *ret_flags, int *ret_active)
{
    const struct sim_device *d = device_at(device);

    if (!d)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!ret_flags || !ret_active)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = d->primary.flags;
    *ret_active = d->primary.alive;
    return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    struct sim_device *d = device_at(device);

    if (!d)
        return CUDA_ERROR_INVALID_DEVICE;
    d->primary.flags = flags;
    return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
    return impl_cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

/* A destroyed context's memory is never reused: other threads may still have it as current one and
 * must find out. */
CUresult impl_cuCtxCreate_v2(CUcontext *ret_context, unsigned flags, CUdevice device)
{
    CUcontext context;
    CUresult r;

    if (!device_at(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!ret_context)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_thread.depth == SIM_STACK_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    context = calloc(1, sizeof(*context));
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = sim_context_open(context, device, flags);
    if (r != CUDA_SUCCESS) {
        free(context);
        return r;
    }
    context->older = sim.contexts;
    sim.contexts = context;
    sim_thread.stack[sim_thread.depth++] = context;
    *ret_context = context;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxCreate_v3(CUcontext *ret_context, CUexecAffinityParam *affinity, int affinities,
                             unsigned flags, CUdevice device)
{
    if (affinity || affinities)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return impl_cuCtxCreate_v2(ret_context, flags, device);
}

CUresult impl_cuCtxCreate_v4(CUcontext *ret_context, CUctxCreateParams *params, unsigned flags,
                             CUdevice device)
{
    if (params)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return impl_cuCtxCreate_v2(ret_context, flags, device);
}

CUresult impl_cuCtxDestroy_v2(CUcontext context)
{
    if (!sim_handle_is(SIM_CONTEXT, context) || context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_context_close(context);
    if (sim_context_current() == context)
        sim_thread.depth--;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetCurrent(CUcontext context)
{
    if (context && !sim_handle_is(SIM_CONTEXT, context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_thread.depth > 0)
        sim_thread.depth--;
    if (context)
        sim_thread.stack[sim_thread.depth++] = context;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetCurrent(CUcontext *ret_context)
{
    if (!ret_context)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_context = sim_context_current();
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxPushCurrent_v2(CUcontext context)
{
    if (!sim_handle_is(SIM_CONTEXT, context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_thread.depth == SIM_STACK_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_thread.stack[sim_thread.depth++] = context;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxPopCurrent_v2(CUcontext *ret_context)
{
    if (sim_thread.depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_thread.depth--;
    if (ret_context)
        *ret_context = sim_thread.stack[sim_thread.depth];
    return CUDA_SUCCESS;
}

/* NULL is the current one. */
static CUcontext context_or_current(CUcontext context)
{
    if (!context)
        context = sim_context_current();
    return sim_handle_is(SIM_CONTEXT, context) ? context : NULL;
}

CUresult impl_cuCtxGetDevice_v2(CUdevice *ret_device, CUcontext context)
{
    context = context_or_current(context);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!ret_device)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_device = context->device;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetDevice(CUdevice *ret_device)
{
    return impl_cuCtxGetDevice_v2(ret_device, NULL);
}

CUresult impl_cuCtxGetApiVersion(CUcontext context, unsigned *ret_version)
{
    context = context_or_current(context);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!ret_version)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_version = context->api_version;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetId(CUcontext context, unsigned long long *ret_id)
{
    context = context_or_current(context);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!ret_id)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_id = context->id;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetFlags(unsigned *ret_flags)
{
    if (!ret_flags)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = sim_context_current()->flags;
    return CUDA_SUCCESS;
}

static CUresult synchronize(CUcontext context)
{
    const CUresult r = sim_capture_permits_context_wait("cuCtxSynchronize", context);

    if (r != CUDA_SUCCESS)
        return r;
    sim_context_wait(context);
    return context->error;
}

CUresult impl_cuCtxSynchronize(void)
{
    return synchronize(sim_context_current());
}

CUresult impl_cuCtxSynchronize_v2(CUcontext context)
{
    context = context_or_current(context);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return synchronize(context);
}

/* A smaller number is a higher priority; the driver clamps to this range, as cuStreamCreate does.
 */
CUresult impl_cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
    if (ret_least)
        *ret_least = SIM_PRIORITY_LEAST;
    if (ret_greatest)
        *ret_greatest = SIM_PRIORITY_GREATEST;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetLimit(CUlimit limit, size_t value)
{
    if (limit < 0 || limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    sim_context_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetLimit(size_t *ret_value, CUlimit limit)
{
    if (limit < 0 || limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (!ret_value)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_value = sim_context_current()->limits[limit];
    return CUDA_SUCCESS;
}
