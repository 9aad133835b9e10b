/* SPDX-License-Identifier: Apache-2.0 */
/* The exported runtime functions, made from runtime_list.h, and the thread's last error. */
#include "runtime.h"

#include <stddef.h>

_Thread_local struct rt_thread rt_thread;

CUresult rt_init(void)
{
    return cuInit(0);
}

CUresult rt_context(void)
{
    CUcontext context;
    unsigned version;
    CUresult r = rt_init();

    if (r != CUDA_SUCCESS)
        return r;
    r = cuCtxGetCurrent(&context);
    /* After a cudaDeviceReset the current one is dead, and the next use makes a new one. */
    if (r != CUDA_SUCCESS || (context && cuCtxGetApiVersion(context, &version) == CUDA_SUCCESS))
        return r;
    r = cuDevicePrimaryCtxRetain(&context, rt_thread.device);
    return r == CUDA_SUCCESS ? cuCtxSetCurrent(context) : r;
}

CUstream rt_stream(cudaStream_t stream)
{
    return !stream && rt_thread.per_thread_default ? CU_STREAM_PER_THREAD : stream;
}

enum needs { FREE, INIT, CTX };

static CUresult enter(enum needs needs, bool per_thread_default)
{
    rt_thread.per_thread_default = per_thread_default;
    return needs == CTX ? rt_context() : needs == INIT ? rt_init() : CUDA_SUCCESS;
}

static cudaError_t leave(CUresult r)
{
    if (r != CUDA_SUCCESS)
        rt_thread.last = (cudaError_t)r;
    return (cudaError_t)r;
}

#define EXPORT(name, needs, per_thread_default, impl, parameters, arguments)                       \
    cudaError_t CUDARTAPI name parameters;                                                         \
    __attribute__((visibility("default"))) cudaError_t CUDARTAPI name parameters                   \
    {                                                                                              \
        CUresult r = enter(needs, per_thread_default);                                             \
                                                                                                   \
        return leave(r == CUDA_SUCCESS ? impl arguments : r);                                      \
    }

#define TWIN_NONE(name, needs, impl, parameters, arguments)
#define TWIN_PTSZ(name, needs, impl, parameters, arguments)                                        \
    EXPORT(name##_ptsz, needs, true, impl, parameters, arguments)
#define TWIN_PTDS(name, needs, impl, parameters, arguments)                                        \
    EXPORT(name##_ptds, needs, true, impl, parameters, arguments)

#define API(name, needs, twin, parameters, arguments)                                              \
    EXPORT(name, needs, false, rt_##name, parameters, arguments)                                   \
    TWIN_##twin(name, needs, rt_##name, parameters, arguments)
#include "runtime_list.h"
#undef API

/* Reading the error clears it, but a context in a sticky error gives it back at once. */
__attribute__((visibility("default"))) cudaError_t CUDARTAPI cudaGetLastError(void)
{
    const cudaError_t last = cudaPeekAtLastError();

    rt_thread.last = cudaSuccess;
    return last;
}

__attribute__((visibility("default"))) cudaError_t CUDARTAPI cudaPeekAtLastError(void)
{
    unsigned flags;
    CUresult r;

    if (rt_thread.last != cudaSuccess)
        return rt_thread.last;
    r = cuCtxGetFlags(&flags);
    if (r == CUDA_ERROR_NOT_INITIALIZED || r == CUDA_ERROR_INVALID_CONTEXT ||
        r == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return cudaSuccess;
    return (cudaError_t)r;
}

static bool error_names(cudaError_t error, const char **ret_name, const char **ret_text)
{
    switch ((int)error) {
#define ERROR(value, driver, runtime, text)                                                        \
    case value:                                                                                    \
        *ret_name = #runtime;                                                                      \
        *ret_text = text;                                                                          \
        break;
#include "error_list.h"
#undef ERROR
    default:
        return false;
    }
    return **ret_name == 'c';
}

__attribute__((visibility("default"))) const char *CUDARTAPI cudaGetErrorName(cudaError_t error)
{
    const char *name, *text;

    return error_names(error, &name, &text) ? name : "unrecognized error code";
}

__attribute__((visibility("default"))) const char *CUDARTAPI cudaGetErrorString(cudaError_t error)
{
    const char *name, *text;

    return error_names(error, &name, &text) ? text : "unrecognized error code";
}
