/* SPDX-License-Identifier: Apache-2.0 */
/* See fakecublas.h. Built once per major, MAJOR, each with the version node of the real one. */
#include "fakecublas.h"
#include "fakeanswer.h"

#define DEFINE_ONE                FAKE_DEFINE
#define DEFINE_BATCH              FAKE_DEFINE
#define DEFINE_GROUPS             FAKE_DEFINE
#define DEFINE_LT                 FAKE_OMIT
#define HOOK(name, family, index) FAKE_OF(DEFINE_, MHCS_KIND_##family)(name, family, index)
MHCS_HOOKS(HOOK)
#undef HOOK

FAKE_EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    return CUBLAS_STATUS_NOT_INITIALIZED; /* handles are the callers' own */
}

FAKE_EXPORT cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
    const struct fake_handle *const fake = (struct fake_handle *)handle;

    errno = ENOTTY; /* a caller that is not ours would see it */
    *stream = fake->stream;
    return fake->getter_answer;
}

FAKE_EXPORT cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    *mode = ((struct fake_handle *)handle)->pointer_mode;
    return CUBLAS_STATUS_SUCCESS;
}

FAKE_EXPORT cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    *mode = ((struct fake_handle *)handle)->math_mode;
    return CUBLAS_STATUS_SUCCESS;
}

FAKE_EXPORT cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    /* The real one answers SUCCESS for a handle that is none, and leaves *version alone. */
    if (((struct fake_handle *)handle)->getter_answer == CUBLAS_STATUS_SUCCESS) {
        *version = MAJOR * 10000 + 100;
    }
    return CUBLAS_STATUS_SUCCESS;
}

FAKE_EXPORT cublasStatus_t fakecublas_calls_lt(const uint64_t words[FAKE_WORDS])
{
    return fake_call_cublasLtMatmul(cublasLtMatmul, words);
}
