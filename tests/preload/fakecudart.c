/* SPDX-License-Identifier: Apache-2.0 */
/* See fakecudart.h. Built once per major, MAJOR, each with the version node of the real one. */
#include "fakecudart.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct fake_runtime state;

EXPORT struct fake_runtime *fakecudart(void)
{
    return &state;
}

static cudaError_t answer(const char *function, const uintptr_t *words, size_t bytes)
{
    state.calls++;
    state.major = MAJOR;
    state.function = function;
    state.errno_at_entry = errno;
    memset(state.words, 0, sizeof(state.words));
    memcpy(state.words, words, bytes);
    if (state.set_errno) {
        errno = state.set_errno;
    }
    return state.answer;
}

#define STRING(name)     #name
#define WORD(type, name) (uintptr_t) name
#define HOOK(name, family, stream0)                                                                \
    EXPORT mhcs_graph_type_##family fake_##name __asm__(STRING(name));                             \
    EXPORT cudaError_t fake_##name(MHCS_GRAPH_PARAMS(family))                                      \
    {                                                                                              \
        const uintptr_t words[] = {MHCS_GRAPH_FAMILY_##family(WORD, MHCS_GRAPH_COMMA)};            \
                                                                                                   \
        return answer(#name, words, sizeof(words));                                                \
    }
MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK
