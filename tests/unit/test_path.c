/* SPDX-License-Identifier: Apache-2.0 */
/* The declared precision path: literal texts, and there and back for every combination. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shadow/path.h"

static void expect(uint32_t fn, uint32_t x, uint32_t out, enum mhcs_compute compute, bool reduced,
                   const char *text)
{
    const struct mhcs_gemm gemm = {.fn.dtype = fn,
                                   .x.dtype = x,
                                   .c.dtype = out,
                                   .compute = compute,
                                   .reduced_precision_reduction = reduced};
    char path[MHCS_PATH_BYTES];

    assert_string_equal(mhcs_path_format(&gemm, path), text);
}

static void a_path_names_types_and_arithmetic(void **state)
{
    expect(MHCS_BF16, MHCS_BF16, MHCS_BF16, MHCS_COMPUTE_F32, false, "bf16*bf16->bf16/f32");
    expect(MHCS_F32, MHCS_F32, MHCS_F32, MHCS_COMPUTE_TF32, false, "f32*f32->f32/tf32");
    expect(MHCS_F32, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32_PEDANTIC, false,
           "f32*f32->f32/f32-pedantic");
    expect(MHCS_F16, MHCS_F16, MHCS_F16, MHCS_COMPUTE_F16_ACCUMULATE, false, "f16*f16->f16/f16acc");
    expect(MHCS_F32, MHCS_BF16, MHCS_F32, MHCS_COMPUTE_OTHER, false, "f32*bf16->f32/other");
}

static void reduced_partial_sums_are_said_where_they_matter(void **state)
{
    expect(MHCS_BF16, MHCS_BF16, MHCS_BF16, MHCS_COMPUTE_F32, true, "bf16*bf16->bf16/f32+reduced");
    expect(MHCS_BF16, MHCS_BF16, MHCS_F32, MHCS_COMPUTE_F32, true, "bf16*bf16->f32/f32");
}

static void every_path_can_be_taken_apart_again(void **state)
{
    for (int i = 0; i < 3 * 3 * 3 * (MHCS_COMPUTE_OTHER + 1) * 2; i++) {
        const struct mhcs_gemm gemm = {.fn.dtype = (uint32_t)i % 3,
                                       .x.dtype = (uint32_t)i / 3 % 3,
                                       .c.dtype = (uint32_t)i / 9 % 3,
                                       .compute = (enum mhcs_compute)(i / 54),
                                       .reduced_precision_reduction = i / 27 % 2};
        char path[MHCS_PATH_BYTES];
        struct mhcs_precision p;

        mhcs_path_format(&gemm, path);
        assert_true(strlen(path) + 1 < MHCS_PATH_BYTES);
        assert_true(mhcs_path_parse(path, &p));
        assert_int_equal(p.fn, gemm.fn.dtype);
        assert_int_equal(p.x, gemm.x.dtype);
        assert_int_equal(p.out, gemm.c.dtype);
        assert_int_equal(p.compute, gemm.compute);
        assert_int_equal(p.reduced, gemm.reduced_precision_reduction && gemm.c.dtype != MHCS_F32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_names_types_and_arithmetic),
        cmocka_unit_test(reduced_partial_sums_are_said_where_they_matter),
        cmocka_unit_test(every_path_can_be_taken_apart_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
