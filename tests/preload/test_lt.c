/* SPDX-License-Identifier: Apache-2.0 */
/* cublasLt's descriptors, read: every order and operation describes the very GEMM that NVIDIA
 * documents, and what is more than a GEMM is turned away. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fakecublas.h"
#include "interpose/filter.h"
#include "interpose/lt.h"

#define M 24
#define N 5
#define K 24

static const struct mhcs_settings settings = {.shapes = {{24, K}}, .shape_count = 1};

static struct mhcs_library *library;

/* A call on real matrices, m x n = M x N or N x M. */
struct fixture {
    struct fake_operation operation;
    struct fake_layout a, b, c, d;
    float alpha, beta;
    float *values[4];
    struct mhcs_lt lt;
};

static struct fake_layout layout(int32_t order, uint64_t rows, uint64_t columns, int64_t slack)
{
    return (struct fake_layout){
        .type = CUDA_R_32F,
        .order = order,
        .count = 1,
        .rows = rows,
        .columns = columns,
        .ld = (int64_t)(order == CUBLASLT_ORDER_COL ? rows : columns) + slack,
    };
}

/* Documentation of cublasLtOrder_t: element (i, j) lies at i + j*ld, or at i*ld + j. */
static int64_t place(const struct fake_layout *l, int64_t i, int64_t j)
{
    return l->order == CUBLASLT_ORDER_COL ? i + j * l->ld : i * l->ld + j;
}

static float *fill(const struct fake_layout *l)
{
    const size_t count =
        (size_t)l->ld * (l->order == CUBLASLT_ORDER_COL ? l->columns : l->rows) + 1;
    float *const values = malloc(count * sizeof(*values));

    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)(rand() % 17 - 8); /* sums are exact: any order gives the same */
    }
    return values;
}

static void point(struct fixture *f)
{
    f->lt = (struct mhcs_lt){
        .operation = (cublasLtMatmulDesc_t)&f->operation,
        .alpha = &f->alpha,
        .beta = &f->beta,
        .a = f->values[0],
        .b = f->values[1],
        .c = f->values[2],
        .d = f->values[3],
        .a_layout = (cublasLtMatrixLayout_t)&f->a,
        .b_layout = (cublasLtMatrixLayout_t)&f->b,
        .c_layout = (cublasLtMatrixLayout_t)&f->c,
        .d_layout = (cublasLtMatrixLayout_t)&f->d,
        .stream = (cudaStream_t)0x1234,
    };
}

/* `choice`: two bits for operations, three for orders (C shares D's), one for the orientation. */
static void make(struct fixture *f, unsigned choice)
{
    const bool ta = choice & 1, tb = choice & 2, side_b = choice & 32;
    const int32_t order_a = choice & 4 ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    const int32_t order_b = choice & 8 ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    const int32_t order_d = choice & 16 ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    const uint64_t m = side_b ? N : M, n = side_b ? M : N;

    *f = (struct fixture){
        .operation = {.compute = CUBLAS_COMPUTE_32F,
                      .scale_type = CUDA_R_32F,
                      .transa = ta ? CUBLAS_OP_T : CUBLAS_OP_N,
                      .transb = tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                      .epilogue = CUBLASLT_EPILOGUE_DEFAULT},
        .a = layout(order_a, ta ? K : m, ta ? m : K, 1),
        .b = layout(order_b, tb ? n : K, tb ? K : n, 2),
        .c = layout(order_d, m, n, 3),
        .d = layout(order_d, m, n, 4),
        .alpha = 1,
        .beta = 2,
    };
    f->values[0] = fill(&f->a);
    f->values[1] = fill(&f->b);
    f->values[2] = fill(&f->c);
    f->values[3] = fill(&f->d);
    point(f);
}

static void discard(struct fixture *f)
{
    for (int i = 0; i < 4; i++) {
        free(f->values[i]);
    }
}

static void by_definition(const struct fixture *f)
{
    for (int64_t i = 0; i < (int64_t)f->d.rows; i++) {
        for (int64_t j = 0; j < (int64_t)f->d.columns; j++) {
            float sum = 0;

            for (int64_t l = 0; l < K; l++) {
                const float a =
                    f->values[0][f->operation.transa == CUBLAS_OP_N ? place(&f->a, i, l)
                                                                    : place(&f->a, l, i)];
                const float b =
                    f->values[1][f->operation.transb == CUBLAS_OP_N ? place(&f->b, l, j)
                                                                    : place(&f->b, j, l)];

                sum += a * b;
            }
            f->values[3][place(&f->d, i, j)] =
                f->alpha * sum + f->beta * f->values[2][place(&f->c, i, j)];
        }
    }
}

static float element(const struct mhcs_operand *operand, int64_t i, int64_t j)
{
    return ((const float *)(uintptr_t)operand->base)[i * operand->row + j * operand->col];
}

static void check(const struct fixture *f, unsigned choice)
{
    struct mhcs_handle_state state;
    struct mhcs_call begun, call;
    struct mhcs_gemm g;
    enum mhcs_side side;

    assert_true(mhcs_lt_begin(library, &f->lt, &begun));
    assert_int_equal(mhcs_lt_read(library, &f->lt, &call, &state), MHCS_REASONS_COUNT);
    side = mhcs_filter_match(&settings, call.m, call.n, call.k);
    assert_int_not_equal(side, MHCS_SIDE_NONE);
    assert_int_equal(mhcs_filter_match(&settings, begun.m, begun.n, begun.k), side);
    assert_ptr_equal(mhcs_filter_weights(&begun, side, 0), mhcs_filter_weights(&call, side, 0));
    assert_true(mhcs_filter_fold(&call, side, 0, &g));
    assert_int_equal(g.tokens, N);
    assert_int_equal(g.coefficients, M);
    assert_ptr_equal(state.stream, f->lt.stream);
    for (int64_t t = 0; t < N; t++) {
        for (int64_t j = 0; j < M; j++) {
            float sum = 0;

            for (int64_t k = 0; k < K; k++) {
                sum += element(&g.x, t, k) * element(&g.fn, j, k);
            }
            if (f->alpha * sum + f->beta * element(&g.old_c, t, j) != element(&g.c, t, j)) {
                fail_msg("choice %u: token %d, coefficient %d", choice, (int)t, (int)j);
            }
        }
    }
}

static void every_order_and_operation_is_the_gemm_that_is_documented(void **state)
{
    const unsigned seed = 11;

    printf("seed %u\n", seed);
    srand(seed);
    for (unsigned choice = 0; choice < 64; choice++) {
        struct fixture f;

        make(&f, choice);
        by_definition(&f);
        check(&f, choice);
        discard(&f);
    }
}

/* Row-major D of tokens x 24 is how a row-major program writes PyTorch's call: fn must be found
 * where it is A, whatever the look-alike rule says of side B. */
static void a_row_major_projection_is_told_from_a_row_major_mixing_gemm(void **state)
{
    struct mhcs_call call;
    struct fixture f;

    make(&f, 16 | 32);
    f.d.rows = K / MHCS_STREAMS;
    assert_true(mhcs_lt_begin(library, &f.lt, &call));
    assert_int_equal(mhcs_filter_match(&settings, call.m, call.n, call.k), MHCS_SIDE_A);
    discard(&f);
}

static enum mhcs_reason reason_of(const struct fixture *f)
{
    struct mhcs_handle_state state;
    struct mhcs_call call;

    return mhcs_lt_read(library, &f->lt, &call, &state);
}

static void what_is_more_than_a_product_is_turned_away(void **state)
{
    struct fixture f;

#define TURNED_AWAY(field, value, reason)                                                          \
    do {                                                                                           \
        struct fixture g = f;                                                                      \
                                                                                                   \
        point(&g);                                                                                 \
        assert_int_equal(reason_of(&g), MHCS_REASONS_COUNT);                                       \
        g.field = (value);                                                                         \
        assert_int_equal(reason_of(&g), MHCS_REASON_##reason);                                     \
    } while (0)
    make(&f, 1);
    TURNED_AWAY(operation.epilogue, CUBLASLT_EPILOGUE_BIAS, EPILOGUE);
    TURNED_AWAY(operation.epilogue, CUBLASLT_EPILOGUE_RELU, EPILOGUE);
    TURNED_AWAY(operation.epilogue, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, EPILOGUE);
    TURNED_AWAY(operation.a_scale, &f.alpha, EPILOGUE);
    TURNED_AWAY(operation.transc, CUBLAS_OP_T, EPILOGUE);
    TURNED_AWAY(operation.pointer_mode, CUBLASLT_POINTER_MODE_DEVICE_VECTOR, EPILOGUE);
    TURNED_AWAY(operation.pointer_mode, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST,
                EPILOGUE);
    TURNED_AWAY(operation.scale_type, CUDA_R_64F, ARGUMENTS);
    TURNED_AWAY(c.type, CUDA_R_16BF, ARGUMENTS);
    TURNED_AWAY(c.rows, M + 1, ARGUMENTS);
    TURNED_AWAY(c.order, CUBLASLT_ORDER_ROW, ARGUMENTS);
    TURNED_AWAY(a.rows, K + 1, ARGUMENTS);
    TURNED_AWAY(b.columns, N + 1, ARGUMENTS);
    TURNED_AWAY(a.count, 2, ARGUMENTS);
    TURNED_AWAY(b.batch_mode, CUBLASLT_BATCH_MODE_POINTER_ARRAY, ARGUMENTS);
    TURNED_AWAY(a.order, CUBLASLT_ORDER_COL32, HANDLE);
#undef TURNED_AWAY
    discard(&f);
}

static void batches_of_both_kinds_are_read(void **state)
{
    struct mhcs_handle_state handle_state;
    struct mhcs_call call;
    struct fixture f;

    make(&f, 1);
    f.a.count = f.b.count = f.c.count = f.d.count = 7;
    f.a.stride = 1000;
    f.b.stride = 2000;
    f.c.stride = 3000;
    f.d.stride = 4000;
    assert_int_equal(mhcs_lt_read(library, &f.lt, &call, &handle_state), MHCS_REASONS_COUNT);
    assert_int_equal(call.count, 7);
    assert_int_equal(call.stride_a, 1000);
    assert_int_equal(call.stride_b, 2000);
    assert_int_equal(call.stride_c, 3000);
    assert_int_equal(call.stride_d, 4000);
    assert_false(call.pointers);
    f.a.batch_mode = f.b.batch_mode = f.c.batch_mode = f.d.batch_mode =
        CUBLASLT_BATCH_MODE_POINTER_ARRAY;
    assert_int_equal(mhcs_lt_read(library, &f.lt, &call, &handle_state), MHCS_REASONS_COUNT);
    assert_true(call.pointers);
    discard(&f);
}

static void without_c_a_beta_of_zero_reads_nothing(void **state)
{
    struct mhcs_handle_state handle_state;
    struct mhcs_call call;
    struct mhcs_gemm g;
    struct fixture f;

    make(&f, 1);
    f.lt.c = NULL;
    f.beta = 0;
    assert_int_equal(mhcs_lt_read(library, &f.lt, &call, &handle_state), MHCS_REASONS_COUNT);
    assert_true(mhcs_filter_fold(&call, MHCS_SIDE_A, 0, &g));
    assert_memory_equal(&g.old_c, &g.c, sizeof(g.c));

    f.beta = 1;
    assert_int_equal(mhcs_lt_read(library, &f.lt, &call, &handle_state), MHCS_REASONS_COUNT);
    assert_false(mhcs_filter_fold(&call, MHCS_SIDE_A, 0, &g));
    f.beta = 0;
    f.operation.pointer_mode = CUBLASLT_POINTER_MODE_DEVICE;
    assert_int_equal(mhcs_lt_read(library, &f.lt, &call, &handle_state), MHCS_REASONS_COUNT);
    assert_true(handle_state.scalars_on_device);
    assert_false(mhcs_filter_fold(&call, MHCS_SIDE_A, 0, &g));
    discard(&f);
}

static void the_algorithm_says_how_partial_sums_are_added(void **state)
{
    static const struct {
        uint32_t scheme;
        bool reduced;
    } cases[] = {{CUBLASLT_REDUCTION_SCHEME_NONE, false},
                 {CUBLASLT_REDUCTION_SCHEME_INPLACE, true},
                 {CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, false},
                 {CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, true}};
    struct mhcs_handle_state handle_state;
    struct mhcs_call call;
    struct fixture f;

    make(&f, 1);
    assert_int_equal(mhcs_lt_read(library, &f.lt, &call, &handle_state), MHCS_REASONS_COUNT);
    assert_true(mhcs_filter_reduced_reduction(call.compute, handle_state.math_mode));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake_algorithm algorithm = {cases[i].scheme};

        f.lt.algo = (const cublasLtMatmulAlgo_t *)&algorithm;
        assert_int_equal(mhcs_lt_read(library, &f.lt, &call, &handle_state), MHCS_REASONS_COUNT);
        assert_int_equal(mhcs_filter_reduced_reduction(call.compute, handle_state.math_mode),
                         cases[i].reduced);
    }
    discard(&f);
}

static void descriptors_that_are_none_match_nothing(void **state)
{
    struct mhcs_call call;
    struct fixture f;

    make(&f, 1);
    f.lt.d_layout = NULL;
    assert_false(mhcs_lt_begin(library, &f.lt, &call));
    point(&f);
    f.lt.a_layout = NULL;
    assert_false(mhcs_lt_begin(library, &f.lt, &call));
    point(&f);
    f.lt.operation = NULL;
    assert_false(mhcs_lt_begin(library, &f.lt, &call));
    discard(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_and_operation_is_the_gemm_that_is_documented),
        cmocka_unit_test(a_row_major_projection_is_told_from_a_row_major_mixing_gemm),
        cmocka_unit_test(what_is_more_than_a_product_is_turned_away),
        cmocka_unit_test(batches_of_both_kinds_are_read),
        cmocka_unit_test(without_c_a_beta_of_zero_reads_nothing),
        cmocka_unit_test(the_algorithm_says_how_partial_sums_are_added),
        cmocka_unit_test(descriptors_that_are_none_match_nothing),
    };

    library = mhcs_library_of((const void *)cublasLtMatmul);
    return library ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
