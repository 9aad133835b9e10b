/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "kernels/mhc_math.h"

#define U 0x1p-24

const struct precision check_host = {"host fp64", U, U};
const struct precision check_device = {"device", 4 * U, 16 * U};
const struct precision check_cublas = {"cuBLAS", 4 * U, 16 * U};

/* Where a value belongs, for the message. */
struct place {
    const char *name;
    const struct precision *precision;
    uint32_t row;
};

static int near(const struct place *place, const char *what, int path, int index, double want,
                double have, double bound)
{
    if (fabs(want - have) <= bound)
        return 0;
    fprintf(stderr, "%s, %s, row %u: %s of path %d [%d] is %.9e, want %.9e within %.1e\n",
            place->name, place->precision->name, place->row, what, path, index, have, want, bound);
    return 1;
}

/* What the error of raw, and rounding on the way, can make of each coefficient. */
static void bound_mapped(const struct kernel_case *c, const struct precision *precision,
                         const struct oracle_row *want, int path, double *bound)
{
    const struct oracle_path *p = &want->path[path];
    double comb = 0;
    for (uint32_t j = 0; j < c->coefficients; j++) {
        const int group = j < 4 ? 0 : j < 8 ? 1 : 2;
        const double scale = fabs(want->rms * (double)c->model.scale[group]);
        const double dot = path == MHCS_PRODUCTION ? 0 : precision->dot * p->abs_dot[j];
        const double z = fabs(p->raw[j]) * scale + fabs((double)c->model.base[j]);
        const double dz = dot * scale + 4 * precision->map / 16 * z;
        bound[j] = (group == 0 ? 0.25 : 0.5) * dz + precision->map;
        comb += group == 2 ? dz * dz : 0;
    }
    /* Sinkhorn's derivative has a norm of at most 1/2, 5 % more where it has not converged. */
    for (uint32_t j = 8; j < c->coefficients; j++)
        bound[j] = 0.53 * sqrt(comb) + precision->map;
}

static int check_y(const struct place *place, const struct kernel_case *c,
                   const struct oracle_path *want, int path, const double *bound, double y_norm,
                   const float *y)
{
    const float *x = c->x + (size_t)place->row * c->k;
    const uint32_t hidden = c->k / 4;
    double square = 0;
    int bad = 0;
    for (uint32_t d = 0; d < hidden; d++) {
        double off = 0;
        for (uint32_t i = 0; i < 4; i++)
            off += fabs((double)x[i * hidden + d]) * (bound[i] + 8 * U * want->mapped[i]);
        square += off * off;
        if (y && bad < 3)
            bad += near(place, "y", path, (int)d, (double)want->y[d], (double)y[d], off);
    }
    return bad + near(place, "y_norm", path, 0, want->y_norm, y_norm,
                      sqrt(square) + 8 * U * want->y_norm);
}

/* Metrics are proportional to production's error, which the reference's own error blurs: by this
 * share of it, in the worst group, before or after the maps. A typical error of the reference is a
 * sixteenth of its bound. */
static double blur(const struct precision *precision, const struct oracle_row *want, int path,
                   uint32_t coefficients)
{
    static const uint32_t first[] = {0, 4, 8, 24};
    const struct oracle_path *a = &want->path[MHCS_PRODUCTION], *b = &want->path[path];
    double worst = 0;
    for (int group = 0; group < 3 && first[group] < coefficients; group++) {
        double raw = 0, raw_off = 0, mapped = 0, mapped_off = 0;
        for (uint32_t j = first[group]; j < first[group + 1]; j++) {
            const double d = a->raw[j] - b->raw[j], off = precision->dot / 16 * b->abs_dot[j];
            const double mapped_d = a->mapped[j] - b->mapped[j];
            raw += d * d;
            raw_off += off * off;
            mapped += mapped_d * mapped_d;
            mapped_off += pow(mapped_d * off / d, 2);
        }
        worst = fmax(worst, sqrt(fmax(raw_off / raw, mapped_off / mapped)));
    }
    return worst;
}

/* Maps that saturate leave next to nothing of an error; less than this nobody asks about. */
#define FLOOR 1e-9

#define METRICS_OF_ALL(X) X(rel) X(rel_pre) X(max_abs) X(backward) X(ulp) X(pre_err)
#define METRICS_OF_24(X)  X(rel_post) X(rel_comb) X(post_err) X(comb_err) X(comb_max_abs) X(comb_tv)

/* 1 - p of an entry near 1 has lost what p was rounded by. */
static int check_bound(const struct place *place, const struct oracle_path *path, double want,
                       double have, double blurred)
{
    double variance = 0;
    for (int i = 8; i < 24; i++)
        variance = fmax(variance, path->mapped[i] * (1 - path->mapped[i]));
    return near(place, "bound", 0, 0, want, have,
                (0.01 + blurred + 4 * U / variance) * want + FLOOR);
}

/* The same for y_rel, absolute: the terms of y and of its change may cancel, their blur does not.
 */
static double y_blur(const struct kernel_case *c, uint32_t r, const struct oracle_path *path,
                     double pre_err, double blurred)
{
    const uint32_t hidden = c->k / 4;
    double x_square = 0, pre_square = 0;
    for (uint32_t d = 0; d < hidden; d++) {
        double size = 0;
        for (uint32_t i = 0; i < 4; i++)
            size += fabs((double)c->x[(size_t)r * c->k + i * hidden + d]);
        x_square += size * size;
    }
    for (int i = 0; i < 4; i++)
        pre_square += path->mapped[i] * path->mapped[i];
    return blurred * pre_err * sqrt(pre_square * x_square) / path->y_norm;
}

static int check_metrics(const struct place *place, const struct kernel_case *c,
                         const struct oracle_row *want, int path,
                         const struct mhcs_row_metrics *have)
{
    const uint32_t coefficients = c->coefficients;
    const struct oracle_metrics *w = &want->against[path];
    const double blurred = blur(place->precision, want, path, coefficients);
    const double y_blurred = y_blur(c, place->row, &want->path[path], w->pre_err, blurred);
    int bad = 0;
#define X(metric)                                                                                  \
    bad += near(place, #metric, path, 0, w->metric, (double)have->metric,                          \
                (0.01 + blurred) * w->metric + FLOOR);
    METRICS_OF_ALL(X)
    if (coefficients == MHCS_COEFFICIENTS) {
        METRICS_OF_24(X)
    }
#undef X
#define X(metric) bad += coefficients == MHCS_COEFFICIENTS_HEAD && !isnan(have->metric);
    METRICS_OF_24(X)
#undef X
    if (coefficients == MHCS_COEFFICIENTS)
        bad += check_bound(place, &want->path[path], w->bound, (double)have->bound, blurred);
    bad += near(place, "bias", path, 0, w->bias, (double)have->bias, 0.01 + blurred);
    /* As large as its divisor is small. */
    bad += near(place, "1/condition", path, 0, 1 / w->condition, 1 / (double)have->condition,
                place->precision->dot + 0.001 / w->condition);
    bad += near(place, "y_rel", path, 0, w->y_rel, (double)have->y_rel,
                0.01 * w->y_rel + y_blurred + FLOOR);
    /* What is left of |d|^2 when its parallel part is taken off; the oracle has 64 bits for it. */
    bad += near(place, "y_cosdist", path, 0, w->y_cosdist, (double)have->y_cosdist,
                0.01 * w->y_cosdist + 4 * y_blurred * sqrt(w->y_cosdist) +
                    8 * U * w->y_rel * w->y_rel + 0x1p-60);
    return bad;
}

int check_row(const char *name, const struct precision *precision, const struct kernel_case *c,
              uint32_t r, const struct oracle_row *want, const struct mhcs_row_result *have,
              const float *const y[MHCS_PATHS])
{
    const struct place place = {name, precision, r};
    const bool head = c->coefficients == MHCS_COEFFICIENTS_HEAD;
    int bad = near(&place, "rms", 0, 0, want->rms, (double)have->rms, 4 * U * want->rms);

    for (int path = 0; path < (c->checkpoint ? MHCS_PATHS : MHCS_CHECKPOINT); path++) {
        const struct oracle_path *p = &want->path[path];
        double bound[MHCS_COEFFICIENTS], row_bound = 8 * U;
        bound_mapped(c, precision, want, path, bound);
        for (uint32_t j = 0; j < c->coefficients; j++) {
            bad += near(&place, "raw", path, (int)j, p->raw[j], (double)have->raw[path][j],
                        precision->dot * p->abs_dot[j] + 2 * U * fabs(p->raw[j]));
            bad += near(&place, "coefficient", path, (int)j, p->mapped[j],
                        (double)have->mapped[path][j], bound[j]);
        }
        for (int i = 8; !head && i < 12; i++)
            row_bound += bound[i];
        if (!head)
            bad +=
                near(&place, "defect", path, 0, p->defect, (double)have->defect[path], row_bound);
        bad += check_y(&place, c, p, path, bound, (double)have->y_norm[path], y ? y[path] : NULL);
        if (path != MHCS_PRODUCTION)
            bad += check_metrics(&place, c, want, path, &have->against[path]);
    }
    if (have->nonfinite)
        bad += near(&place, "nonfinite bits", 0, 0, 0, have->nonfinite, 0);
    return bad;
}

int check_maps(const char *name, const struct kernel_case *c, uint32_t r,
               const struct oracle_row *want)
{
    const struct precision rounding = {"fp32 maps", 0, 16 * U};
    const struct place place = {name, &rounding, r};
    int bad = 0;
    for (int path = 0; path < MHCS_PATHS; path++) {
        float raw[MHCS_COEFFICIENTS], mapped[MHCS_COEFFICIENTS];
        double bound[MHCS_COEFFICIENTS];
        for (uint32_t j = 0; j < c->coefficients; j++)
            raw[j] = (float)want->path[path].raw[j];
        mhcs_map_f32(&c->model, c->coefficients, (float)want->rms, raw, mapped);
        bound_mapped(c, &rounding, want, path, bound);
        for (uint32_t j = 0; j < c->coefficients; j++)
            bad += near(&place, "coefficient", path, (int)j, want->path[path].mapped[j],
                        (double)mapped[j], bound[j]);
    }
    return bad;
}

int check_zero_row(const char *name, const struct mhcs_row_result *have)
{
    const float *const metrics = (const float *)have->against;
    int bad = have->nonfinite != 0;
    for (size_t i = 0; i < sizeof(have->against) / (sizeof(float)); i++)
        bad += !isnan(metrics[i]);
    if (bad)
        fprintf(stderr, "%s: a zero row has %d values\n", name, bad);
    return bad;
}

int check_same(const char *name, const struct mhcs_row_result *want,
               const struct mhcs_row_result *have, uint32_t rows)
{
    const float *const a = (const float *)want, *const b = (const float *)have;
    const size_t words = sizeof(*want) / sizeof(float);
    for (size_t i = 0; i < words * rows; i++) {
        if (mhcs_f32_bits(a[i]) == mhcs_f32_bits(b[i]) || (isnan(a[i]) && isnan(b[i])))
            continue;
        fprintf(stderr, "%s: row %zu, float %zu of the result is %a, want %a\n", name, i / words,
                i % words, (double)b[i], (double)a[i]);
        return 1;
    }
    return 0;
}
