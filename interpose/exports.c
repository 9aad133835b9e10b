/* SPDX-License-Identifier: Apache-2.0 */
/* The exported symbols, generated from hooks.h. No decisions here: real.h finds the real function,
 * filter.h says which calls go on to the gate. */
#include <stddef.h>

#include "interpose/filter.h"
#include "interpose/gate.h"
#include "interpose/hooks.h"
#include "interpose/real.h"
#include "shadow/shadow.h"

#define EXPORT __attribute__((visibility("default")))

/* The second half is a function of its own, so that calls which are no mixing GEMM don't pay for
 * its frame. */
#define HOOK(name, family, index)                                                                  \
    static __attribute__((noinline))                                                               \
    cublasStatus_t gated_##name(struct mhcs_target target, MHCS_PARAMS_##family(index))            \
    {                                                                                              \
        mhcs_type_##name *const real = (mhcs_type_##name *)target.function;                        \
        const struct mhcs_call call = MHCS_CALL_##family;                                          \
        struct mhcs_pass pass;                                                                     \
        cublasStatus_t status;                                                                     \
                                                                                                   \
        mhcs_gate_before(&pass, target.library, &call);                                            \
        status = real(MHCS_ARGS_##family);                                                         \
        mhcs_gate_after(&pass, status);                                                            \
        return status;                                                                             \
    }                                                                                              \
                                                                                                   \
    EXPORT cublasStatus_t name(MHCS_PARAMS_##family(index))                                        \
    {                                                                                              \
        const struct mhcs_target target =                                                          \
            mhcs_real(MHCS_HOOK_##name, __builtin_return_address(0));                              \
        mhcs_type_##name *const real = (mhcs_type_##name *)target.function;                        \
                                                                                                   \
        mhcs_count(MHCS_SEEN);                                                                     \
        return mhcs_filter_candidate(m, n, k) ? gated_##name(target, MHCS_ARGS_##family)           \
                                              : real(MHCS_ARGS_##family);                          \
    }
MHCS_HOOKS(HOOK)
#undef HOOK
