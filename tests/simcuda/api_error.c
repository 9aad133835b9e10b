/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: versions, error names, start. */
#include "api.h"

CUresult impl_cuInit(unsigned flags)
{
    CUresult r;

    if (sim_forked())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    r = sim_start();
    pthread_mutex_unlock(&sim.lock);
    return r;
}

CUresult impl_cuDriverGetVersion(int *ret_version)
{
    if (!ret_version)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_version = sim_driver_version();
    return CUDA_SUCCESS;
}

static bool error_names(CUresult error, const char **ret_name, const char **ret_text)
{
    switch ((int)error) {
#define ERROR(value, driver, runtime, text)                                                        \
    case value:                                                                                    \
        *ret_name = #driver;                                                                       \
        *ret_text = text;                                                                          \
        break;
#include "error_list.h"
#undef ERROR
    default:
        return false;
    }
    return **ret_name == 'C';
}

CUresult impl_cuGetErrorName(CUresult error, const char **ret_name)
{
    const char *text;

    if (ret_name && error_names(error, ret_name, &text))
        return CUDA_SUCCESS;
    if (ret_name)
        *ret_name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGetErrorString(CUresult error, const char **ret_text)
{
    const char *name;

    if (ret_text && error_names(error, &name, ret_text))
        return CUDA_SUCCESS;
    if (ret_text)
        *ret_text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}
