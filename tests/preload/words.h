/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments for a call through caller.c, and the check that they arrived. */
#ifndef WORDS_H
#define WORDS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "fakecublas.h"

struct shape {
    int64_t m, n, k;
};

static const struct shape MIXING = {24, 300, 16384};
static const struct shape ORDINARY = {4096, 300, 16384};

static const char *const hook_names[] = {
#define HOOK(name, family, index) #name,
    MHCS_HOOKS(HOOK)
#undef HOOK
};

/* Words of a valid bf16 or fp32 call with fn as A, transposed, as PyTorch makes it; every argument
 * differs from every other where it can. */
static inline void words_GEMM_EX(uint64_t *w, struct fake_handle *handle, struct shape s)
{
    static float alpha = 1, beta = 0;
    const uint64_t words[] = {(uint64_t)handle,
                              CUBLAS_OP_T,
                              CUBLAS_OP_N,
                              (uint64_t)s.m,
                              (uint64_t)s.n,
                              (uint64_t)s.k,
                              (uint64_t)&alpha,
                              0x7f0000001000,
                              CUDA_R_16BF,
                              (uint64_t)s.k + 8,
                              0x7f0000002000,
                              CUDA_R_16BF,
                              (uint64_t)s.k + 16,
                              (uint64_t)&beta,
                              0x7f0000003000,
                              CUDA_R_32F,
                              (uint64_t)s.m + 1,
                              CUBLAS_COMPUTE_32F,
                              CUBLAS_GEMM_DEFAULT_TENSOR_OP};

    memcpy(w, words, sizeof(words));
}

static inline void words_SGEMM(uint64_t *w, struct fake_handle *handle, struct shape s)
{
    static float alpha = 1, beta = 0;
    const uint64_t words[] = {
        (uint64_t)handle,   CUBLAS_OP_T,      CUBLAS_OP_N,    (uint64_t)s.m,     (uint64_t)s.n,
        (uint64_t)s.k,      (uint64_t)&alpha, 0x7f0000001000, (uint64_t)s.k + 8, 0x7f0000002000,
        (uint64_t)s.k + 16, (uint64_t)&beta,  0x7f0000003000, (uint64_t)s.m + 1};

    memset(w, 0, FAKE_WORDS * sizeof(*w));
    memcpy(w, words, sizeof(words));
}

static inline void words_of(enum mhcs_hook hook, uint64_t *w, struct fake_handle *handle,
                            struct shape s)
{
#define HOOK(name, family, index)                                                                  \
    if (hook == MHCS_HOOK_##name) {                                                                \
        words_##family(w, handle, s);                                                              \
    }
    MHCS_HOOKS(HOOK)
#undef HOOK
}

/* The library `major` got just these words, through the function that was called. */
static inline void assert_arrived(const struct fake_handle *handle, enum mhcs_hook hook, int major,
                                  const uint64_t *words)
{
    assert_int_equal(handle->calls, 1);
    assert_int_equal(handle->major, major);
    assert_string_equal(handle->function, hook_names[hook]);
    for (size_t i = 0; i < FAKE_WORDS; i++) {
        if (handle->words[i] != words[i]) {
            fail_msg("%s: argument %zu is %#llx instead of %#llx", hook_names[hook], i,
                     (unsigned long long)handle->words[i], (unsigned long long)words[i]);
        }
    }
}

#endif
