/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a hooked function by its number, as any client does: through its PLT. */
#include "fakecublas.h"

__attribute__((visibility("default"))) cublasStatus_t caller_call(enum mhcs_hook hook,
                                                                  const uint64_t words[FAKE_WORDS])
{
    switch (hook) {
#define HOOK(name, family, index)                                                                  \
    case MHCS_HOOK_##name:                                                                         \
        return fake_call_##name(name, words);
        MHCS_HOOKS(HOOK)
#undef HOOK
    case MHCS_HOOK_COUNT:
        break;
    }
    return CUBLAS_STATUS_INTERNAL_ERROR;
}
