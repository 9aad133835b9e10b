/* SPDX-License-Identifier: Apache-2.0 */
#include "mirror.h"

#include <string.h>

#include "kernels/mhc_metrics.h"

#define THREADS 256

static float sum8(const float *v)
{
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* Lanes are folded 16, 8, 4, 2, 1 apart, then the eight warps. */
static float block_sum(const float *thread)
{
    float warp[8];
    for (int w = 0; w < 8; w++) {
        float lane[32];
        memcpy(lane, thread + 32 * w, sizeof(lane));
        for (int apart = 16; apart > 0; apart /= 2)
            for (int i = 0; i < apart; i++)
                lane[i] += lane[i + apart];
        warp[w] = lane[0];
    }
    return sum8(warp);
}

/* sum |a_i b_i| if absolute, else sum a_i b_i. */
static float dot(const void *a, uint32_t a_dtype, size_t a_first, const void *b, uint32_t b_dtype,
                 size_t b_first, uint32_t k, bool absolute)
{
    float thread[THREADS] = {0};
    for (uint32_t first = 0; first < k; first += 8) {
        float product[8] = {0};
        for (uint32_t e = 0; e < 8 && first + e < k; e++) {
            product[e] = mhcs_element(a, a_dtype, a_first + first + e) *
                         mhcs_element(b, b_dtype, b_first + first + e);
            product[e] = absolute ? fabsf(product[e]) : product[e];
        }
        thread[first / 8 % THREADS] += sum8(product);
    }
    return block_sum(thread);
}

void mirror_reference(const struct kernel_case *c, const void *fn, uint32_t fn_dtype,
                      const struct reference_out *out)
{
    const uint32_t m = c->coefficients, k = c->k;
    for (uint32_t r = 0; r < c->rows; r++) {
        const size_t x = (size_t)r * k;
        for (uint32_t j = 0; j < m; j++) {
            const size_t w = (size_t)j * k, to = (size_t)r * MHCS_COEFFICIENTS + j;
            out->raw[to] = c->alpha * dot(fn, fn_dtype, w, c->x_bytes, c->x_dtype, x, k, false);
            if (c->old_c_bytes && c->beta != 0)
                out->raw[to] +=
                    c->beta * mhcs_element(c->old_c_bytes, c->c_dtype, (size_t)r * m + j);
            out->abs_dot[to] =
                fabsf(c->alpha) * dot(fn, fn_dtype, w, c->x_bytes, c->x_dtype, x, k, true);
        }
        out->square_sum[r] = dot(c->x_bytes, c->x_dtype, x, c->x_bytes, c->x_dtype, x, k, false);
    }
}

static float sample_rms(const struct kernel_case *c, const float *square_sum, uint32_t r)
{
    float votes = 0, nonzero = 0;
    for (uint32_t i = 0; i < c->rows; i++) {
        votes += mhcs_votes_normalised_f32(square_sum[i], c->k);
        nonzero += square_sum[i] != 0;
    }
    if (mhcs_is_normalised_f32(votes, nonzero))
        return 1;
    return mhcs_rms_factor_f32(square_sum[r], c->k, c->model.norm_eps);
}

struct y_sums {
    struct mhcs_y_sums_f32 against[MHCS_PATHS];
    bool x_finite;
};

/* Sums over y, the coefficients scaled by a power of two. */
static struct y_sums sum_y(const struct kernel_case *c, uint32_t r, float scale,
                           const struct mhcs_row_result *row, float (*change)[MHCS_COEFFICIENTS])
{
    float aa[THREADS] = {0};
    float bb[MHCS_PATHS][THREADS] = {0}, dd[MHCS_PATHS][THREADS] = {0};
    float ds[MHCS_PATHS][THREADS] = {0}, ab[MHCS_PATHS][THREADS] = {0};
    struct y_sums sums = {.x_finite = true};
    const uint32_t hidden = c->k / 4;

    for (uint32_t d = 0; d < hidden; d++) {
        const uint32_t t = d % THREADS;
        float x[4], p[4];
        for (uint32_t i = 0; i < 4; i++) {
            x[i] = mhcs_element(c->x_bytes, c->x_dtype, (size_t)r * c->k + i * hidden + d);
            p[i] = scale * row->mapped[0][i];
            sums.x_finite = sums.x_finite && x[i] - x[i] == 0;
        }
        const float a = (p[0] * x[0] + p[1] * x[1]) + (p[2] * x[2] + p[3] * x[3]);
        aa[t] += a * a;
        for (int path = 1; path < MHCS_PATHS; path++) {
            for (int i = 0; i < 4; i++)
                p[i] = scale * change[path][i];
            const float e = (p[0] * x[0] + p[1] * x[1]) + (p[2] * x[2] + p[3] * x[3]);
            const float b = a - e;
            bb[path][t] += b * b;
            dd[path][t] += e * e;
            ds[path][t] += e * (a + b);
            ab[path][t] += a * b;
        }
    }
    for (int path = 0; path < MHCS_PATHS; path++)
        sums.against[path] =
            (struct mhcs_y_sums_f32){block_sum(aa), block_sum(bb[path]), block_sum(dd[path]),
                                     block_sum(ds[path]), block_sum(ab[path])};
    return sums;
}

static void finish_row(const struct kernel_case *c, const struct y_sums *y, float scale,
                       const struct mhcs_comparison_f32 *of, const bool *present,
                       struct mhcs_row_result *row)
{
    const uint32_t n = c->coefficients;
    row->nonfinite = y->x_finite ? 0 : MHCS_NONFINITE_X;
    for (int path = 0; path < MHCS_PATHS; path++) {
        const bool finite = mhcs_all_finite_f32(row->raw[path], n);
        if (present[path] && !finite)
            row->nonfinite |= path ? MHCS_NONFINITE_REFERENCE : MHCS_NONFINITE_PRODUCTION;
        row->defect[path] = n == 24 ? mhcs_defect_f32(row->mapped[path] + 8) : mhcs_nan();
        row->y_norm[path] = sqrtf(path ? y->against[path].bb : y->against[path].aa) / scale;
        mhcs_metrics_clear(&row->against[path]);
        if (path && finite && y->x_finite && mhcs_all_finite_f32(row->raw[0], n))
            mhcs_measure_f32(&row->against[path], n, &of[path], row->rms * c->model.scale[2],
                             &y->against[path]);
    }
}

void mirror_compare(const struct kernel_case *c, const struct reference_out *operands,
                    const struct reference_out *checkpoint, struct mhcs_row_result *results)
{
    const uint32_t m = c->coefficients;
    const bool present[] = {true, true, checkpoint != NULL};
    for (uint32_t r = 0; r < c->rows; r++) {
        float raw_change[MHCS_PATHS][MHCS_COEFFICIENTS], change[MHCS_PATHS][MHCS_COEFFICIENTS];
        struct mhcs_row_result *row = &results[r];
        const size_t at = (size_t)r * MHCS_COEFFICIENTS;
        row->rms = sample_rms(c, operands->square_sum, r);
        for (int path = 0; path < MHCS_PATHS; path++) {
            for (uint32_t j = 0; j < MHCS_COEFFICIENTS; j++)
                row->raw[path][j] = row->mapped[path][j] = change[path][j] = mhcs_nan();
            if (!present[path])
                continue;
            for (uint32_t j = 0; j < m; j++)
                row->raw[path][j] = path == MHCS_PRODUCTION
                                        ? mhcs_element(c->c_bytes, c->c_dtype, r * m + j)
                                    : path == MHCS_OPERANDS ? operands->raw[at + j]
                                                            : checkpoint->raw[at + j];
            for (uint32_t j = 0; j < m; j++)
                raw_change[path][j] = row->raw[MHCS_PRODUCTION][j] - row->raw[path][j];
            mhcs_map_change_f32(&c->model, m, row->rms, row->raw[path], raw_change[path],
                                row->mapped[path], change[path]);
            mhcs_settle_change_f32(&c->model, m, row->rms, raw_change[path], row->mapped[path],
                                   row->mapped[MHCS_PRODUCTION], change[path]);
        }
        const float scale = row->rms > 0 ? mhcs_power_f32(row->rms) : 1;
        const struct y_sums y = sum_y(c, r, scale, row, change);
        struct mhcs_comparison_f32 of[MHCS_PATHS];
        for (int path = 0; path < MHCS_PATHS; path++)
            of[path] = (struct mhcs_comparison_f32){row->raw[path], raw_change[path],
                                                    path == MHCS_CHECKPOINT && checkpoint
                                                        ? checkpoint->abs_dot + at
                                                        : operands->abs_dot + at,
                                                    row->mapped[path], change[path]};
        finish_row(c, &y, scale, of, present, row);
    }
}
