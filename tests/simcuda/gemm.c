/* SPDX-License-Identifier: Apache-2.0 */
/* The order of summation is that of a GPU tile kernel with several warps along K: each warp takes
 * 16 steps of K in turn and adds its products one after the other; the warps' sums are added at the
 * end. fp32 multipliers have twelve warps, tensor cores two. At K = 16384 that leaves relative
 * errors of 0.7e-6 and 0.9e-6, within what GPUs show (0.6e-6 for many short chains, 1.6e-6 for few
 * long ones).
 *
 * A panel holds ROWS rows of op(A), or COLUMNS columns of op(B), converted to fp32, the steps of
 * one warp after those of another, all values of one step side by side. One vector then holds ROWS
 * sums of one column, so that vector width changes the speed and never the order.
 */
#include "defect.h"

#include <errno.h>
#include <stdlib.h>

#define SIMT_WARPS   12
#define TENSOR_WARPS 2
#define STEP         16 /* K of one turn of a warp */
#define ROWS         SIM_TILE_ROWS
#define COLUMNS      SIM_TILE_COLUMNS

typedef float lanes __attribute__((vector_size(ROWS * sizeof(float)), aligned(sizeof(float))));

/* Chosen by CPU when the library is loaded; sanitizers do not survive the resolver, which runs
 * before they are initialised. */
#if defined(SIM_CLONES)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int warps_of(const struct sim_gemm *gemm)
{
    if (gemm->splits > 0)
        return gemm->splits;
    if (gemm->cut_sums)
        return 1;
    return gemm->a.type == SIM_F32 && gemm->multiplier == SIM_MULTIPLY_F32 ? SIMT_WARPS
                                                                           : TENSOR_WARPS;
}

static int64_t warp_steps(int64_t k, int warp, int warps)
{
    int64_t turns = k / (warps * STEP), rest = k % (warps * STEP) - warp * STEP;

    return turns * STEP + (rest < 0 ? 0 : min64(rest, STEP));
}

static void round_run(float run[STEP], enum sim_multiplier multiplier)
{
    switch (multiplier) {
    case SIM_MULTIPLY_F32:
        return;
    case SIM_MULTIPLY_TF32:
        for (int i = 0; i < STEP; i++)
            run[i] = sim_round_tf32(run[i]);
        return;
    case SIM_MULTIPLY_BF16:
        for (int i = 0; i < STEP; i++)
            run[i] = sim_round_mantissa(run[i], 16);
        return;
    case SIM_MULTIPLY_F16:
        for (int i = 0; i < STEP; i++)
            run[i] = sim_round_f16(run[i]);
        return;
    }
}

/* Where element (lane, step) of a panel's matrix is: lanes are rows of op(A), columns of op(B). */
struct view {
    const unsigned char *data;
    enum sim_float type;
    int64_t lane_stride, step_stride; /* bytes */
    int64_t lanes, steps;
};

static struct view view_of(const struct sim_gemm_operand *x, bool lanes_are_rows,
                           int64_t lane_count, int64_t steps)
{
    int64_t size = (int64_t)sim_float_size(x->type);
    bool lane_contiguous = lanes_are_rows != x->transposed;

    return (struct view){.data = x->data,
                         .type = x->type,
                         .lane_stride = lane_contiguous ? size : size * x->ld,
                         .step_stride = lane_contiguous ? size * x->ld : size,
                         .lanes = lane_count,
                         .steps = steps};
}

/* Packs lanes [first, first + width) into a panel; lanes past the matrix are zero. */
static void pack(float *panel, const struct view *view, int64_t first, int width,
                 const struct sim_gemm *gemm)
{
    const int warps = warps_of(gemm);

    for (int warp = 0; warp < warps; warp++) {
        for (int64_t step = warp * STEP; step < view->steps; step += warps * STEP) {
            int64_t count = min64(STEP, view->steps - step);

            for (int lane = 0; lane < width; lane++) {
                float run[STEP] = {0};

                if (first + lane < view->lanes) {
                    const unsigned char *from =
                        view->data + (first + lane) * view->lane_stride + step * view->step_stride;

                    for (int64_t i = 0; i < count; i++)
                        run[i] = sim_float_load(view->type, from + i * view->step_stride);
                    round_run(run, gemm->multiplier);
                }
                for (int64_t i = 0; i < count; i++)
                    panel[i * width + lane] = run[i];
            }
            panel += count * width;
        }
    }
}

CLONES static void accumulate(float sums[COLUMNS][ROWS], const float *a, const float *b,
                              int64_t steps)
{
    lanes sum[COLUMNS];

    memcpy(sum, sums, sizeof sum);
    for (int64_t step = 0; step < steps; step++) {
        lanes row = *(const lanes *)(a + step * ROWS);

        for (int column = 0; column < COLUMNS; column++)
            sum[column] += row * b[step * COLUMNS + column];
    }
    memcpy(sums, sum, sizeof sum);
}

/* Products are exact in double; their sum is as good as exact. */
static float cut_off(double sum)
{
    float near = (float)sum;
    bool outward = near > 0 ? near > sum : near < sum;

    return outward ? sim_bits_float(sim_float_bits(near) - 1) : near;
}

static void accumulate_cut(float sums[COLUMNS][ROWS], const float *a, const float *b, int64_t steps)
{
    for (int64_t step = 0; step < steps; step++)
        for (int column = 0; column < COLUMNS; column++)
            for (int row = 0; row < ROWS; row++)
                sums[column][row] =
                    cut_off((double)sums[column][row] +
                            (double)a[step * ROWS + row] * (double)b[step * COLUMNS + column]);
}

static void round_sums(float sums[COLUMNS][ROWS])
{
    for (int column = 0; column < COLUMNS; column++)
        for (int row = 0; row < ROWS; row++)
            sums[column][row] = sim_round_f16(sums[column][row]);
}

/* One warp's share of a tile of C. */
static void warp_run(float sums[COLUMNS][ROWS], const float *a, const float *b, int64_t steps,
                     const struct sim_gemm *gemm)
{
    if (gemm->cut_sums) {
        accumulate_cut(sums, a, b, steps);
        return;
    }
    if (!gemm->half_accumulator) {
        accumulate(sums, a, b, steps);
        return;
    }
    for (int64_t step = 0; step < steps; step += STEP) {
        accumulate(sums, a + step * ROWS, b + step * COLUMNS, min64(STEP, steps - step));
        round_sums(sums);
    }
}

static void tile_sum(float sums[COLUMNS][ROWS], const float *a, const float *b,
                     const struct sim_gemm *gemm)
{
    const int warps = warps_of(gemm);

    memset(sums, 0, sizeof(float[COLUMNS][ROWS]));
    for (int warp = 0; warp < warps; warp++) {
        int64_t steps = warp_steps(gemm->k, warp, warps);
        float partial[COLUMNS][ROWS] = {0};

        warp_run(partial, a, b, steps, gemm);
        for (int column = 0; column < COLUMNS; column++)
            for (int row = 0; row < ROWS; row++)
                sums[column][row] += gemm->splits > 0 ? sim_round_mantissa(partial[column][row], 16)
                                                      : partial[column][row];
        a += steps * ROWS;
        b += steps * COLUMNS;
    }
    if (gemm->half_accumulator)
        round_sums(sums);
}

static void store_tile(const struct sim_gemm *gemm, int64_t first_row, int64_t first_column,
                       float sums[COLUMNS][ROWS])
{
    int64_t size = (int64_t)sim_float_size(gemm->c_type);
    int64_t rows = min64(ROWS, gemm->m - first_row);
    int64_t columns = min64(COLUMNS, gemm->n - first_column);

    for (int64_t column = 0; column < columns; column++) {
        for (int64_t row = 0; row < rows; row++) {
            int64_t place = sim_defect_place(gemm, first_row + row, first_column + column);
            unsigned char *to =
                (unsigned char *)gemm->c + (place + (first_column + column) * gemm->ldc) * size;
            float value = gemm->alpha * sums[column][row];

            if (place < 0)
                continue;
            if (gemm->beta != 0)
                value += gemm->beta * sim_float_load(gemm->c_type, to);
            sim_float_store(gemm->c_type, to, value);
        }
    }
}

/* Without a product: C = beta C. */
static void scale_c(const struct sim_gemm *gemm)
{
    float none[COLUMNS][ROWS] = {0};
    struct sim_gemm scaled = *gemm;

    scaled.alpha = 0;
    for (int64_t column = 0; column < gemm->n; column += COLUMNS)
        for (int64_t row = 0; row < gemm->m; row += ROWS)
            store_tile(&scaled, row, column, none);
}

int sim_gemm_run(const struct sim_gemm *gemm)
{
    struct view a = view_of(&gemm->a, true, gemm->m, gemm->k);
    struct view b = view_of(&gemm->b, false, gemm->n, gemm->k);
    int64_t panels = (gemm->m + ROWS - 1) / ROWS;
    float *a_panels, *b_panel, sums[COLUMNS][ROWS];
    int ret = -ENOMEM;

    if (gemm->m == 0 || gemm->n == 0)
        return 0;
    if (gemm->k == 0 || gemm->alpha == 0) {
        scale_c(gemm);
        return 0;
    }
    a_panels = calloc((size_t)(panels * gemm->k), ROWS * sizeof(float));
    b_panel = calloc((size_t)gemm->k, COLUMNS * sizeof(float));
    if (a_panels == NULL || b_panel == NULL)
        goto out;
    for (int64_t i = 0; i < panels; i++)
        pack(a_panels + i * gemm->k * ROWS, &a, i * ROWS, ROWS, gemm);
    for (int64_t column = 0; column < gemm->n; column += COLUMNS) {
        pack(b_panel, &b, column, COLUMNS, gemm);
        for (int64_t i = 0; i < panels; i++) {
            tile_sum(sums, a_panels + i * gemm->k * ROWS, b_panel, gemm);
            sim_defect_sums(gemm, i * ROWS, column, sums);
            store_tile(gemm, i * ROWS, column, sums);
        }
    }
    ret = 0;
out:
    free(a_panels);
    free(b_panel);
    return ret;
}
