/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of any hooked function by name, and as words for caller.c. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <string.h>

#include "fakecublas.h"

static const char *const hook_names[] = {
#define HOOK(name, family, index) #name,
    MHCS_HOOKS(HOOK)
#undef HOOK
};

/* A parameter of each name that occurs in families.h. */
struct arguments {
    uint64_t handle, transa, transb, m, n, k, alpha, beta;
    uint64_t A, a_type, lda, stride_a, B, b_type, ldb, stride_b, C, c_type, ldc, stride_c;
    uint64_t count, compute, algo, group_count, group_size;
    uint64_t operation, a_layout, b_layout, c_layout, D, d_layout, workspace, workspace_bytes,
        stream;
};

#define ARGUMENTS_WORD(type, name) x->name

static inline void arguments_to_words(enum mhcs_hook hook, const struct arguments *x,
                                      uint64_t words[FAKE_WORDS])
{
    memset(words, 0, FAKE_WORDS * sizeof(*words));
    switch (hook) {
#define HOOK(name, family, index)                                                                  \
    case MHCS_HOOK_##name: {                                                                       \
        const uint64_t w[] = {MHCS_FAMILY_##family(ARGUMENTS_WORD, MHCS_COMMA, index)};            \
                                                                                                   \
        memcpy(words, w, sizeof(w));                                                               \
        break;                                                                                     \
    }
        MHCS_HOOKS(HOOK)
#undef HOOK
    case MHCS_HOOK_COUNT:
        break;
    }
}

#endif
