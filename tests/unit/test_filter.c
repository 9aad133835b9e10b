/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls match, and that the folded strides describe the very GEMM that cuBLAS documents. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "interpose/filter.h"

static const struct mhcs_settings defaults = {
    .shapes = {{24, 16384}, {4, 16384}, {24, 28672}, {4, 28672}, {24, 20480}, {4, 20480}},
    .shape_count = 6,
};

static void mixing_gemms_match_in_both_orientations(void **state)
{
    static const int64_t ks[] = {16384, 28672, 20480};
    static const int64_t tokens[] = {1, 2, 7, 64, 2047, 4097, 1 << 20};

    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 7; j++) {
            const int64_t k = ks[i], t = tokens[j];

            assert_int_equal(mhcs_filter_match(&defaults, 24, t, k), MHCS_SIDE_A);
            assert_int_equal(mhcs_filter_match(&defaults, 4, t, k), MHCS_SIDE_A);
            assert_int_equal(mhcs_filter_match(&defaults, t, 24, k), MHCS_SIDE_B);
            assert_int_equal(mhcs_filter_match(&defaults, t, 4, k), MHCS_SIDE_B);
            assert_true(mhcs_filter_candidate(24, t, k) && mhcs_filter_candidate(t, 4, k));
        }
    }
}

static void look_alikes_do_not_match(void **state)
{
    static const struct {
        int64_t m, n, k;
        const char *what;
    } cases[] = {
        {24, 64, 4096, "a projection with k = hidden"},
        {4, 64, 7168, "a projection with k = hidden"},
        {256, 24, 4096, "a gate of a batch of 24"},
        {256, 64, 16384, "a wide layer"},
        {25, 64, 16384, "25 rows"},
        {24, 64, 16385, "odd k"},
        {24, 0, 16384, "no tokens"},
        {0, 24, 16384, "no tokens, transposed"},
        {24, -1, 16384, "negative n"},
        {-5, 24, 16384, "negative m"},
        {24, 64, -16384, "negative k"},
        {24, 64, (INT64_C(1) << 32) + 16384, "k beyond 32 bits"},
        {(INT64_C(1) << 32) + 24, 64, 16384, "m beyond 32 bits"},
        {4096, 24, 16384, "a batch of 24 through 4*hidden -> hidden"},
        {7168, 4, 28672, "a batch of 4 through 4*hidden -> hidden"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mhcs_filter_match(&defaults, cases[i].m, cases[i].n, cases[i].k) != MHCS_SIDE_NONE) {
            fail_msg("%s matched", cases[i].what);
        }
    }
}

static void where_both_sizes_fit_the_weights_are_a(void **state)
{
    assert_int_equal(mhcs_filter_match(&defaults, 24, 24, 16384), MHCS_SIDE_A);
    assert_int_equal(mhcs_filter_match(&defaults, 4, 24, 16384), MHCS_SIDE_A);
    assert_int_equal(mhcs_filter_match(&defaults, 24, 4, 16384), MHCS_SIDE_A);
}

static void shapes_are_those_of_the_settings_alone(void **state)
{
    const struct mhcs_settings own = {.shapes = {{4, 512}}, .shape_count = 1};

    assert_int_equal(mhcs_filter_match(&own, 4, 9, 512), MHCS_SIDE_A);
    assert_int_equal(mhcs_filter_match(&own, 24, 4, 512), MHCS_SIDE_B);
    assert_int_equal(mhcs_filter_match(&own, 24, 9, 512), MHCS_SIDE_NONE);
    assert_int_equal(mhcs_filter_match(&own, 24, 9, 16384), MHCS_SIDE_NONE);
}

/* A call on three buffers of exactly the elements that cuBLAS may touch. */
struct fixture {
    struct mhcs_call call;
    float *a, *b, *c;
    size_t a_size, b_size, c_size;
};

static size_t stored(int64_t rows, int64_t columns, int64_t ld)
{
    return (size_t)(ld * (columns - 1) + rows);
}

static float *small_integers(size_t count)
{
    float *const values = malloc(count * sizeof(*values));

    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)(rand() % 17 - 8); /* sums are exact: any order gives the same */
    }
    return values;
}

static struct fixture make(int64_t m, int64_t n, int64_t k, cublasOperation_t transa,
                           cublasOperation_t transb, int64_t slack)
{
    static const float one = 1, zero = 0;
    const bool an = transa == CUBLAS_OP_N, bn = transb == CUBLAS_OP_N;
    struct fixture f = {
        .call = {.transa = transa,
                 .transb = transb,
                 .m = m,
                 .n = n,
                 .k = k,
                 .alpha = &one,
                 .beta = &zero,
                 .a_type = CUDA_R_32F,
                 .b_type = CUDA_R_32F,
                 .c_type = CUDA_R_32F,
                 .lda = (an ? m : k) + slack,
                 .ldb = (bn ? k : n) + 2 * slack,
                 .ldc = m + 3 * slack,
                 .ldd = m + 3 * slack,
                 .compute = CUBLAS_COMPUTE_32F,
                 .count = 1},
    };

    f.a_size = an ? stored(m, k, f.call.lda) : stored(k, m, f.call.lda);
    f.b_size = bn ? stored(k, n, f.call.ldb) : stored(n, k, f.call.ldb);
    f.c_size = stored(m, n, f.call.ldc);
    f.call.a = f.a = small_integers(f.a_size);
    f.call.b = f.b = small_integers(f.b_size);
    f.call.d = f.call.c = f.c = small_integers(f.c_size);
    return f;
}

static void discard(struct fixture *f)
{
    free(f->a);
    free(f->b);
    free(f->c);
}

/* cuBLAS' documentation, by index: op(A)(i,l) is A(i,l) or A(l,i), and A(i,j) lies at i + j*lda. */
static void gemm_by_definition(const struct fixture *f)
{
    const struct mhcs_call *const call = &f->call;

    for (int64_t i = 0; i < call->m; i++) {
        for (int64_t j = 0; j < call->n; j++) {
            float sum = 0;

            for (int64_t l = 0; l < call->k; l++) {
                const float a =
                    call->transa == CUBLAS_OP_N ? f->a[i + l * call->lda] : f->a[l + i * call->lda];
                const float b =
                    call->transb == CUBLAS_OP_N ? f->b[l + j * call->ldb] : f->b[j + l * call->ldb];

                sum += a * b;
            }
            f->c[i + j * call->ldc] = sum;
        }
    }
}

static float element(const struct mhcs_operand *operand, int64_t i, int64_t j, const float *buffer,
                     size_t size)
{
    const int64_t index = i * operand->row + j * operand->col;

    assert_ptr_equal((void *)(uintptr_t)operand->base, buffer);
    assert_in_range(index, 0, size - 1);
    return buffer[index];
}

static void check_fold(struct fixture *f, enum mhcs_side side)
{
    const bool fn_is_a = side == MHCS_SIDE_A;
    struct mhcs_gemm g;

    gemm_by_definition(f);
    assert_true(mhcs_filter_fold(&f->call, side, 0, &g));
    assert_int_equal(g.coefficients, fn_is_a ? f->call.m : f->call.n);
    assert_int_equal(g.tokens, fn_is_a ? f->call.n : f->call.m);
    assert_int_equal(g.k, f->call.k);
    assert_ptr_equal(mhcs_filter_weights(&f->call, side, 0), fn_is_a ? f->a : f->b);
    for (int64_t t = 0; t < g.tokens; t++) {
        for (uint32_t j = 0; j < g.coefficients; j++) {
            float sum = 0;

            for (uint32_t k = 0; k < g.k; k++) {
                sum += element(&g.x, t, k, fn_is_a ? f->b : f->a, fn_is_a ? f->b_size : f->a_size) *
                       element(&g.fn, j, k, fn_is_a ? f->a : f->b, fn_is_a ? f->a_size : f->b_size);
            }
            if (sum != element(&g.c, t, j, f->c, f->c_size)) {
                fail_msg("side %d, transa %d, transb %d, m %d, n %d: token %d, coefficient %u",
                         side, f->call.transa, f->call.transb, (int)f->call.m, (int)f->call.n,
                         (int)t, j);
            }
        }
    }
}

static void the_strides_describe_the_gemm_that_cublas_documents(void **state)
{
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    static const int64_t tokens[] = {1, 5, 24}, slacks[] = {0, 3};
    const unsigned seed = 7;

    printf("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 3 * 3 * 3 * 2 * 2; i++) {
        const cublasOperation_t transa = ops[i % 3], transb = ops[i / 3 % 3];
        const int64_t t = tokens[i / 9 % 3], slack = slacks[i / 27 % 2];
        const int64_t coefficients = i / 54 % 2 ? 4 : 24;
        struct fixture as_a = make(coefficients, t, 20, transa, transb, slack);
        struct fixture as_b = make(t, coefficients, 20, transa, transb, slack);

        check_fold(&as_a, MHCS_SIDE_A);
        check_fold(&as_b, MHCS_SIDE_B);
        discard(&as_a);
        discard(&as_b);
    }
}

static void types_fold_one_by_one(void **state)
{
    static const struct {
        cudaDataType type;
        enum mhcs_dtype dtype;
    } types[] = {{CUDA_R_32F, MHCS_F32}, {CUDA_R_16BF, MHCS_BF16}, {CUDA_R_16F, MHCS_F16}};
    struct fixture f = make(24, 3, 8, CUBLAS_OP_T, CUBLAS_OP_N, 0);
    struct mhcs_gemm g;

    for (size_t i = 0; i < 27; i++) {
        const size_t a = i % 3, b = i / 3 % 3, c = i / 9;

        f.call.a_type = types[a].type;
        f.call.b_type = types[b].type;
        f.call.c_type = types[c].type;
        assert_true(mhcs_filter_fold(&f.call, MHCS_SIDE_A, 0, &g));
        assert_int_equal(g.fn.dtype, types[a].dtype);
        assert_int_equal(g.x.dtype, types[b].dtype);
        assert_int_equal(g.c.dtype, types[c].dtype);
        assert_int_equal(g.scalar_dtype, MHCS_F32);
    }
    f.call.compute = CUBLAS_COMPUTE_16F;
    assert_true(mhcs_filter_fold(&f.call, MHCS_SIDE_A, 0, &g));
    assert_int_equal(g.scalar_dtype, MHCS_F16);
    discard(&f);
}

static void entries_of_a_batch_lie_a_stride_apart(void **state)
{
    struct fixture f = make(24, 3, 8, CUBLAS_OP_T, CUBLAS_OP_N, 0);
    struct mhcs_gemm g;

    f.call.count = 4;
    f.call.stride_a = 1000;
    f.call.stride_b = -100;
    f.call.stride_c = f.call.stride_d = 77;
    f.call.b_type = CUDA_R_16BF;
    assert_true(mhcs_filter_fold(&f.call, MHCS_SIDE_A, 3, &g));
    assert_int_equal(g.fn.base, (uintptr_t)f.a + 3 * 1000 * 4);
    assert_int_equal(g.x.base, (uintptr_t)f.b - 3 * 100 * 2);
    assert_int_equal(g.c.base, (uintptr_t)f.c + 3 * 77 * 4);
    assert_memory_equal(&g.old_c, &g.c, sizeof(g.c));
    assert_false(g.fn.indirect || g.x.indirect || g.c.indirect);
    assert_int_equal((uintptr_t)mhcs_filter_weights(&f.call, MHCS_SIDE_A, 2),
                     (uintptr_t)f.a + 2 * 1000 * 4);
    assert_int_equal((uintptr_t)mhcs_filter_weights(&f.call, MHCS_SIDE_B, 2),
                     (uintptr_t)f.b - 2 * 100 * 2);
    discard(&f);
}

static void entries_of_a_pointer_array_are_left_to_the_device(void **state)
{
    struct fixture f = make(24, 3, 8, CUBLAS_OP_T, CUBLAS_OP_N, 0);
    struct mhcs_gemm g;

    f.call.count = 4;
    f.call.pointers = true;
    assert_true(mhcs_filter_fold(&f.call, MHCS_SIDE_A, 3, &g));
    assert_int_equal(g.fn.base, (uintptr_t)f.a + 3 * sizeof(void *));
    assert_int_equal(g.x.base, (uintptr_t)f.b + 3 * sizeof(void *));
    assert_int_equal(g.c.base, (uintptr_t)f.c + 3 * sizeof(void *));
    assert_true(g.fn.indirect && g.x.indirect && g.c.indirect && g.old_c.indirect);
    assert_null(mhcs_filter_weights(&f.call, MHCS_SIDE_A, 3));
    discard(&f);
}

static void a_result_apart_from_c_has_strides_of_its_own(void **state)
{
    struct fixture f = make(24, 3, 8, CUBLAS_OP_T, CUBLAS_OP_N, 0);
    float d[3 * 30];
    struct mhcs_gemm g;

    f.call.d = d;
    f.call.ldd = 30;
    assert_true(mhcs_filter_fold(&f.call, MHCS_SIDE_A, 0, &g));
    assert_int_equal(g.c.base, (uintptr_t)d);
    assert_int_equal(g.c.row, 30);
    assert_int_equal(g.old_c.base, (uintptr_t)f.c);
    assert_int_equal(g.old_c.row, 24);
    discard(&f);
}

static void what_can_not_be_followed_is_refused(void **state)
{
    struct fixture f = make(24, 3, 8, CUBLAS_OP_T, CUBLAS_OP_N, 0);
    struct mhcs_gemm g;

#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        struct mhcs_call call = f.call;                                                            \
                                                                                                   \
        call.field = (value);                                                                      \
        assert_false(mhcs_filter_fold(&call, MHCS_SIDE_A, 0, &g));                                 \
    } while (0)
    assert_true(mhcs_filter_fold(&f.call, MHCS_SIDE_A, 0, &g));
    REFUSED(a_type, CUDA_C_32F);
    REFUSED(b_type, CUDA_R_64F);
    REFUSED(c_type, CUDA_R_8F_E4M3);
    REFUSED(c_type, (cudaDataType)-1);
    REFUSED(compute, CUBLAS_COMPUTE_64F);
    REFUSED(compute, CUBLAS_COMPUTE_32I);
    REFUSED(compute, (cublasComputeType_t)12345);
    REFUSED(transa, CUBLAS_OP_CONJG);
    REFUSED(transb, (cublasOperation_t)77);
    REFUSED(alpha, NULL);
    REFUSED(beta, NULL);
    REFUSED(a, NULL);
    REFUSED(b, NULL);
    REFUSED(c, NULL);
    REFUSED(lda, 7);
    REFUSED(ldb, 7);
    REFUSED(d, NULL);
    REFUSED(ldd, 23);
    REFUSED(ldc, 23);
    REFUSED(ldc, -24);
    REFUSED(ldb, INT64_MAX);
    REFUSED(ldc, INT64_C(1) << 47);
#undef REFUSED
    discard(&f);
}

static void the_declared_arithmetic_follows_compute_type_and_math_mode(void **state)
{
    const cublasMath_t no_reduction = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    const struct {
        cublasComputeType_t compute;
        cudaDataType type;
        int mode;
        bool tf32_allowed;
        enum mhcs_compute expected;
    } cases[] = {
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_DEFAULT_MATH, true, MHCS_COMPUTE_F32},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_TF32_TENSOR_OP_MATH, true, MHCS_COMPUTE_TF32},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_TF32_TENSOR_OP_MATH, false, MHCS_COMPUTE_F32},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, (int)CUBLAS_TF32_TENSOR_OP_MATH | (int)no_reduction, true,
         MHCS_COMPUTE_TF32},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_PEDANTIC_MATH, true, MHCS_COMPUTE_F32_PEDANTIC},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_TENSOR_OP_MATH, true, MHCS_COMPUTE_F16},
        {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_FP32_EMULATED_BF16X9_MATH, true,
         MHCS_COMPUTE_BF16X9},
        {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUBLAS_DEFAULT_MATH, true, MHCS_COMPUTE_F32},
        {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUBLAS_TF32_TENSOR_OP_MATH, true, MHCS_COMPUTE_F32},
        {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUBLAS_TENSOR_OP_MATH, true, MHCS_COMPUTE_F32},
        {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F, CUBLAS_TF32_TENSOR_OP_MATH, true,
         MHCS_COMPUTE_F32_PEDANTIC},
        {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUBLAS_DEFAULT_MATH, true, MHCS_COMPUTE_TF32},
        {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUBLAS_DEFAULT_MATH, false, MHCS_COMPUTE_F32},
        {CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F, CUBLAS_DEFAULT_MATH, true, MHCS_COMPUTE_BF16},
        {CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F, CUBLAS_DEFAULT_MATH, true, MHCS_COMPUTE_F16},
        {CUBLAS_COMPUTE_32F_EMULATED_16BFX9, CUDA_R_32F, CUBLAS_DEFAULT_MATH, true,
         MHCS_COMPUTE_BF16X9},
        {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUBLAS_DEFAULT_MATH, true, MHCS_COMPUTE_F16_ACCUMULATE},
        {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUBLAS_DEFAULT_MATH, true, MHCS_COMPUTE_OTHER},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mhcs_filter_compute(cases[i].compute, cases[i].type, (cublasMath_t)cases[i].mode,
                                cases[i].tf32_allowed) != cases[i].expected) {
            fail_msg("case %zu", i);
        }
    }
}

static void partial_sums_may_be_rounded_unless_forbidden(void **state)
{
    const cublasMath_t forbidden =
        (cublasMath_t)((int)CUBLAS_TF32_TENSOR_OP_MATH |
                       (int)CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

    assert_true(mhcs_filter_reduced_reduction(CUBLAS_COMPUTE_32F, CUBLAS_DEFAULT_MATH));
    assert_true(mhcs_filter_reduced_reduction(CUBLAS_COMPUTE_32F, CUBLAS_TF32_TENSOR_OP_MATH));
    assert_false(mhcs_filter_reduced_reduction(CUBLAS_COMPUTE_32F, forbidden));
    assert_false(mhcs_filter_reduced_reduction(CUBLAS_COMPUTE_32F, CUBLAS_PEDANTIC_MATH));
    assert_false(mhcs_filter_reduced_reduction(CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_DEFAULT_MATH));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixing_gemms_match_in_both_orientations),
        cmocka_unit_test(look_alikes_do_not_match),
        cmocka_unit_test(where_both_sizes_fit_the_weights_are_a),
        cmocka_unit_test(shapes_are_those_of_the_settings_alone),
        cmocka_unit_test(the_strides_describe_the_gemm_that_cublas_documents),
        cmocka_unit_test(types_fold_one_by_one),
        cmocka_unit_test(entries_of_a_batch_lie_a_stride_apart),
        cmocka_unit_test(entries_of_a_pointer_array_are_left_to_the_device),
        cmocka_unit_test(a_result_apart_from_c_has_strides_of_its_own),
        cmocka_unit_test(what_can_not_be_followed_is_refused),
        cmocka_unit_test(the_declared_arithmetic_follows_compute_type_and_math_mode),
        cmocka_unit_test(partial_sums_may_be_rounded_unless_forbidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
