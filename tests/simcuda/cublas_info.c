/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated cuBLAS says about itself. The sources build two libraries: SIM_CUBLAS_MAJOR 13
 * says 13.1.0, 12 says 12.9.1. None of this needs a GPU.
 */
#include "cublas_handle.h"

#if SIM_CUBLAS_MAJOR == 13
#define MINOR 1
#define PATCH 0
#elif SIM_CUBLAS_MAJOR == 12
#define MINOR 9
#define PATCH 1
#endif

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    if (version == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *version = SIM_CUBLAS_MAJOR * 10000 + MINOR * 100 + PATCH;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    if (value == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    switch (type) {
    case MAJOR_VERSION:
        *value = SIM_CUBLAS_MAJOR;
        return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
        *value = MINOR;
        return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
        *value = PATCH;
        return CUBLAS_STATUS_SUCCESS;
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

size_t cublasGetCudartVersion(void)
{
    return SIM_CUBLAS_MAJOR == 13 ? 13000 : 12090;
}

#define STATUSES(X)                                                                                \
    X(SUCCESS, "success")                                                                          \
    X(NOT_INITIALIZED, "the library was not initialized")                                          \
    X(ALLOC_FAILED, "the resource allocation failed")                                              \
    X(INVALID_VALUE, "an unsupported value or parameter was passed to the function")               \
    X(ARCH_MISMATCH, "the function requires an architectural feature absent from the device")      \
    X(MAPPING_ERROR, "an access to GPU memory space failed")                                       \
    X(EXECUTION_FAILED, "the function failed to launch on the GPU")                                \
    X(INTERNAL_ERROR, "an internal operation failed")                                              \
    X(NOT_SUPPORTED, "the requested functionality is not supported")                               \
    X(LICENSE_ERROR, "the license check failed")

const char *cublasGetStatusName(cublasStatus_t status)
{
    switch (status) {
#define CASE(name, text)                                                                           \
    case CUBLAS_STATUS_##name:                                                                     \
        return "CUBLAS_STATUS_" #name;
        STATUSES(CASE)
#undef CASE
    }
    return "unrecognized status";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
#define CASE(name, text)                                                                           \
    case CUBLAS_STATUS_##name:                                                                     \
        return text;
        STATUSES(CASE)
#undef CASE
    }
    return "unrecognized status";
}
