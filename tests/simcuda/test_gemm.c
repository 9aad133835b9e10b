/* SPDX-License-Identifier: Apache-2.0 */
/* What gemm.c promises, in every combination of types, transpositions and leading dimensions:
 * exactness where arithmetic is exact, its order of summation, and what it reads and writes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "problem.h"

#define SEED 20

static const enum sim_float types[] = {SIM_F32, SIM_BF16, SIM_F16};

/* Calls `check` for each combination, with shapes that cross and miss the tile edges. */
static void each_layout(void (*check)(const struct problem_shape *shape, uint64_t *random))
{
    uint64_t random = SEED;

    for (unsigned i = 0; i < 3 * 3 * 4; i++) {
        struct problem_shape shape = {.m = 1 + (int64_t)(random_next(&random) % 30),
                                      .n = 1 + (int64_t)(random_next(&random) % 20),
                                      .k = 1 + (int64_t)(random_next(&random) % 200),
                                      .a_type = types[i % 3],
                                      .b_type = types[i % 3],
                                      .c_type = types[i / 3 % 3],
                                      .a_transposed = i / 9 % 2,
                                      .b_transposed = i / 18,
                                      .a_gap = (int64_t)(random_next(&random) % 3),
                                      .b_gap = (int64_t)(random_next(&random) % 3),
                                      .c_gap = (int64_t)(random_next(&random) % 3)};

        check(&shape, &random);
    }
}

static float small_integer(uint64_t *random)
{
    return (float)(int)(random_next(random) % 5) - 2;
}

static void fill(struct problem *p, float (*value)(uint64_t *random), uint64_t *random)
{
    const struct sim_gemm *g = &p->gemm;

    for (int64_t step = 0; step < g->k; step++) {
        for (int64_t row = 0; row < g->m; row++)
            sim_float_store(g->a.type, problem_a(p, row, step), value(random));
        for (int64_t column = 0; column < g->n; column++)
            sim_float_store(g->b.type, problem_b(p, step, column), value(random));
    }
}

/* |sums| < 200 * 4 and alpha, beta, C are small: all is exact, in bf16 too if C stays below 256. */
static void check_integers(const struct problem_shape *shape, uint64_t *random)
{
    struct problem p = problem_new(shape);
    struct sim_gemm *g = &p.gemm;
    int64_t marks = g->ldc * g->n + 1;
    double wanted[30];

    g->k = shape->c_type == SIM_BF16 && g->k > 30 ? 30 : g->k;
    g->alpha = 2;
    g->beta = -3;
    fill(&p, small_integer, random);
    for (int64_t i = 0; i < marks; i++)
        sim_float_store(g->c_type, problem_at(p.c, g->c_type, i), 5);
    assert_int_equal(sim_gemm_run(g), 0);
    for (int64_t column = 0; column < g->n; column++) {
        for (int64_t row = 0; row < g->m; row++) {
            wanted[row] = 0;
            for (int64_t step = 0; step < g->k; step++)
                wanted[row] += (double)sim_float_load(g->a.type, problem_a(&p, row, step)) *
                               sim_float_load(g->b.type, problem_b(&p, step, column));
            assert_true(sim_float_load(g->c_type, problem_c(&p, row, column)) ==
                        2 * wanted[row] - 15);
        }
        for (int64_t row = g->m; row < g->ldc; row++)
            assert_true(sim_float_load(g->c_type, problem_c(&p, row, column)) == 5);
    }
    assert_true(sim_float_load(g->c_type, problem_at(p.c, g->c_type, marks - 1)) == 5);
    problem_free(&p);
}

static void small_integers_are_exact_and_gaps_of_c_stay(void **state)
{
    (void)state;
    each_layout(check_integers);
}

static float bell_value(uint64_t *random)
{
    return (float)bell_next(random) * 0x1p-15f;
}

/* The order that gemm.c's first comment tells, one number at a time. */
static float sum_in_order(const struct problem *p, int64_t row, int64_t column)
{
    const struct sim_gemm *g = &p->gemm;
    const int warps = g->a.type == SIM_F32 && g->multiplier == SIM_MULTIPLY_F32 ? 12 : 2;
    float sums[12] = {0}, sum = 0;

    for (int64_t step = 0; step < g->k; step++) {
        float *warp = &sums[step / 16 % warps];
        float product = sim_float_load(g->a.type, problem_a(p, row, step)) *
                        sim_float_load(g->b.type, problem_b(p, step, column));

        *warp += product;
        if (g->half_accumulator && (step % 16 == 15 || step == g->k - 1))
            *warp = sim_round_f16(*warp);
    }
    for (int warp = 0; warp < warps; warp++)
        sum += sums[warp];
    return g->half_accumulator ? sim_round_f16(sum) : sum;
}

static void check_order(const struct problem_shape *shape, uint64_t *random)
{
    struct problem p = problem_new(shape);
    struct sim_gemm *g = &p.gemm;
    uint32_t wanted, got;

    g->half_accumulator = shape->a_type == SIM_F16 && shape->c_type == SIM_F16;
    fill(&p, bell_value, random);
    assert_int_equal(sim_gemm_run(g), 0);
    for (int64_t column = 0; column < g->n; column++) {
        for (int64_t row = 0; row < g->m; row++) {
            wanted = got = 0;
            sim_float_store(g->c_type, &wanted, sum_in_order(&p, row, column));
            memcpy(&got, problem_c(&p, row, column), sim_float_size(g->c_type));
            if (got != wanted)
                fail_msg("C[%d,%d] of m %d n %d k %d types %d->%d: %#x instead of %#x", (int)row,
                         (int)column, (int)g->m, (int)g->n, (int)g->k, g->a.type, g->c_type, got,
                         wanted);
        }
    }
    problem_free(&p);
}

/* Also shows that a column's result does not depend on its neighbours (batch invariance). */
static void sums_follow_the_documented_order_bit_for_bit(void **state)
{
    (void)state;
    each_layout(check_order);
}

static void beta_zero_does_not_read_c(void **state)
{
    struct problem_shape shape = {.m = 3, .n = 5, .k = 7};
    struct problem p = problem_new(&shape);

    (void)state;
    for (int64_t i = 0; i < 15; i++)
        sim_float_store(SIM_F32, problem_at(p.c, SIM_F32, i), NAN);
    assert_int_equal(sim_gemm_run(&p.gemm), 0);
    for (int64_t i = 0; i < 15; i++)
        assert_true(sim_float_load(SIM_F32, problem_at(p.c, SIM_F32, i)) == 0);
    problem_free(&p);
}

static void without_a_product_the_operands_are_not_read(void **state)
{
    float c[2] = {3, -4};
    struct sim_gemm gemm = {.m = 2, .n = 1, .k = 9, .c = c, .ldc = 2, .alpha = 0, .beta = 0.5f};

    (void)state;
    assert_int_equal(sim_gemm_run(&gemm), 0);
    assert_true(c[0] == 1.5f && c[1] == -2);
    gemm.alpha = 1;
    gemm.k = 0;
    assert_int_equal(sim_gemm_run(&gemm), 0);
    assert_true(c[0] == 0.75f && c[1] == -1);
    gemm.c = NULL;
    gemm.n = 0;
    assert_int_equal(sim_gemm_run(&gemm), 0);
    gemm.n = 1;
    gemm.m = 0;
    assert_int_equal(sim_gemm_run(&gemm), 0);
}

static void fp32_operands_are_rounded_as_the_multiplier_says(void **state)
{
    static const struct {
        enum sim_multiplier multiplier;
        float wanted; /* of 1 + 2^-9 + 2^-10 + 2^-14, times 1 */
    } cases[] = {{SIM_MULTIPLY_F32, 1 + 0x1p-9f + 0x1p-10f + 0x1p-14f},
                 {SIM_MULTIPLY_TF32, 1 + 0x1p-9f + 0x1p-10f},
                 {SIM_MULTIPLY_F16, 1 + 0x1p-9f + 0x1p-10f},
                 {SIM_MULTIPLY_BF16, 1}};
    float value = cases[0].wanted, one = 1, c, swapped;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sim_gemm gemm = {.m = 1,
                                .n = 1,
                                .k = 1,
                                .a = {.data = &value, .ld = 1},
                                .b = {.data = &one, .ld = 1},
                                .c = &c,
                                .ldc = 1,
                                .alpha = 1,
                                .multiplier = cases[i].multiplier};

        assert_int_equal(sim_gemm_run(&gemm), 0);
        gemm.a.data = &one;
        gemm.b.data = &value;
        gemm.c = &swapped;
        assert_int_equal(sim_gemm_run(&gemm), 0);
        assert_true(c == cases[i].wanted && swapped == cases[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_integers_are_exact_and_gaps_of_c_stay),
        cmocka_unit_test(sums_follow_the_documented_order_bit_for_bit),
        cmocka_unit_test(beta_zero_does_not_read_c),
        cmocka_unit_test(without_a_product_the_operands_are_not_read),
        cmocka_unit_test(fp32_operands_are_rounded_as_the_multiplier_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
