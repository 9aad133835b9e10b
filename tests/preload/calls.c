/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a (fake) cuBLAS and no CUDA: makes 50 calls of every hooked function, mixing GEMMs
 * or ordinary ones, says how many GEMMs that were, and ends with status 0 if all arrived and were
 * answered unchanged.
 *
 *     calls mixing|ordinary
 */
#include "words.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    const bool mixing = argc == 2 && strcmp(argv[1], "mixing") == 0;
    const struct shape shape = mixing ? MIXING : ORDINARY;
    unsigned gemms = 0;

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
