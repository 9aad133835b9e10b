/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>

typedef long double real;

static void gemm(const struct kernel_case *c, uint32_t r, const float *fn, struct oracle_path *path)
{
    for (uint32_t j = 0; j < c->coefficients; j++) {
        real dot = 0, size = 0;
        for (uint32_t i = 0; i < c->k; i++) {
            const real product = (real)fn[(size_t)j * c->k + i] * (real)c->x[(size_t)r * c->k + i];
            dot += product;
            size += fabsl(product);
        }
        dot *= (real)c->alpha;
        if (c->beta != 0)
            dot += (real)c->beta * (real)c->old_c[r * c->coefficients + j];
        path->raw[j] = (double)dot;
        path->abs_dot[j] = (double)(size * fabsl((real)c->alpha));
    }
}

static real sigmoid(real z)
{
    return 1 / (1 + expl(-z));
}

/* c[input stream][output stream] from logits. */
static void sinkhorn(real c[4][4], int iterations, real eps)
{
    for (int row = 0; row < 4; row++) {
        real sum = 0;
        for (int col = 0; col < 4; col++)
            sum += expl(c[row][col]);
        for (int col = 0; col < 4; col++)
            c[row][col] = expl(c[row][col]) / sum + eps;
    }
    for (int pass = 1; pass < 2 * iterations; pass++)
        for (int line = 0; line < 4; line++) { /* odd passes take columns */
            real sum = eps;
            for (int i = 0; i < 4; i++)
                sum += pass % 2 ? c[i][line] : c[line][i];
            for (int i = 0; i < 4; i++)
                *(pass % 2 ? &c[i][line] : &c[line][i]) /= sum;
        }
}

static void map(const struct kernel_case *c, double rms, struct oracle_path *path)
{
    const struct mhcs_model_params *model = &c->model;
    real z[MHCS_COEFFICIENTS];
    for (uint32_t j = 0; j < c->coefficients; j++) {
        const int group = j < 4 ? 0 : j < 8 ? 1 : 2;
        z[j] = (real)path->raw[j] * (real)rms * (real)model->scale[group] + (real)model->base[j];
    }
    for (int j = 0; j < 4; j++)
        path->mapped[j] = (double)(sigmoid(z[j]) + (real)model->hc_eps);
    if (c->coefficients == 4)
        return;
    for (int j = 4; j < 8; j++)
        path->mapped[j] = (double)(2 * sigmoid(z[j]));

    real comb[4][4];
    for (int i = 0; i < 16; i++)
        comb[i / 4][i % 4] = z[8 + i];
    sinkhorn(comb, model->iterations, (real)model->hc_eps);
    path->defect = 0;
    for (int row = 0; row < 4; row++) {
        real sum = -1;
        for (int col = 0; col < 4; col++) {
            path->mapped[8 + 4 * row + col] = (double)comb[row][col];
            sum += comb[row][col];
        }
        path->defect = fmax(path->defect, (double)fabsl(sum));
    }
}

static void collapse(const struct kernel_case *c, uint32_t r, struct oracle_path *path)
{
    const uint32_t hidden = c->k / 4;
    const float *x = c->x + (size_t)r * c->k;
    real square = 0;
    path->y = calloc(hidden, sizeof(*path->y));
    if (!path->y)
        abort();
    for (uint32_t d = 0; d < hidden; d++) {
        for (uint32_t i = 0; i < 4; i++)
            path->y[d] += (real)path->mapped[i] * (real)x[i * hidden + d];
        square += path->y[d] * path->y[d];
    }
    path->y_norm = (double)sqrtl(square);
}

/* norm2(a - b) / norm2(b) of elements from .. to - 1. */
static double relative(const double *a, const double *b, uint32_t from, uint32_t to)
{
    real top = 0, bottom = 0;
    for (uint32_t i = from; i < to; i++) {
        top += ((real)a[i] - b[i]) * ((real)a[i] - b[i]);
        bottom += (real)b[i] * b[i];
    }
    return (double)sqrtl(top / bottom);
}

static double bf16_ulp(double size)
{
    return ldexp(1, ilogb(size) - 7);
}

static void measure_raw(struct oracle_metrics *m, const struct oracle_path *a,
                        const struct oracle_path *b, uint32_t n)
{
    double square = 0, error_square = 0, error_sum = 0;
    *m = (struct oracle_metrics){.rel = relative(a->raw, b->raw, 0, n),
                                 .rel_pre = relative(a->raw, b->raw, 0, 4)};
    for (uint32_t i = 0; i < n; i++) {
        square += b->raw[i] * b->raw[i];
        error_sum += a->raw[i] - b->raw[i];
        error_square += (a->raw[i] - b->raw[i]) * (a->raw[i] - b->raw[i]);
    }
    m->bias = error_sum / n / sqrt(error_square / n);
    for (uint32_t i = 0; i < n; i++) {
        const double error = fabs(a->raw[i] - b->raw[i]), size = fabs(b->raw[i]);
        m->max_abs = fmax(m->max_abs, error);
        m->backward = fmax(m->backward, error / b->abs_dot[i]);
        m->condition = fmax(m->condition, b->abs_dot[i] / size);
        m->ulp = fmax(m->ulp, error / bf16_ulp(fmax(size, sqrt(square / n))));
    }
}

static void measure_mapped(struct oracle_metrics *m, const struct oracle_path *a,
                           const struct oracle_path *b, double logit_per_raw)
{
    double variance = 0, dz = 0;
    m->rel_post = relative(a->raw, b->raw, 4, 8);
    m->rel_comb = relative(a->raw, b->raw, 8, 24);
    m->post_err = relative(a->mapped, b->mapped, 4, 8);
    m->comb_err = relative(a->mapped, b->mapped, 8, 24);
    for (int row = 0; row < 4; row++) {
        double variation = 0;
        for (int i = 8 + 4 * row; i < 12 + 4 * row; i++) {
            const double error = fabs(a->mapped[i] - b->mapped[i]);
            variation += error / 2;
            m->comb_max_abs = fmax(m->comb_max_abs, error);
            variance = fmax(variance, b->mapped[i] * (1 - b->mapped[i]));
            dz += pow((a->raw[i] - b->raw[i]) * logit_per_raw, 2);
        }
        m->comb_tv = fmax(m->comb_tv, variation);
    }
    m->bound = 2 * variance * sqrt(dz);
}

static void measure_y(struct oracle_metrics *m, const struct oracle_path *a,
                      const struct oracle_path *b, uint32_t hidden)
{
    real dot = 0, aa = 0, bb = 0, dd = 0;
    for (uint32_t d = 0; d < hidden; d++) {
        dot += a->y[d] * b->y[d];
        aa += a->y[d] * a->y[d];
        bb += b->y[d] * b->y[d];
        dd += (a->y[d] - b->y[d]) * (a->y[d] - b->y[d]);
    }
    m->y_rel = (double)sqrtl(dd / bb);
    m->y_cosdist = fmax(0, (double)(1 - dot / sqrtl(aa * bb)));
}

struct oracle_row oracle_row(const struct kernel_case *c, uint32_t r)
{
    struct oracle_row row = {0};
    real square = 0;
    for (uint32_t i = 0; i < c->k; i++)
        square += (real)c->x[(size_t)r * c->k + i] * (real)c->x[(size_t)r * c->k + i];
    row.rms = (double)(1 / sqrtl(square / c->k + (real)c->model.norm_eps));

    for (uint32_t j = 0; j < c->coefficients; j++)
        row.path[MHCS_PRODUCTION].raw[j] = (double)c->c[r * c->coefficients + j];
    gemm(c, r, c->fn, &row.path[MHCS_OPERANDS]);
    gemm(c, r, c->checkpoint ? c->checkpoint : c->fn, &row.path[MHCS_CHECKPOINT]);
    for (int path = 0; path < MHCS_PATHS; path++) {
        map(c, row.rms, &row.path[path]);
        collapse(c, r, &row.path[path]);
    }
    const struct oracle_path *a = &row.path[MHCS_PRODUCTION];
    for (int path = MHCS_OPERANDS; path < MHCS_PATHS; path++) {
        measure_raw(&row.against[path], a, &row.path[path], c->coefficients);
        row.against[path].pre_err = relative(a->mapped, row.path[path].mapped, 0, 4);
        if (c->coefficients == MHCS_COEFFICIENTS)
            measure_mapped(&row.against[path], a, &row.path[path],
                           row.rms * (double)c->model.scale[2]);
        measure_y(&row.against[path], a, &row.path[path], c->k / 4);
    }
    return row;
}

void oracle_free(struct oracle_row *row)
{
    for (int path = 0; path < MHCS_PATHS; path++)
        free(row->path[path].y);
}
