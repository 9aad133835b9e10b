/* SPDX-License-Identifier: Apache-2.0 */
/* Each planted defect does what its line in defect_list.h says, and nothing beside it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "defect.h"
#include "problem.h"

#define COEFFICIENTS 24

/* A mixing GEMM in fp32, x exact in bf16, and its exact result. */
struct mixing {
    struct problem p;
    double *exact;
};

static struct mixing mixing_new(int64_t tokens, int64_t k)
{
    struct problem_shape shape = {.m = COEFFICIENTS, .n = tokens, .k = k, .a_transposed = true};
    struct mixing x = {.p = problem_new(&shape), .exact = calloc((size_t)tokens * 24, 8)};
    uint64_t random = 3;

    assert_non_null(x.exact);
    for (int64_t i = 0; i < COEFFICIENTS * k; i++)
        sim_float_store(SIM_F32, problem_at(x.p.a, SIM_F32, i),
                        (float)bell_next(&random) * 0x1p-20f);
    for (int64_t i = 0; i < tokens * k; i++)
        sim_float_store(SIM_F32, problem_at(x.p.b, SIM_F32, i),
                        sim_round_mantissa((float)bell_next(&random) * 0x1p-15f, 16));
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t j = 0; j < COEFFICIENTS; j++)
            for (int64_t i = 0; i < k; i++)
                x.exact[t * COEFFICIENTS + j] +=
                    (double)sim_float_load(SIM_F32, problem_a(&x.p, j, i)) *
                    sim_float_load(SIM_F32, problem_b(&x.p, i, t));
    return x;
}

static void mixing_free(struct mixing *x)
{
    problem_free(&x->p);
    free(x->exact);
}

static void run(const struct mixing *x, const char *name)
{
    const enum sim_defect defect = sim_defect_find(name);
    struct sim_gemm gemm = x->p.gemm;

    assert_true(defect < SIM_DEFECT_COUNT);
    sim_defect_plant(defect, &gemm);
    assert_int_equal(sim_gemm_run(&gemm), 0);
}

static float result(const struct mixing *x, int64_t token, int64_t coefficient)
{
    return sim_float_load(SIM_F32, problem_c(&x->p, coefficient, token));
}

static double exact(const struct mixing *x, int64_t token, int64_t coefficient)
{
    return x->exact[token * COEFFICIENTS + coefficient];
}

/* Of rounding in fp32: 1e-5 of the size of a result. */
static double slack(const struct mixing *x)
{
    return 1e-5 * 0.04 * sqrt((double)x->p.gemm.k);
}

/* norm2(result - exact) / norm2(exact) over token rows [begin, end). */
static double relative(const struct mixing *x, int64_t begin, int64_t end)
{
    double error = 0, norm = 0;

    for (int64_t t = begin; t < end; t++)
        for (int64_t j = 0; j < COEFFICIENTS; j++) {
            error += pow(result(x, t, j) - exact(x, t, j), 2);
            norm += pow(exact(x, t, j), 2);
        }
    return sqrt(error / norm);
}

/* Share of the results whose lowest mantissa bits are all zero. */
static double share_on_grid(const struct mixing *x, uint32_t bits)
{
    int on = 0, all = (int)x->p.gemm.n * COEFFICIENTS;

    for (int i = 0; i < all; i++)
        on += (sim_float_bits(((float *)x->p.c)[i]) & ((1u << bits) - 1)) == 0;
    return (double)on / all;
}

static void assert_near(double got, double wanted)
{
    if (!(fabs(got / wanted - 1) < 0.15))
        fail_msg("%.3e instead of %.3e", got, wanted);
}

/* One rounding to a unit of u leaves 0.4247 u; doc/metrics.md. */
static void roundings_have_the_size_of_their_format(void **state)
{
    static const struct {
        const char *name;
        double rel;
        uint32_t grid; /* low bits of the result that are zero; 0: as they fall */
    } cases[] = {{"tf32-operands", 2.07e-4, 0},
                 {"bf16-operands", 1.66e-3, 0},
                 {"bf16-partials", 1.66e-3, 5},
                 {"bf16-output", 1.66e-3, 16},
                 {"fp16-output", 2.07e-4, 13}};
    struct mixing x = mixing_new(40, 2048);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run(&x, cases[i].name);
        assert_near(relative(&x, 0, 40), cases[i].rel);
        if (cases[i].grid > 0)
            assert_true(share_on_grid(&x, cases[i].grid) > 0.95);
        else
            assert_true(share_on_grid(&x, 5) < 0.2);
    }
    mixing_free(&x);
}

/* A chain of 2048 sums, each less than one ulp too small. */
static void cut_sums_lean_towards_zero(void **state)
{
    struct mixing x = mixing_new(40, 2048);
    int inward = 0;

    (void)state;
    run(&x, "cut-sums");
    for (int64_t i = 0; i < 40 * COEFFICIENTS; i++)
        inward += fabs(((float *)x.p.c)[i]) < fabs(x.exact[i]);
    assert_true(inward > 0.8 * 40 * COEFFICIENTS);
    assert_true(relative(&x, 0, 40) > 1e-5 && relative(&x, 0, 40) < 1e-4);
    run(&x, "");
    assert_true(relative(&x, 0, 40) < 1e-6);
    mixing_free(&x);
}

static void sums_kept_in_fp16_lose_more_than_one_rounding(void **state)
{
    struct mixing x = mixing_new(40, 2048);

    (void)state;
    run(&x, "fp16-sums");
    assert_true(relative(&x, 0, 40) > 5e-4 && relative(&x, 0, 40) < 5e-3);
    assert_true(share_on_grid(&x, 13) == 1);
    mixing_free(&x);
}

static void the_split_depends_on_the_number_of_token_rows(void **state)
{
    struct mixing few = mixing_new(63, 512), many = mixing_new(64, 512);

    (void)state;
    run(&few, "split-by-tokens");
    run(&many, "split-by-tokens");
    assert_near(relative(&few, 0, 63), 1.66e-3);
    assert_true(relative(&many, 0, 64) < 1e-6);
    mixing_free(&few);
    mixing_free(&many);
}

static void rows_behind_the_last_whole_tile_keep_what_c_held(void **state)
{
    struct mixing x = mixing_new(37, 64);

    (void)state;
    for (int64_t i = 0; i < 37 * COEFFICIENTS; i++)
        ((float *)x.p.c)[i] = 7;
    run(&x, "rows-unwritten");
    assert_true(relative(&x, 0, 32) < 1e-6);
    for (int64_t i = 32 * COEFFICIENTS; i < 37 * COEFFICIENTS; i++)
        assert_true(((float *)x.p.c)[i] == 7);
    mixing_free(&x);
}

static void odd_rows_of_large_calls_hold_the_sum_of_two(void **state)
{
    struct mixing small = mixing_new(1023, 64), large = mixing_new(1024, 64);

    (void)state;
    run(&small, "rows-summed");
    assert_true(relative(&small, 0, 1023) < 1e-6);
    run(&large, "rows-summed");
    for (int64_t t = 0; t < 1024; t++)
        for (int64_t j = 0; j < COEFFICIENTS; j++)
            assert_true(fabs(result(&large, t, j) - exact(&large, t, j) -
                             (t % 2 ? exact(&large, t - 1, j) : 0)) < slack(&large));
    mixing_free(&small);
    mixing_free(&large);
}

/* The sum with the stuck bit is larger by a quarter of its power of two, or right. */
static void one_sm_spoils_one_coefficient_of_its_token_rows(void **state)
{
    struct mixing x = mixing_new(100, 64);
    int spoiled = 0;

    (void)state;
    run(&x, "sm-column");
    for (int64_t t = 0; t < 100; t++)
        for (int64_t j = 0; j < COEFFICIENTS; j++) {
            const double off = fabs(result(&x, t, j) - exact(&x, t, j));

            if (off < slack(&x))
                continue;
            spoiled++;
            assert_true(j == 13 && t >= 48 && t < 64);
            assert_true(off > 0.12 * fabs(exact(&x, t, j)) && off < 0.26 * fabs(exact(&x, t, j)));
        }
    assert_true(spoiled > 2 && spoiled < 14);
    mixing_free(&x);
}

static void comb_is_written_transposed(void **state)
{
    struct mixing x = mixing_new(9, 64);

    (void)state;
    run(&x, "rows-of-comb");
    for (int64_t t = 0; t < 9; t++) {
        for (int64_t j = 0; j < 8; j++)
            assert_true(fabs(result(&x, t, j) / exact(&x, t, j) - 1) < 1e-3);
        for (int64_t j = 0; j < 4; j++)
            for (int64_t k = 0; k < 4; k++)
                assert_true(fabs(result(&x, t, 8 + 4 * j + k) / exact(&x, t, 8 + 4 * k + j) - 1) <
                            1e-3);
    }
    mixing_free(&x);
}

static void each_32nd_row_is_nan(void **state)
{
    struct mixing x = mixing_new(70, 64);

    (void)state;
    run(&x, "nan-partial");
    for (int64_t t = 0; t < 70; t++)
        for (int64_t j = 0; j < COEFFICIENTS; j++)
            assert_true(isnan(result(&x, t, j)) == (t % 32 == 0));
    mixing_free(&x);
}

static void names_are_found_and_others_are_not(void **state)
{
    (void)state;
    assert_int_equal(sim_defect_find(NULL), SIM_NO_DEFECT);
    assert_int_equal(sim_defect_find(""), SIM_NO_DEFECT);
    assert_int_equal(sim_defect_find("rows-summed"), SIM_ROWS_SUMMED);
    assert_int_equal(sim_defect_find("rows"), SIM_DEFECT_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roundings_have_the_size_of_their_format),
        cmocka_unit_test(cut_sums_lean_towards_zero),
        cmocka_unit_test(sums_kept_in_fp16_lose_more_than_one_rounding),
        cmocka_unit_test(the_split_depends_on_the_number_of_token_rows),
        cmocka_unit_test(rows_behind_the_last_whole_tile_keep_what_c_held),
        cmocka_unit_test(odd_rows_of_large_calls_hold_the_sum_of_two),
        cmocka_unit_test(one_sm_spoils_one_coefficient_of_its_token_rows),
        cmocka_unit_test(comb_is_written_transposed),
        cmocka_unit_test(each_32nd_row_is_nan),
        cmocka_unit_test(names_are_found_and_others_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
