/* SPDX-License-Identifier: Apache-2.0 */
/* A libcublas that computes nothing: it writes down what it was given and answers as it is told.
 * The handle that a test passes is its own struct fake_handle; nothing else is shared, so that a
 * test can tell which of several libraries was reached, and through which call.
 */
#ifndef FAKECUBLAS_H
#define FAKECUBLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/hooks.h"
#include "shadow/shadow.h"

#define FAKE_WORDS 19 /* of the longest parameter list */

struct fake_handle {
    /* What the library answers. */
    cublasStatus_t answer;
    int set_errno; /* 0: leaves it alone */
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    cublasMath_t math_mode;
    cublasStatus_t getter_answer;
    void (*within)(void *arg); /* runs inside the call, if set */
    void *arg;

    /* What it saw. */
    unsigned calls;
    int major;
    const char *function;
    int errno_at_entry;
    uint64_t words[FAKE_WORDS]; /* the arguments, in order */
};

/* What the shadow's double sees: a test hands it over as the handle's stream. */
struct fake_shadow {
    bool refuse; /* mhcs_shadow_before() answers false */

    unsigned before, after;
    bool launched;
    struct mhcs_gemm gemm;
    uint64_t counters[MHCS_COUNTERS]; /* at the last mhcs_shadow_before() */
};

/* The arguments of a family as words, and a call with words for arguments. */
#define FAKE_WORDS_GEMM_EX                                                                         \
    (uint64_t) handle, (uint64_t)transa, (uint64_t)transb, (uint64_t)m, (uint64_t)n, (uint64_t)k,  \
        (uint64_t)alpha, (uint64_t)A, (uint64_t)a_type, (uint64_t)lda, (uint64_t)B,                \
        (uint64_t)b_type, (uint64_t)ldb, (uint64_t)beta, (uint64_t)C, (uint64_t)c_type,            \
        (uint64_t)ldc, (uint64_t)compute, (uint64_t)algo
#define FAKE_CALL_GEMM_EX(name, index, w)                                                          \
    name((cublasHandle_t)w[0], (cublasOperation_t)w[1], (cublasOperation_t)w[2], (index)w[3],      \
         (index)w[4], (index)w[5], (const void *)w[6], (const void *)w[7], (cudaDataType)w[8],     \
         (index)w[9], (const void *)w[10], (cudaDataType)w[11], (index)w[12], (const void *)w[13], \
         (void *)w[14], (cudaDataType)w[15], (index)w[16], (cublasComputeType_t)w[17],             \
         (cublasGemmAlgo_t)w[18])
#define FAKE_WORDS_SGEMM                                                                           \
    (uint64_t) handle, (uint64_t)transa, (uint64_t)transb, (uint64_t)m, (uint64_t)n, (uint64_t)k,  \
        (uint64_t)alpha, (uint64_t)A, (uint64_t)lda, (uint64_t)B, (uint64_t)ldb, (uint64_t)beta,   \
        (uint64_t)C, (uint64_t)ldc
#define FAKE_CALL_SGEMM(name, index, w)                                                            \
    name((cublasHandle_t)w[0], (cublasOperation_t)w[1], (cublasOperation_t)w[2], (index)w[3],      \
         (index)w[4], (index)w[5], (const float *)w[6], (const float *)w[7], (index)w[8],          \
         (const float *)w[9], (index)w[10], (const float *)w[11], (float *)w[12], (index)w[13])

/* Of caller.c, linked into programs and plugins. */
typedef cublasStatus_t fake_caller(enum mhcs_hook hook, const uint64_t words[FAKE_WORDS]);
fake_caller caller_call;

#endif
