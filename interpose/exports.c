/* SPDX-License-Identifier: Apache-2.0 */
/* The exported symbols, generated from hooks.h. No decisions here: real.h finds the real function,
 * filter.h says which calls go through the gate.
 *
 * Where thunks.S has the exported names, it sends on to here what needs more than a glance.
 */
#include <stddef.h>

#include "interpose/filter.h"
#include "interpose/gate.h"
#include "interpose/real.h"
#include "interpose/thunks.h"
#include "shadow/counters.h"

#if MHCS_THUNKS
#define EXPORT
#define EXPORT_NAME(name) mhcs_hooked_##name

_Static_assert(MHCS_THUNK_OUTER == MHCS_COEFFICIENTS &&
                   MHCS_THUNK_OUTER_HEAD == MHCS_COEFFICIENTS_HEAD,
               "thunks.h differs from kernels.h");
_Static_assert(sizeof(struct mhcs_call_site) == 1 << MHCS_CALL_SITE_BYTES_LOG2 &&
                   offsetof(struct mhcs_call_site, caller) == MHCS_CALL_SITE_CALLER &&
                   offsetof(struct mhcs_call_site, target.function) == MHCS_CALL_SITE_FUNCTION,
               "thunks.h differs from real.h");
_Static_assert(offsetof(struct mhcs_tally, counts[MHCS_SEEN]) == MHCS_TALLY_SEEN,
               "thunks.h differs from counters.h");
#else
#define EXPORT            __attribute__((visibility("default")))
#define EXPORT_NAME(name) name
#endif

/* The call as a struct is built out of line: most mixing GEMMs are not due. */
#define BEHIND static __attribute__((noinline, cold))
#define DESCRIBE(name, family, index, type, take)                                                  \
    BEHIND void describe_##name(struct mhcs_library *library, MHCS_PARAMS(family, index))          \
    {                                                                                              \
        const struct type call = MHCS_CALL_##family;                                               \
                                                                                                   \
        take(library, &call);                                                                      \
    }
#define DESCRIBE_ONE(name, family, index) DESCRIBE(name, family, index, mhcs_call, mhcs_gate_take)
#define DESCRIBE_BATCH(name, family, index)                                                        \
    DESCRIBE(name, family, index, mhcs_call, mhcs_gate_batch)
#define DESCRIBE_GROUPS(name, family, index)                                                       \
    DESCRIBE(name, family, index, mhcs_groups, mhcs_gate_groups)
#define DESCRIBE_LT(name, family, index) DESCRIBE(name, family, index, mhcs_lt, mhcs_gate_lt)

/* Groups and descriptors are looked into behind the gate. */
#define LOOK_CLOSER_ONE    mhcs_filter_candidate(m, n, k) && mhcs_gate_draw(m, n, k, A, B)
#define LOOK_CLOSER_BATCH  mhcs_filter_candidate(m, n, k)
#define LOOK_CLOSER_GROUPS true
#define LOOK_CLOSER_LT     true

#define OF(what, kind)      OF_KIND(what, kind)
#define OF_KIND(what, kind) what##_##kind

/* Keeps the compiler from making a tail call of a path that has nothing left to do: it would have
 * all arguments copied away and back, on every path. */
#define NO_TAIL_CALL(status) __asm__ volatile("" : "+r"(status))

#define HOOK(name, family, index)                                                                  \
    OF(DESCRIBE, MHCS_KIND_##family)                                                               \
    (name, family, index)                                                                          \
                                                                                                   \
        EXPORT mhcs_type_##name EXPORT_NAME(name);                                                 \
    EXPORT cublasStatus_t EXPORT_NAME(name)(MHCS_PARAMS(family, index))                            \
    {                                                                                              \
        const struct mhcs_target target =                                                          \
            mhcs_real(MHCS_HOOK_##name, __builtin_return_address(0));                              \
        const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);                             \
        const bool outermost = !target.internal && mhcs_gate_enter(frame);                         \
        cublasStatus_t status;                                                                     \
                                                                                                   \
        if (outermost && OF(LOOK_CLOSER, MHCS_KIND_##family)) {                                    \
            describe_##name(target.library, MHCS_ARGS(family));                                    \
        }                                                                                          \
        status = ((mhcs_type_##name *)target.function)(MHCS_ARGS(family));                         \
        NO_TAIL_CALL(status);                                                                      \
        if (outermost) {                                                                           \
            mhcs_gate_leave(status);                                                               \
        }                                                                                          \
        return status;                                                                             \
    }
MHCS_HOOKS(HOOK)
#undef HOOK
