/* SPDX-License-Identifier: Apache-2.0 */
/* See fakecublas.h. Built once per major, MAJOR, each with the version node of the real one. */
#include "fakecublas.h"

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static cublasStatus_t answer(cublasHandle_t handle, const char *function, const uint64_t *words,
                             size_t bytes)
{
    struct fake_handle *const fake = (struct fake_handle *)handle;

    fake->calls++;
    fake->major = MAJOR;
    fake->function = function;
    fake->errno_at_entry = errno;
    memset(fake->words, 0, sizeof(fake->words));
    memcpy(fake->words, words, bytes);
    if (fake->within) {
        fake->within(fake->arg);
    }
    if (fake->set_errno) {
        errno = fake->set_errno;
    }
    return fake->answer;
}

#define HOOK(name, family, index)                                                                  \
    EXPORT cublasStatus_t name(MHCS_PARAMS_##family(index))                                        \
    {                                                                                              \
        const uint64_t words[] = {FAKE_WORDS_##family};                                            \
                                                                                                   \
        return answer(handle, #name, words, sizeof(words));                                        \
    }
MHCS_HOOKS(HOOK)
#undef HOOK

EXPORT cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
    const struct fake_handle *const fake = (struct fake_handle *)handle;

    errno = ENOTTY; /* a caller that is not ours would see it */
    *stream = fake->stream;
    return fake->getter_answer;
}

EXPORT cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    *mode = ((struct fake_handle *)handle)->pointer_mode;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    *mode = ((struct fake_handle *)handle)->math_mode;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    /* The real one answers SUCCESS for a handle that is none, and leaves *version alone. */
    if (((struct fake_handle *)handle)->getter_answer == CUBLAS_STATUS_SUCCESS) {
        *version = MAJOR * 10000 + 100;
    }
    return CUBLAS_STATUS_SUCCESS;
}
