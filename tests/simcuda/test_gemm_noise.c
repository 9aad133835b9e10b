/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of gemm.c against fp64: the noise table of doc/metrics.md at the model's K, and a proven
 * bound at random shapes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <cmocka.h>

#include "problem.h"

#define U_F32  0x1p-24
#define U_TF32 0x1p-11
#define U_F16  0x1p-11
#define U_BF16 0x1p-8

/* The shape of the vectors: fn about 0.036 with a full fp32 mantissa, x about 1.15 and exact in
 * bf16, both bell-shaped. */
#define COEFFICIENTS 24
#define TOKENS       48
#define K            16384

struct path {
    const char *name;
    enum sim_float weights, out;
    enum sim_multiplier multiplier;
    double operands_low, operands_high; /* rel against the operands as given */
    double checkpoint;                  /* rel against the fp32 weights; 0: as operands */
};

/* rel: norm2(got - c) / norm2(c) over all rows. One rounding to a unit of u has 0.4247 u, here
 * for bf16 0.4247 * 2^-8 = 1.66e-3; independent ones add in squares. */
static const struct path paths[] = {
    {"fp32", SIM_F32, SIM_F32, SIM_MULTIPLY_F32, 0.6e-6, 1.6e-6, 0},
    {"TF32", SIM_F32, SIM_F32, SIM_MULTIPLY_TF32, 0.85 * 2.1e-4, 1.15 * 2.1e-4, 0},
    {"bf16 out", SIM_F32, SIM_BF16, SIM_MULTIPLY_F32, 0.85 * 1.66e-3, 1.15 * 1.66e-3, 0},
    /* bf16 products have 16 bits: many additions are exact. */
    {"bf16 weights", SIM_BF16, SIM_F32, SIM_MULTIPLY_F32, 0.4e-6, 1.6e-6, 1.63e-3},
    {"bf16 weights and out", SIM_BF16, SIM_BF16, SIM_MULTIPLY_F32, 0.85 * 1.66e-3, 1.15 * 1.66e-3,
     2.34e-3},
    {"fp16 weights", SIM_F16, SIM_F32, SIM_MULTIPLY_F32, 0.6e-6, 1.6e-6, 2.1e-4},
    {"fp16 weights and out", SIM_F16, SIM_F16, SIM_MULTIPLY_F32, 0.85 * 2.1e-4, 1.15 * 2.1e-4,
     2.95e-4},
};

/* Exact to fp64 rounding, by different code: plain loops over packed fp64. */
static void fp64_product(const double *fn, const double *x, double *c)
{
    for (int t = 0; t < TOKENS; t++) {
        for (int j = 0; j < COEFFICIENTS; j++) {
            double sum = 0;

            for (int i = 0; i < K; i++)
                sum += fn[j * K + i] * x[t * K + i];
            c[t * COEFFICIENTS + j] = sum;
        }
    }
}

static double relative(const double *got, const double *wanted)
{
    double error = 0, norm = 0;

    for (int i = 0; i < TOKENS * COEFFICIENTS; i++) {
        error += (got[i] - wanted[i]) * (got[i] - wanted[i]);
        norm += wanted[i] * wanted[i];
    }
    return sqrt(error / norm);
}

static void draw(double *values, int count, double unit, bool round, uint64_t *random)
{
    for (int i = 0; i < count; i++) {
        float value = (float)bell_next(random) * (float)unit;

        values[i] = round ? sim_round_mantissa(value, 16) : value;
    }
}

static void run_path(const struct path *path, const double *fn, const double *x, double *rounded_fn,
                     double *got)
{
    struct problem_shape shape = {.m = COEFFICIENTS,
                                  .n = TOKENS,
                                  .k = K,
                                  .a_type = path->weights,
                                  .b_type = path->weights,
                                  .c_type = path->out,
                                  .a_transposed = true};
    struct problem p = problem_new(&shape);

    p.gemm.multiplier = path->multiplier;
    for (int i = 0; i < COEFFICIENTS * K; i++) {
        sim_float_store(path->weights, problem_at(p.a, path->weights, i), (float)fn[i]);
        rounded_fn[i] = sim_float_load(path->weights, problem_at(p.a, path->weights, i));
    }
    for (int i = 0; i < TOKENS * K; i++)
        sim_float_store(path->weights, problem_at(p.b, path->weights, i), (float)x[i]);
    assert_int_equal(sim_gemm_run(&p.gemm), 0);
    for (int i = 0; i < TOKENS * COEFFICIENTS; i++)
        got[i] = sim_float_load(path->out, problem_at(p.c, path->out, i));
    problem_free(&p);
}

static void each_precision_has_the_noise_of_the_table(void **state)
{
    double *fn = calloc(COEFFICIENTS * K, sizeof *fn), *x = calloc(TOKENS * K, sizeof *x);
    double *rounded_fn = calloc(COEFFICIENTS * K, sizeof *fn);
    double exact[TOKENS * COEFFICIENTS], operands[TOKENS * COEFFICIENTS];
    double got[TOKENS * COEFFICIENTS];
    uint64_t random = 5;

    (void)state;
    assert_true(fn && x && rounded_fn);
    draw(x, TOKENS * K, 0x1p-15, true, &random);
    draw(fn, COEFFICIENTS * K, 0x1p-20, false, &random);
    fp64_product(fn, x, exact);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const struct path *path = &paths[i];
        double against_operands, against_checkpoint;

        run_path(path, fn, x, rounded_fn, got);
        fp64_product(rounded_fn, x, operands);
        against_operands = relative(got, operands);
        against_checkpoint = relative(got, exact);
        printf("%-22s %.3e against operands, %.3e against checkpoint\n", path->name,
               against_operands, against_checkpoint);
        assert_true(against_operands > path->operands_low);
        assert_true(against_operands < path->operands_high);
        if (path->checkpoint > 0)
            assert_true(fabs(against_checkpoint / path->checkpoint - 1) < 0.15);
    }
    free(fn);
    free(x);
    free(rounded_fn);
}

static double unit_of(enum sim_float type)
{
    return type == SIM_F32 ? U_F32 : type == SIM_BF16 ? U_BF16 : U_F16;
}

/* Largest |got - c| over its bound: (2u + u^2 + gamma) sum|a b| for rounded operands and fp32 sums,
 * then one rounding to C's type, plus half an fp16 subnormal. */
static double worst_over_bound(const struct problem *p)
{
    static const double units[] = {[SIM_MULTIPLY_F32] = 0,
                                   [SIM_MULTIPLY_TF32] = U_TF32,
                                   [SIM_MULTIPLY_BF16] = U_BF16,
                                   [SIM_MULTIPLY_F16] = U_F16};
    const struct sim_gemm *g = &p->gemm;
    double u = units[g->multiplier], operands = 2 * u + u * u;
    double steps = (double)g->k + 8, gamma = steps * U_F32 / (1 - steps * U_F32), worst = 0;

    for (int64_t row = 0; row < g->m; row++) {
        for (int64_t column = 0; column < g->n; column++) {
            double exact = 0, absolute = 0, bound;

            for (int64_t step = 0; step < g->k; step++) {
                double product = (double)sim_float_load(g->a.type, problem_a(p, row, step)) *
                                 sim_float_load(g->b.type, problem_b(p, step, column));

                exact += product;
                absolute += fabs(product);
            }
            exact *= g->alpha;
            bound = (operands + gamma * (1 + operands)) * absolute * fabs(g->alpha);
            bound += unit_of(g->c_type) * (fabs(exact) + bound) + 0x1p-25;
            worst = fmax(worst, fabs(sim_float_load(g->c_type, problem_c(p, row, column)) - exact) /
                                    bound);
        }
    }
    return worst;
}

static void any_shape_stays_within_the_proven_bound(void **state)
{
    uint64_t seed = (uint64_t)time(NULL), random = seed;

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < 3 * 3 * 4 * 4; i++) {
        struct problem_shape shape = {.m = 1 + (int64_t)(random_next(&random) % 30),
                                      .n = 1 + (int64_t)(random_next(&random) % 12),
                                      .k = 1 + (int64_t)(random_next(&random) % 700),
                                      .a_type = i % 3,
                                      .b_type = i % 3,
                                      .c_type = i / 3 % 3,
                                      .a_transposed = i / 9 % 2,
                                      .b_transposed = i / 18 % 2,
                                      .a_gap = (int64_t)(random_next(&random) % 5),
                                      .b_gap = (int64_t)(random_next(&random) % 5),
                                      .c_gap = (int64_t)(random_next(&random) % 5)};
        struct problem p = problem_new(&shape);
        double worst;

        p.gemm.multiplier = shape.a_type == SIM_F32 ? i / 36 : SIM_MULTIPLY_F32;
        p.gemm.alpha = -1.5f;
        for (int64_t step = 0; step < shape.k; step++) {
            for (int64_t row = 0; row < shape.m; row++)
                sim_float_store(shape.a_type, problem_a(&p, row, step),
                                (float)bell_next(&random) * 0x1p-16f);
            for (int64_t column = 0; column < shape.n; column++)
                sim_float_store(shape.b_type, problem_b(&p, step, column),
                                (float)bell_next(&random) * 0x1p-15f);
        }
        assert_int_equal(sim_gemm_run(&p.gemm), 0);
        worst = worst_over_bound(&p);
        if (!(worst <= 1))
            fail_msg("error %.3e of its bound: m %d n %d k %d, combination %u", worst, (int)shape.m,
                     (int)shape.n, (int)shape.k, i);
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_precision_has_the_noise_of_the_table),
        cmocka_unit_test(any_shape_stays_within_the_proven_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
