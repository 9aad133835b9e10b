/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of the fake libraries do. */
#ifndef FAKEANSWER_H
#define FAKEANSWER_H

#include <errno.h>
#include <string.h>

#include "fakecublas.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

static inline cublasStatus_t fake_answer(void *handle, int major, const char *function,
                                         const uint64_t *words, size_t bytes)
{
    struct fake_handle *const fake = handle;

    fake->calls++;
    fake->major = major;
    fake->function = function;
    fake->errno_at_entry = errno;
    memset(fake->words, 0, sizeof(fake->words));
    memcpy(fake->words, words, bytes);
    if (fake->within) {
        fake->within(fake->arg);
    }
    if (fake->set_errno) {
        errno = fake->set_errno;
    }
    return fake->answer;
}

#define FAKE_OMIT(name, family, index)
#define FAKE_DEFINE(name, family, index)                                                           \
    FAKE_EXPORT cublasStatus_t name(MHCS_PARAMS(family, index))                                    \
    {                                                                                              \
        const uint64_t words[] = {MHCS_FAMILY_##family(FAKE_WORD, MHCS_COMMA, index)};             \
                                                                                                   \
        return fake_answer(handle, MAJOR, #name, words, sizeof(words));                            \
    }

#endif
