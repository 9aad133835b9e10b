/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of the simulated cuBLAS and their settings. Arguments are checked in the order that
 * NVIDIA's library shows without a GPU: the handle first, but for cublasGetPointerMode.
 */
#include "cublas_handle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE_ALIGNMENT 256

/* The calling thread's context, else the primary one of device 0, as the CUDA runtime does. */
static CUresult find_context(CUcontext *ret_context, CUdevice *ret_device)
{
    CUresult result = cuInit(0);

    if (result == CUDA_SUCCESS)
        result = cuCtxGetCurrent(ret_context);
    if (result == CUDA_SUCCESS && *ret_context == NULL) {
        result = cuDevicePrimaryCtxRetain(ret_context, 0);
        if (result == CUDA_SUCCESS)
            result = cuCtxSetCurrent(*ret_context);
    }
    return result == CUDA_SUCCESS ? cuCtxGetDevice(ret_device) : result;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    const char *tf32 = getenv("NVIDIA_TF32_OVERRIDE");
    struct cublasContext created = {.tf32_forbidden = tf32 != NULL && strcmp(tf32, "0") == 0};
    CUdevice device;

    if (handle == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (find_context(&created.context, &device) != CUDA_SUCCESS ||
        cuDeviceGetAttribute(&created.sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) !=
            CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = malloc(sizeof created);
    if (*handle == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    **handle = created;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    /* NVIDIA's frees device memory here, which waits for the device. */
    cuCtxSynchronize();
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (stream == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    if (mode == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *mode = handle->pointer_mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    switch ((unsigned)mode & ~(unsigned)CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) {
    case CUBLAS_DEFAULT_MATH:
    case CUBLAS_TENSOR_OP_MATH:
    case CUBLAS_PEDANTIC_MATH:
    case CUBLAS_TF32_TENSOR_OP_MATH:
        handle->math_mode = mode;
        return CUBLAS_STATUS_SUCCESS;
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->math_mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode != CUBLAS_ATOMICS_NOT_ALLOWED && mode != CUBLAS_ATOMICS_ALLOWED)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->atomics_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t *mode)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->atomics_mode;
    return CUBLAS_STATUS_SUCCESS;
}

/* Only checked: the simulated GEMM needs no workspace. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if ((uintptr_t)workspace % WORKSPACE_ALIGNMENT != 0 || (workspace == NULL && bytes > 0))
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int target)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (target < 0 || target > handle->sm_count)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->sm_target = target;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int *target)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (target == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *target = handle->sm_target;
    return CUBLAS_STATUS_SUCCESS;
}
