/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a (fake) cuBLAS and no CUDA: makes 50 calls of every hooked function, mixing GEMMs
 * or ordinary ones, says how many GEMMs that were, and ends with status 0 if all arrived and were
 * answered unchanged. Before, it opens plugins, the first with RTLD_DEEPBIND, and makes one call
 * through each.
 *
 *     calls mixing|ordinary [PLUGIN...]
 */
#include "words.h"

#include <dlfcn.h>
#include <stdio.h>

static bool calls_through(const char *plugin, int flags)
{
    void *const opened = dlopen(plugin, RTLD_LAZY | RTLD_LOCAL | flags);
    fake_caller *const call = opened ? (fake_caller *)dlsym(opened, "caller_call") : NULL;
    struct fake_handle handle = {.answer = CUBLAS_STATUS_ARCH_MISMATCH};
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    return call && call(MHCS_HOOK_cublasGemmEx, words) == CUBLAS_STATUS_ARCH_MISMATCH;
}

int main(int argc, char **argv)
{
    const bool mixing = argc > 1 && strcmp(argv[1], "mixing") == 0;
    const struct shape shape = mixing ? MIXING : ORDINARY;
    unsigned gemms = 0;

    for (int i = 2; i < argc; i++) {
        if (!calls_through(argv[i], i == 2 ? RTLD_DEEPBIND : 0)) {
            printf("no call through %s\n", argv[i]);
            return 1;
        }
    }
    for (int i = 0; i < 50 * MHCS_HOOK_COUNT; i++) {
        const enum mhcs_hook hook = (enum mhcs_hook)(i % MHCS_HOOK_COUNT);
        struct fake_handle handle = {.answer = CUBLAS_STATUS_ARCH_MISMATCH};
        uint64_t words[FAKE_WORDS];

        words_of(hook, words, &handle, shape);
        if (caller_call(hook, words) != CUBLAS_STATUS_ARCH_MISMATCH || handle.calls != 1 ||
            memcmp(handle.words, words, sizeof(words)) != 0) {
            printf("call %d of %s did not pass unchanged\n", i, hook_names[hook]);
            return 1;
        }
        gemms += mixing ? gemms_of(hook) : 1;
    }
    printf("%u\n", gemms);
    return 0;
}
