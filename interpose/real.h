/* SPDX-License-Identifier: Apache-2.0 */
/* The real function behind a hooked one, per caller: two plugins that brought two cuBLAS majors
 * along must each reach their own. Any thread may call; a known call site costs one load and one
 * compare.
 */
#ifndef MHCS_REAL_H
#define MHCS_REAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/graph_hooks.h"
#include "interpose/hooks.h"
#include "interpose/library.h"
#include "interpose/thunks.h"

struct mhcs_target {
    void *function; /* never NULL: a stub answers "not initialised" if all else fails */
    struct mhcs_library *library; /* NULL: unknown; the call can't be sampled */
    bool internal;                /* cuBLAS calls itself: a part of a GEMM that was seen already */
};

/* One call site of a hooked function, keyed by return address. `caller` goes from NULL to a claim
 * to the key, each once; the store of the key (release) publishes `target`, which is constant from
 * then on. Readers compare the key (acquire). */
struct mhcs_call_site {
    _Atomic(const void *) caller;
    struct mhcs_target target;
};

#define MHCS_CALL_SITES (1u << MHCS_CALL_SITE_BITS)

/* The hooked functions by number: those of hooks.h (enum mhcs_hook), then those of graph_hooks.h.
 */
#define MHCS_FUNCTIONS (MHCS_HOOK_COUNT + MHCS_GRAPH_HOOK_COUNT)

extern struct mhcs_call_site mhcs_call_sites[MHCS_FUNCTIONS][MHCS_CALL_SITES];

static inline size_t mhcs_call_site_home(const void *caller)
{
    const uint64_t spread = (uint64_t)(uintptr_t)caller * MHCS_CALL_SITE_SPREAD;

    return (size_t)(spread >> (64 - MHCS_CALL_SITE_BITS));
}

/* What mhcs_real() does away from a call site's home slot; keeps errno. */
struct mhcs_target mhcs_real_find(unsigned function, const void *caller);

static inline struct mhcs_target mhcs_real(unsigned function, const void *caller)
{
    const struct mhcs_call_site *const site =
        &mhcs_call_sites[function][mhcs_call_site_home(caller)];

    if (__builtin_expect(atomic_load_explicit(&site->caller, memory_order_acquire) == caller, 1)) {
        return site->target;
    }
    return mhcs_real_find(function, caller);
}

static inline struct mhcs_target mhcs_real_graph(enum mhcs_graph_hook hook, const void *caller)
{
    return mhcs_real((unsigned)MHCS_HOOK_COUNT + (unsigned)hook, caller);
}

#endif
