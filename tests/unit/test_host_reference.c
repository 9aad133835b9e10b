/* SPDX-License-Identifier: Apache-2.0 */
/* What the host back end says of rows that are zero, not finite, normalised or wrong. Ordinary rows
 * are held against the oracle in tests/vectors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shadow/host_reference.h"
#include "tools/microtest/bell.h"

#define M 24
#define K 64
#define R 4

/* A GEMM whose production result is exact but for 0.1 %. */
struct gemm {
    float fn[M][K], x[R][K], c[R][M];
    struct mhcs_model_params model;
    struct mhcs_host_slot slot;
    struct mhcs_row_result result[R];
};

static void compute_c(struct gemm *g, uint32_t r)
{
    for (uint32_t j = 0; j < M; j++) {
        double sum = 0;
        for (uint32_t k = 0; k < K; k++)
            sum += (double)g->fn[j][k] * (double)g->x[r][k];
        g->c[r][j] = (float)(sum * (j % 2 ? 1.001 : 0.999));
    }
}

static int set_up(void **state)
{
    struct gemm *const g = calloc(1, sizeof(*g));
    uint64_t random = 3;
    if (!g)
        return -1;
    for (uint32_t i = 0; i < M * K; i++)
        g->fn[i / K][i % K] = (float)(0.05 * bell_next(&random) / BELL_DEVIATION);
    for (uint32_t i = 0; i < R * K; i++)
        g->x[i / K][i % K] = (float)(3 * bell_next(&random) / BELL_DEVIATION);
    for (uint32_t r = 0; r < R; r++)
        compute_c(g, r);
    g->model = (struct mhcs_model_params){
        .scale = {1, 1, 1}, .hc_eps = 1e-6f, .norm_eps = 1e-6f, .iterations = 20};
    g->slot = (struct mhcs_host_slot){
        .fn = g->fn, .x = g->x, .c = g->c, .alpha = 1, .coefficients = M, .k = K, .rows = R};
    *state = g;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static const struct mhcs_row_metrics *run(struct gemm *g, uint32_t r)
{
    assert_int_equal(mhcs_host_reference(&g->slot, &g->model, g->result), 0);
    return &g->result[r].against[MHCS_OPERANDS];
}

static bool all_nan(const struct mhcs_row_metrics *metrics)
{
    const float *const values = (const float *)metrics;
    for (size_t i = 0; i < sizeof(*metrics) / sizeof(*values); i++)
        if (!isnan(values[i]))
            return false;
    return true;
}

static void an_ordinary_row_has_every_metric(void **state)
{
    const struct mhcs_row_metrics *const m = run(*state, 0);
    const float *const values = (const float *)m;
    for (size_t i = 0; i < sizeof(*m) / sizeof(*values); i++)
        assert_true(isfinite(values[i]));
    assert_true(fabs((double)m->rel - 1e-3) < 1e-6);
}

static void paths_that_are_not_there_are_nan(void **state)
{
    struct gemm *const g = *state;
    run(g, 0);
    assert_true(all_nan(&g->result[0].against[MHCS_PRODUCTION]));
    assert_true(all_nan(&g->result[0].against[MHCS_CHECKPOINT]));
    for (int j = 0; j < M; j++)
        assert_true(isnan(g->result[0].raw[MHCS_CHECKPOINT][j]) &&
                    isnan(g->result[0].mapped[MHCS_CHECKPOINT][j]));
    assert_int_equal(g->result[0].nonfinite, 0);
}

static void a_zero_row_has_no_metric(void **state)
{
    struct gemm *const g = *state;
    memset(g->x[1], 0, sizeof(g->x[1]));
    memset(g->c[1], 0, sizeof(g->c[1]));
    assert_true(all_nan(run(g, 1)));
    assert_int_equal(g->result[1].nonfinite, 0);
    assert_true(g->result[1].rms == 1000);
}

static void a_zero_reference_with_another_production_shows_in_max_abs_alone(void **state)
{
    struct gemm *const g = *state;
    memset(g->x[1], 0, sizeof(g->x[1]));
    memset(g->c[1], 0, sizeof(g->c[1]));
    g->c[1][7] = -2.5f;
    struct mhcs_row_metrics m = *run(g, 1);
    assert_true(m.max_abs == 2.5f);
    m.max_abs = NAN;
    assert_true(all_nan(&m));
}

static void what_is_not_finite_is_named_and_has_no_metric(void **state)
{
    struct gemm *const g = *state;
    g->c[1][3] = NAN;
    g->x[2][5] = INFINITY;
    g->slot.beta = 1;
    float old_c[R][M] = {{0}};
    old_c[3][0] = -INFINITY;
    g->slot.old_c = old_c;
    run(g, 0);
    assert_int_equal(g->result[0].nonfinite, 0);
    assert_int_equal(g->result[1].nonfinite, MHCS_NONFINITE_PRODUCTION);
    assert_int_equal(g->result[2].nonfinite, MHCS_NONFINITE_X | MHCS_NONFINITE_REFERENCE);
    assert_int_equal(g->result[3].nonfinite, MHCS_NONFINITE_REFERENCE);
    for (int r = 1; r < R; r++)
        assert_true(all_nan(&g->result[r].against[MHCS_OPERANDS]));
}

static void an_old_c_of_nan_is_not_read_when_beta_is_zero(void **state)
{
    struct gemm *const g = *state;
    float old_c[R][M];
    memset(old_c, 0xff, sizeof(old_c));
    g->slot.old_c = old_c;
    const float rel = run(g, 0)->rel;
    assert_true(fabs((double)rel - 1e-3) < 1e-6);
}

static void an_exact_row_has_no_error_and_no_bias(void **state)
{
    struct gemm *const g = *state;
    for (uint32_t r = 0; r < R; r++)
        for (uint32_t i = 0; i < M; i++)
            g->fn[i][r] = g->x[r][i] = i == r; /* one product, no rounding */
    memset(g->x, 0, sizeof(g->x));
    g->x[0][0] = 1;
    for (uint32_t j = 0; j < M; j++)
        g->c[0][j] = g->fn[j][0];
    const struct mhcs_row_metrics *const m = run(g, 0);
    assert_true(m->rel == 0 && m->max_abs == 0 && m->backward == 0 && m->ulp == 0);
    assert_true(m->pre_err == 0 && m->comb_err == 0 && m->y_rel == 0 && m->y_cosdist == 0);
    assert_true(isnan(m->bias));
}

static void huge_and_tiny_rows_keep_their_metrics(void **state)
{
    struct gemm *const g = *state;
    const float scale[R] = {1, 0x1p50f, 0x1p-60f, -1};
    for (uint32_t r = 1; r < R; r++) {
        for (uint32_t k = 0; k < K; k++)
            g->x[r][k] = g->x[0][k] * scale[r];
        for (uint32_t j = 0; j < M; j++)
            g->c[r][j] = g->c[0][j] * scale[r];
    }
    g->model.norm_eps = 0;
    run(g, 0);
    const struct mhcs_row_metrics *const want = &g->result[0].against[MHCS_OPERANDS];
    for (uint32_t r = 1; r < 3; r++) {
        const struct mhcs_row_metrics *const have = &g->result[r].against[MHCS_OPERANDS];
        assert_true(have->rel == want->rel && have->condition == want->condition);
        assert_true(have->y_rel == want->y_rel && have->comb_err == want->comb_err);
        assert_true(have->max_abs == want->max_abs * scale[r]);
    }
}

static void normalise(float *x)
{
    double square = 0;
    for (uint32_t k = 0; k < K; k++)
        square += (double)x[k] * (double)x[k];
    for (uint32_t k = 0; k < K; k++)
        x[k] = (float)((double)x[k] / sqrt(square / K));
}

static void a_normalised_sample_is_not_normalised_again(void **state)
{
    struct gemm *const g = *state;
    for (uint32_t r = 0; r < R; r++)
        normalise(g->x[r]);
    for (uint32_t k = 0; k < K; k++)
        g->x[3][k] *= 1e-2f; /* was next to norm_eps: shares the others' verdict */
    run(g, 0);
    for (uint32_t r = 0; r < R; r++)
        assert_true(g->result[r].rms == 1);
}

static void one_row_that_looks_normalised_by_chance_is_outvoted(void **state)
{
    struct gemm *const g = *state;
    normalise(g->x[2]);
    for (uint32_t k = 0; k < K; k++)
        g->x[2][k] *= 1.0003f;
    run(g, 0);
    assert_true(fabs((double)g->result[2].rms - 1 / 1.0003) < 1e-5);
    assert_true(g->result[0].rms < 0.7f);
}

static void transposed_comb_is_seen(void **state)
{
    struct gemm *const g = *state;
    const float before = run(g, 0)->comb_err;
    const float first = g->c[0][9];
    g->c[0][9] = g->c[0][12]; /* comb[0][1] and comb[1][0] */
    g->c[0][12] = first;
    assert_true(run(g, 0)->comb_err > 20 * before);
}

static void check_finds_an_error_in_the_reference(void **state)
{
    struct gemm *const g = *state;
    float raw[R][M], rel[R];
    run(g, 0);
    for (uint32_t r = 0; r < R; r++)
        memcpy(raw[r], g->result[r].raw[MHCS_OPERANDS], sizeof(raw[r]));
    raw[1][4] *= 1.01f;
    raw[2][0] = NAN;
    assert_int_equal(mhcs_host_check(&g->slot, raw[0], rel), 0);
    assert_true(rel[0] < 6e-8f && rel[3] < 6e-8f);
    assert_true(rel[1] > 1e-5f && rel[1] < 1e-2f);
    assert_true(isnan(rel[2]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_ordinary_row_has_every_metric),
        TEST(paths_that_are_not_there_are_nan),
        TEST(a_zero_row_has_no_metric),
        TEST(a_zero_reference_with_another_production_shows_in_max_abs_alone),
        TEST(what_is_not_finite_is_named_and_has_no_metric),
        TEST(an_old_c_of_nan_is_not_read_when_beta_is_zero),
        TEST(an_exact_row_has_no_error_and_no_bias),
        TEST(huge_and_tiny_rows_keep_their_metrics),
        TEST(a_normalised_sample_is_not_normalised_again),
        TEST(one_row_that_looks_normalised_by_chance_is_outvoted),
        TEST(transposed_comb_is_seen),
        TEST(check_finds_an_error_in_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
