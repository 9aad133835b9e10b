/* SPDX-License-Identifier: Apache-2.0 */
/* Body of mhc_metrics.h, included once per precision; MHCS_REAL is the type, MHCS_FN() names. */

/* Production against one reference, [M] each; all finite. */
struct MHCS_FN(mhcs_comparison) {
    const MHCS_REAL *raw, *raw_change; /* the reference's GEMM output; production's less it */
    const MHCS_REAL *abs_dot;
    const MHCS_REAL *mapped, *change; /* the reference's coefficients; production's less them */
};

/* Sums over the elements of y, a for production and b for the reference, d = a - b. Any common
 * factor in a and b is fine. */
struct MHCS_FN(mhcs_y_sums) {
    MHCS_REAL aa, bb, dd;
    MHCS_REAL ds; /* d * (a + b): |a|^2 - |b|^2 without the cancellation */
    MHCS_REAL ab;
};

static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_max)(MHCS_REAL a, MHCS_REAL b)
{
    return a > b ? a : b;
}

static inline MHCS_HD bool MHCS_FN(mhcs_all_finite)(const MHCS_REAL *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(v[i] - v[i] == 0))
            return false;
    return true;
}

static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_max_abs)(const MHCS_REAL *v, uint32_t n)
{
    MHCS_REAL top = 0;
    for (uint32_t i = 0; i < n; i++)
        top = MHCS_FN(mhcs_max)(top, MHCS_FN(mhcs_abs)(v[i]));
    return top;
}

/* Scaled by a power of two, so that squares neither overflow nor vanish. */
static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_norm2)(const MHCS_REAL *v, uint32_t n)
{
    const MHCS_REAL unit = MHCS_FN(mhcs_power)(MHCS_FN(mhcs_max_abs)(v, n));
    MHCS_REAL sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (v[i] / unit) * (v[i] / unit);
    return MHCS_FN(mhcs_sqrt)(sum) * unit;
}

/* norm2(d) / norm2(v), NaN where v is zero. */
static inline MHCS_HD float MHCS_FN(mhcs_relative)(const MHCS_REAL *d, const MHCS_REAL *v,
                                                   uint32_t n)
{
    const MHCS_REAL norm = MHCS_FN(mhcs_norm2)(v, n);
    return norm > 0 ? (float)(MHCS_FN(mhcs_norm2)(d, n) / norm) : mhcs_nan();
}

/* max |d_i| / abs_dot_i over the elements with a sum of their own; NaN if none has. */
static inline MHCS_HD float MHCS_FN(mhcs_backward)(const MHCS_REAL *d, const MHCS_REAL *abs_dot,
                                                   uint32_t n)
{
    MHCS_REAL top = -1;
    for (uint32_t i = 0; i < n; i++)
        if (abs_dot[i] > 0)
            top = MHCS_FN(mhcs_max)(top, MHCS_FN(mhcs_abs)(d[i]) / abs_dot[i]);
    return top >= 0 ? (float)top : mhcs_nan();
}

/* max abs_dot_i / |v_i| over the elements that are not zero; NaN if all are. */
static inline MHCS_HD float MHCS_FN(mhcs_condition)(const MHCS_REAL *v, const MHCS_REAL *abs_dot,
                                                    uint32_t n)
{
    MHCS_REAL top = -1;
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != 0)
            top = MHCS_FN(mhcs_max)(top, abs_dot[i] / MHCS_FN(mhcs_abs)(v[i]));
    return top >= 0 ? (float)top : mhcs_nan();
}

/* max |d_i| in units in the last place of bf16 (8 significant bits) at |v_i|, or at the row's rms
 * where that is larger: next to zero an element's own ulp says nothing. */
static inline MHCS_HD float MHCS_FN(mhcs_ulp)(const MHCS_REAL *d, const MHCS_REAL *v, uint32_t n)
{
    const MHCS_REAL rms = MHCS_FN(mhcs_norm2)(v, n) / MHCS_FN(mhcs_sqrt)((MHCS_REAL)n);
    MHCS_REAL top = 0;
    for (uint32_t i = 0; i < n; i++) {
        const MHCS_REAL size = MHCS_FN(mhcs_max)(MHCS_FN(mhcs_abs)(v[i]), rms);
        top = MHCS_FN(mhcs_max)(top, MHCS_FN(mhcs_abs)(d[i]) / MHCS_FN(mhcs_power)(size) * 128);
    }
    return (float)top;
}

/* mean(d) / rms(d); NaN where d is zero. */
static inline MHCS_HD float MHCS_FN(mhcs_bias)(const MHCS_REAL *d, uint32_t n)
{
    const MHCS_REAL norm = MHCS_FN(mhcs_norm2)(d, n);
    MHCS_REAL sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += d[i] / norm;
    return norm > 0 ? (float)(sum / MHCS_FN(mhcs_sqrt)((MHCS_REAL)n)) : mhcs_nan();
}

/* Largest total variation distance, sum |d| / 2, of the four rows of comb. */
static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_total_variation)(const MHCS_REAL *d)
{
    MHCS_REAL top = 0;
    for (int j = 0; j < 16; j += 4) {
        MHCS_REAL sum = 0;
        for (int k = 0; k < 4; k++)
            sum += MHCS_FN(mhcs_abs)(d[j + k]);
        top = MHCS_FN(mhcs_max)(top, sum / 2);
    }
    return top;
}

/* max |row sum - 1| of comb; NaN if an entry is. */
static inline MHCS_HD float MHCS_FN(mhcs_defect)(const MHCS_REAL *comb)
{
    MHCS_REAL top = 0;
    for (int j = 0; j < 4; j++) {
        const MHCS_REAL *row = comb + 4 * j;
        const MHCS_REAL off = MHCS_FN(mhcs_abs)(((row[0] + row[1]) + row[2]) + row[3] - 1);
        if (!(off <= top))
            top = off;
        if (off != off)
            break;
    }
    return (float)top;
}

/* First-order bound on norm2(dcomb): the derivative of converged Sinkhorn by its logits has a norm
 * of at most 2 max p(1-p). norm_dz is the norm of the logits' difference. */
static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_bound)(const MHCS_REAL *comb, MHCS_REAL norm_dz)
{
    MHCS_REAL top = 0;
    for (int i = 0; i < 16; i++)
        top = MHCS_FN(mhcs_max)(top, comb[i] * (1 - comb[i]));
    return 2 * top * norm_dz;
}

/* 1 - a.b / (|a||b|). Where a and b are close that is (|d|^2 - (|a| - |b|)^2) / (2 |a||b|), with
 * |a| - |b| from ds: good to about 1e-7 of |d|^2 / |b|^2 in fp32. */
static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_cosine_distance)(const struct MHCS_FN(mhcs_y_sums) * y)
{
    const MHCS_REAL a = MHCS_FN(mhcs_sqrt)(y->aa), b = MHCS_FN(mhcs_sqrt)(y->bb);
    const MHCS_REAL gap = y->ds / (a + b);
    if (4 * y->dd > y->bb)
        return 1 - y->ab / (a * b);
    return MHCS_FN(mhcs_max)(0, (y->dd - gap * gap) / (2 * a * b));
}

static inline MHCS_HD void MHCS_FN(mhcs_measure_comb)(struct mhcs_row_metrics *metrics,
                                                      const struct MHCS_FN(mhcs_comparison) * of,
                                                      MHCS_REAL logit_per_raw)
{
    const MHCS_REAL *const change = of->change + 8, *const comb = of->mapped + 8;
    const MHCS_REAL dz = MHCS_FN(mhcs_norm2)(of->raw_change + 8, 16);

    metrics->rel_post = MHCS_FN(mhcs_relative)(of->raw_change + 4, of->raw + 4, 4);
    metrics->rel_comb = MHCS_FN(mhcs_relative)(of->raw_change + 8, of->raw + 8, 16);
    metrics->post_err = MHCS_FN(mhcs_relative)(of->change + 4, of->mapped + 4, 4);
    metrics->comb_err = MHCS_FN(mhcs_relative)(change, comb, 16);
    metrics->comb_max_abs = (float)MHCS_FN(mhcs_max_abs)(change, 16);
    metrics->comb_tv = (float)MHCS_FN(mhcs_total_variation)(change);
    metrics->bound = (float)MHCS_FN(mhcs_bound)(comb, MHCS_FN(mhcs_abs)(logit_per_raw) * dz);
}

/* All metrics of one comparison. A zero reference leaves all NaN but max_abs, and that too unless
 * production differs from it. logit_per_raw is rms * scale[2]. */
static inline MHCS_HD void MHCS_FN(mhcs_measure)(struct mhcs_row_metrics *metrics,
                                                 uint32_t coefficients,
                                                 const struct MHCS_FN(mhcs_comparison) * of,
                                                 MHCS_REAL logit_per_raw,
                                                 const struct MHCS_FN(mhcs_y_sums) * y)
{
    const uint32_t n = coefficients;
    mhcs_metrics_clear(metrics);
    const MHCS_REAL max_abs = MHCS_FN(mhcs_max_abs)(of->raw_change, n);
    const bool zero = !(MHCS_FN(mhcs_max_abs)(of->raw, n) > 0);
    if (!zero || max_abs > 0)
        metrics->max_abs = (float)max_abs;
    if (zero)
        return;

    metrics->rel = MHCS_FN(mhcs_relative)(of->raw_change, of->raw, n);
    metrics->rel_pre = MHCS_FN(mhcs_relative)(of->raw_change, of->raw, 4);
    metrics->backward = MHCS_FN(mhcs_backward)(of->raw_change, of->abs_dot, n);
    metrics->condition = MHCS_FN(mhcs_condition)(of->raw, of->abs_dot, n);
    metrics->ulp = MHCS_FN(mhcs_ulp)(of->raw_change, of->raw, n);
    metrics->bias = MHCS_FN(mhcs_bias)(of->raw_change, n);
    metrics->pre_err = MHCS_FN(mhcs_relative)(of->change, of->mapped, 4);
    if (n == MHCS_COEFFICIENTS)
        MHCS_FN(mhcs_measure_comb)(metrics, of, logit_per_raw);
    if (y->bb > 0)
        metrics->y_rel = (float)MHCS_FN(mhcs_sqrt)(y->dd / y->bb);
    if (y->aa > 0 && y->bb > 0)
        metrics->y_cosdist = (float)MHCS_FN(mhcs_cosine_distance)(y);
}
