/* SPDX-License-Identifier: Apache-2.0 */
/* A cuBLAS of which one function fails: the one that $MHCSHADOW_TEST_BROKEN names. The others
 * answer SUCCESS and do nothing. */
#include <stdlib.h>
#include <string.h>

#include "shadow/cublas_functions.h"

static cublasStatus_t answer(const char *name)
{
    const char *const broken = getenv("MHCSHADOW_TEST_BROKEN");

    return broken && strcmp(broken, name) == 0 ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* Arguments are left where the caller put them: who is called need not take them. */
#define BROKEN(name)                                                                               \
    __attribute__((visibility("default"))) cublasStatus_t broken_##name(void) __asm__(#name);      \
    cublasStatus_t broken_##name(void)                                                             \
    {                                                                                              \
        return answer(#name);                                                                      \
    }
MHCS_CUBLAS_ENTRIES(BROKEN)
