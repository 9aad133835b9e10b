/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments for a call through caller.c, and the check that they arrived. */
#ifndef WORDS_H
#define WORDS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "arguments.h"

struct shape {
    int64_t m, n, k;
};

static const struct shape MIXING = {24, 300, 16384};
static const struct shape ORDINARY = {4096, 300, 16384};

#define FN_ADDRESS  0x7f0000001000
#define X_ADDRESS   0x7f0000002000
#define C_ADDRESS   0x7f0000003000
#define D_ADDRESS   0x7f0000004000
#define ENTRIES     3 /* entries of batched calls, and of the one group that has the shape */
#define GROUP_COUNT 2 /* the other one, before it, holds OTHERS ordinary GEMMs */
#define OTHERS      5
#define FN_STRIDE   1000000
#define X_STRIDE    2000000
#define C_STRIDE    3000000

#define IS_BATCHED_ONE    false
#define IS_BATCHED_BATCH  true
#define IS_BATCHED_GROUPS true
#define IS_BATCHED_LT     false

static const bool hook_is_batched[] = {
#define HOOK(name, family, index) FAKE_OF(IS_BATCHED_, MHCS_KIND_##family),
    MHCS_HOOKS(HOOK)
#undef HOOK
};

/* GEMMs that a mixing call of this hook counts as. */
static inline unsigned gemms_of(enum mhcs_hook hook)
{
    return hook_is_batched[hook] ? ENTRIES : 1;
}

/* What words point to. */
struct words_storage {
    union groups_integers {
        int narrow[GROUP_COUNT];
        int64_t wide[GROUP_COUNT];
    } m, n, k, lda, ldb, ldc, size;
    cublasOperation_t transa[GROUP_COUNT], transb[GROUP_COUNT];
    float alpha[GROUP_COUNT], beta[GROUP_COUNT];
    struct fake_operation operation;
    struct fake_layout layouts[4]; /* A, B, C, D */
    struct fake_algorithm algorithm;
};

static inline uint64_t group_integers(union groups_integers *array, bool wide, int64_t other,
                                      int64_t value)
{
    if (wide) {
        array->wide[0] = other;
        array->wide[1] = value;
    } else {
        array->narrow[0] = (int)other;
        array->narrow[1] = (int)value;
    }
    return (uint64_t)array;
}

/* Arguments of a valid bf16 or fp32 call with fn as A, transposed, as PyTorch makes it; each
 * differs from every other where it can. */
static inline struct arguments arguments_one(struct words_storage *keep, bool wide,
                                             struct fake_handle *handle, struct shape s)
{
    keep->alpha[0] = keep->alpha[1] = 1;
    keep->beta[0] = keep->beta[1] = 0;
    return (struct arguments){
        .handle = (uint64_t)handle,
        .transa = CUBLAS_OP_T,
        .transb = CUBLAS_OP_N,
        .m = (uint64_t)s.m,
        .n = (uint64_t)s.n,
        .k = (uint64_t)s.k,
        .alpha = (uint64_t)keep->alpha,
        .beta = (uint64_t)keep->beta,
        .A = FN_ADDRESS,
        .a_type = CUDA_R_16BF,
        .lda = (uint64_t)s.k + 8,
        .stride_a = FN_STRIDE,
        .B = X_ADDRESS,
        .b_type = CUDA_R_16BF,
        .ldb = (uint64_t)s.k + 16,
        .stride_b = X_STRIDE,
        .C = C_ADDRESS,
        .c_type = CUDA_R_32F,
        .ldc = (uint64_t)s.m + 1,
        .stride_c = C_STRIDE,
        .count = ENTRIES,
        .compute = CUBLAS_COMPUTE_32F,
        .algo = CUBLAS_GEMM_DEFAULT_TENSOR_OP,
    };
}

#define arguments_batch arguments_one

static inline struct arguments arguments_groups(struct words_storage *keep, bool wide,
                                                struct fake_handle *handle, struct shape s)
{
    struct arguments x = arguments_one(keep, wide, handle, s);

    keep->transa[0] = keep->transa[1] = CUBLAS_OP_T;
    keep->transb[0] = keep->transb[1] = CUBLAS_OP_N;
    x.transa = (uint64_t)keep->transa;
    x.transb = (uint64_t)keep->transb;
    x.m = group_integers(&keep->m, wide, 4096, s.m);
    x.n = group_integers(&keep->n, wide, 77, s.n);
    x.k = group_integers(&keep->k, wide, 512, s.k);
    x.lda = group_integers(&keep->lda, wide, 520, s.k + 8);
    x.ldb = group_integers(&keep->ldb, wide, 530, s.k + 16);
    x.ldc = group_integers(&keep->ldc, wide, 4100, s.m + 1);
    x.group_size = group_integers(&keep->size, wide, OTHERS, ENTRIES);
    x.group_count = GROUP_COUNT;
    return x;
}

static inline struct arguments arguments_lt(struct words_storage *keep, bool wide,
                                            struct fake_handle *handle, struct shape s)
{
    struct arguments x = arguments_one(keep, wide, handle, s);
    const struct fake_layout a = {.type = CUDA_R_16BF,
                                  .order = CUBLASLT_ORDER_COL,
                                  .count = 1,
                                  .rows = (uint64_t)s.k,
                                  .columns = (uint64_t)s.m,
                                  .ld = s.k + 8};

    keep->operation = (struct fake_operation){.compute = CUBLAS_COMPUTE_32F,
                                              .scale_type = CUDA_R_32F,
                                              .transa = CUBLAS_OP_T,
                                              .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
    keep->layouts[0] = keep->layouts[1] = keep->layouts[2] = a;
    keep->layouts[1].columns = (uint64_t)s.n;
    keep->layouts[1].ld = s.k + 16;
    keep->layouts[2].type = CUDA_R_32F;
    keep->layouts[2].rows = (uint64_t)s.m;
    keep->layouts[2].columns = (uint64_t)s.n;
    keep->layouts[2].ld = s.m + 1;
    keep->layouts[3] = keep->layouts[2];
    keep->layouts[3].ld = s.m + 2;
    x.operation = (uint64_t)&keep->operation;
    x.a_layout = (uint64_t)&keep->layouts[0];
    x.b_layout = (uint64_t)&keep->layouts[1];
    x.c_layout = (uint64_t)&keep->layouts[2];
    x.d_layout = (uint64_t)&keep->layouts[3];
    x.D = D_ADDRESS;
    x.algo = (uint64_t)&keep->algorithm;
    x.workspace = 0x7f0000005000;
    x.workspace_bytes = 4096;
    x.stream = (uint64_t)handle->stream;
    return x;
}

#define ARGUMENTS_ONE    arguments_one
#define ARGUMENTS_BATCH  arguments_batch
#define ARGUMENTS_GROUPS arguments_groups
#define ARGUMENTS_LT     arguments_lt
#define IS_WIDE_int      false
#define IS_WIDE_int64_t  true
#define IS_WIDE_void     false

/* `keep` must live until the call. */
static inline struct arguments arguments_of(struct words_storage *keep, enum mhcs_hook hook,
                                            struct fake_handle *handle, struct shape s)
{
    switch (hook) {
#define HOOK(name, family, index)                                                                  \
    case MHCS_HOOK_##name:                                                                         \
        return FAKE_OF(ARGUMENTS_, MHCS_KIND_##family)(keep, IS_WIDE_##index, handle, s);
        MHCS_HOOKS(HOOK)
#undef HOOK
    case MHCS_HOOK_COUNT:
        break;
    }
    return (struct arguments){0};
}

static inline void words_into(struct words_storage *keep, enum mhcs_hook hook, uint64_t *w,
                              struct fake_handle *handle, struct shape s)
{
    const struct arguments x = arguments_of(keep, hook, handle, s);

    arguments_to_words(hook, &x, w);
}

/* The same, with storage of the thread: good for its last few calls. */
static inline void words_of(enum mhcs_hook hook, uint64_t *w, struct fake_handle *handle,
                            struct shape s)
{
    static _Thread_local struct words_storage keep[4];
    static _Thread_local unsigned next;

    words_into(&keep[next++ % 4], hook, w, handle, s);
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
