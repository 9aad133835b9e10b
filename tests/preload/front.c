/* SPDX-License-Identifier: Apache-2.0 */
/* Another wrapper of the same functions, preloaded in front of the hooks: passes every call on to
 * the next definition, as such wrappers do. */
#include <dlfcn.h>

#include "interpose/hooks.h"

/* Counting the answers keeps the calls from being tail calls, which would come from our caller. */
static _Thread_local unsigned answers;

#define HOOK(name, family, index)                                                                  \
    __attribute__((visibility("default"))) cublasStatus_t name(MHCS_PARAMS(family, index))         \
    {                                                                                              \
        mhcs_type_##name *const next = (mhcs_type_##name *)dlsym(RTLD_NEXT, #name);                \
                                                                                                   \
        const cublasStatus_t status =                                                              \
            next ? next(MHCS_ARGS(family)) : CUBLAS_STATUS_INTERNAL_ERROR;                         \
                                                                                                   \
        answers++;                                                                                 \
        return status;                                                                             \
    }
MHCS_HOOKS(HOOK)
#undef HOOK
