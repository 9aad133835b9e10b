/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a hooked function of the runtime by its number, as any client does: through its PLT. */
#include "fakecudart.h"

#define EXPORT            __attribute__((visibility("default")))
#define STRING(name)      #name
#define SEMICOLON()       ;
#define SET(type, name)   x.name = (type)words[i++]
#define FIELD(type, name) x.name

#define HOOK(name, family, stream0) mhcs_graph_type_##family called_##name __asm__(STRING(name));
MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK

/* Counting the answers keeps the calls from being tail calls, which would come from our caller. */
static _Thread_local unsigned answers;

EXPORT cudaError_t runtime_call(enum mhcs_graph_hook hook,
                                const uintptr_t words[FAKE_RUNTIME_WORDS])
{
    cudaError_t status = cudaErrorUnknown;
    size_t i = 0;

    switch (hook) {
#define HOOK(name, family, stream0)                                                                \
    case MHCS_GRAPH_HOOK_##name: {                                                                 \
        struct {                                                                                   \
            MHCS_GRAPH_FAMILY_##family(MHCS_GRAPH_DECLARE, SEMICOLON);                             \
        } x;                                                                                       \
                                                                                                   \
        MHCS_GRAPH_FAMILY_##family(SET, SEMICOLON);                                                \
        status = called_##name(MHCS_GRAPH_FAMILY_##family(FIELD, MHCS_GRAPH_COMMA));               \
        break;                                                                                     \
    }
        MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK
    case MHCS_GRAPH_HOOK_COUNT:
        break;
    }
    answers++;
    return status;
}

EXPORT struct fake_runtime *runtime_state(void)
{
    return fakecudart();
}
