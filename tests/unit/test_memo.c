/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM comes back from the parameters of its node as it went in, and they copy nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shadow/memo.h"

static struct mhcs_memo a_memo(bool on_device)
{
    static const struct mhcs_cublas cublas = {"libcublas.so.13", 130100};
    struct mhcs_memo memo;

    memset(&memo, 0, sizeof(memo));
    memo.gemm = (struct mhcs_gemm){
        .fn = {.base = 0x7f0000001000, .row = 16384, .col = 1, .dtype = MHCS_F32},
        .x = {.base = 0x7f0000002000, .row = -3, .col = 17, .dtype = MHCS_BF16, .indirect = 1},
        .c = {.base = 0x7f0000003000, .row = 24, .col = 1, .dtype = MHCS_F16},
        .old_c = {.base = 0x7f0000004000, .row = 25, .col = 2, .dtype = MHCS_F16},
        .tokens = INT64_C(0x123456789),
        .k = 28672,
        .coefficients = 4,
        .scalar_dtype = MHCS_F16,
        .reduced_precision_reduction = !on_device,
        .compute = MHCS_COMPUTE_OTHER,
        .cublas = &cublas,
        .weight_order = -1,
    };
    if (on_device) {
        memo.gemm.alpha = (const void *)0x7f0000005000;
        memo.gemm.beta = (const void *)0x7f0000005004;
        memo.gemm.scalars_on_device = true;
    } else {
        memo.alpha = -0.375f;
        memo.beta = 3.5f;
    }
    memo.parts = MHCS_PART_FN | MHCS_PART_X | MHCS_PART_C;
    memo.parts_early = MHCS_PART_OLD_C;
    memo.pair = UINT64_C(0x8000000000000001);
    memo.engine = UINT64_C(0x8000000000000002);
    return memo;
}

static void assert_comes_back(const struct mhcs_memo *memo)
{
    struct mhcs_snapshot_params params;
    struct mhcs_memo back;

    mhcs_memo_write(&params, memo);
    assert_int_equal(params.parts, 0);
    assert_int_equal(params.rows, 0);
    mhcs_memo_read(&back, &params);
    assert_memory_equal(&back.gemm.fn, &memo->gemm.fn, sizeof(back.gemm.fn));
    assert_memory_equal(&back.gemm.x, &memo->gemm.x, sizeof(back.gemm.x));
    assert_memory_equal(&back.gemm.c, &memo->gemm.c, sizeof(back.gemm.c));
    assert_memory_equal(&back.gemm.old_c, &memo->gemm.old_c, sizeof(back.gemm.old_c));
    assert_int_equal(back.gemm.tokens, memo->gemm.tokens);
    assert_int_equal(back.gemm.k, memo->gemm.k);
    assert_int_equal(back.gemm.coefficients, memo->gemm.coefficients);
    assert_ptr_equal(back.gemm.alpha, memo->gemm.alpha);
    assert_ptr_equal(back.gemm.beta, memo->gemm.beta);
    assert_int_equal(back.gemm.scalar_dtype, memo->gemm.scalar_dtype);
    assert_int_equal(back.gemm.scalars_on_device, memo->gemm.scalars_on_device);
    assert_int_equal(back.gemm.reduced_precision_reduction, memo->gemm.reduced_precision_reduction);
    assert_int_equal(back.gemm.compute, memo->gemm.compute);
    assert_ptr_equal(back.gemm.cublas, memo->gemm.cublas);
    assert_int_equal(back.gemm.weight_order, memo->gemm.weight_order);
    assert_true(back.alpha == memo->alpha && back.beta == memo->beta);
    assert_int_equal(back.parts, memo->parts);
    assert_int_equal(back.parts_early, memo->parts_early);
    assert_int_equal(back.pair, memo->pair);
    assert_int_equal(back.engine, memo->engine);
}

static void a_gemm_comes_back_from_its_node(void **state)
{
    struct mhcs_memo memo = a_memo(false);

    assert_comes_back(&memo);
    memo = a_memo(true);
    assert_comes_back(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gemm_comes_back_from_its_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
