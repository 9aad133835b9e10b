/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a (fake) cuBLAS and no CUDA: makes 50 calls of every hooked function, mixing GEMMs
 * or ordinary ones, and ends with status 0 if all arrived and were answered unchanged.
 *
 *     calls mixing|ordinary
 */
#include "words.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    const struct shape shape = argc == 2 && strcmp(argv[1], "mixing") == 0 ? MIXING : ORDINARY;

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
    }
    return 0;
}
