/* SPDX-License-Identifier: Apache-2.0 */
/* Body of mhc_math.h, included once per precision; MHCS_REAL is the type, MHCS_FN() names. */

/* Whether one row looks already RMS-normalised. Servers differ: DeepSeek, sglang and vLLM multiply
 * the raw stream and apply r afterwards, transformers and ds4 normalise first; applying r twice is
 * wrong. A normalised row has mean(x^2) = s / (s + norm_eps) for a raw mean square s, so 1 for all
 * but near-zero rows, and rounding its K elements to bf16 moves that by 2 * 1.7e-3 *
 * sqrt(kurtosis / K): 3e-4 for K = 16384 and heavy tails of kurtosis 100. Hence 2^-10.
 *
 * A raw row may meet it by chance, therefore all sampled rows vote (mhcs_is_normalised); and a
 * raw sample that fooled them all has an r within 2^-11 of 1, applied to production and reference
 * alike. */
static inline MHCS_HD bool MHCS_FN(mhcs_votes_normalised)(MHCS_REAL square_sum, uint32_t k)
{
    const MHCS_REAL off = square_sum / (MHCS_REAL)k - 1;
    return off <= (MHCS_REAL)0x1p-10 && off >= (MHCS_REAL)-0x1p-10;
}

/* The verdict: more than half of the rows that are not zero. Small rows of a normalised sample do
 * not look the part, but share its verdict. */
static inline MHCS_HD bool MHCS_FN(mhcs_is_normalised)(MHCS_REAL votes, MHCS_REAL nonzero_rows)
{
    return 2 * votes > nonzero_rows;
}

static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_rms_factor)(MHCS_REAL square_sum, uint32_t k,
                                                         MHCS_REAL norm_eps)
{
    return 1 / MHCS_FN(mhcs_sqrt)(square_sum / (MHCS_REAL)k + norm_eps);
}

/* From here on a function maps a value and, beside it, a change of it: v becomes f(v), and d
 * becomes f(v + d) - f(v). Subtracting two maps instead would leave nothing but rounding where the
 * change is small: an entry of comb near 1 is rounded by 6e-8, fp32 noise of the GEMM moves it by
 * less. Changes of logits are at most 1; mhcs_settle_change() does the others. */

static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_abs)(MHCS_REAL v)
{
    return v < 0 ? -v : v;
}

static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_sigmoid)(MHCS_REAL z)
{
    return 1 / (1 + MHCS_FN(mhcs_exp)(-z));
}

/* With e = exp(-|z|) and h = expm1(-+d): s(z + d) - s(z) = -+ e h / ((1 + e)(1 + e + e h)). */
static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_sigmoid_change)(MHCS_REAL z, MHCS_REAL d)
{
    const MHCS_REAL e = MHCS_FN(mhcs_exp)(-MHCS_FN(mhcs_abs)(z));
    const MHCS_REAL eh = e * MHCS_FN(mhcs_expm1)(z < 0 ? d : -d);
    const MHCS_REAL change = eh / ((1 + e) * (1 + e + eh));
    return z < 0 ? change : -change;
}

static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_sum4)(const MHCS_REAL *v, int step)
{
    return ((v[0] + v[step]) + v[2 * step]) + v[3 * step];
}

/* Four logits become their softmax, plus eps. e is relative to the largest logit and h to its
 * change, so both sums stay of the size of 1. */
static inline MHCS_HD void MHCS_FN(mhcs_softmax)(MHCS_REAL *v, MHCS_REAL *d, MHCS_REAL eps)
{
    MHCS_REAL top = v[0], top_change = d[0];
    for (int i = 1; i < 4; i++) {
        top_change = v[i] > top ? d[i] : top_change;
        top = v[i] > top ? v[i] : top;
    }
    for (int i = 0; i < 4; i++) {
        v[i] = MHCS_FN(mhcs_exp)(v[i] - top);
        d[i] = v[i] * MHCS_FN(mhcs_expm1)(d[i] - top_change);
    }
    const MHCS_REAL sum = MHCS_FN(mhcs_sum4)(v, 1), change = MHCS_FN(mhcs_sum4)(d, 1);
    for (int i = 0; i < 4; i++) {
        v[i] = v[i] / sum;
        d[i] = (d[i] - v[i] * change) / (sum + change);
        v[i] = v[i] + eps;
    }
}

/* One pass: four values, `step` apart, divided by (their sum + eps). */
static inline MHCS_HD void MHCS_FN(mhcs_divide_by_sum)(MHCS_REAL *v, MHCS_REAL *d, int step,
                                                       MHCS_REAL eps)
{
    const MHCS_REAL sum = MHCS_FN(mhcs_sum4)(v, step) + eps;
    const MHCS_REAL change = MHCS_FN(mhcs_sum4)(d, step);
    for (int i = 0; i < 4 * step; i += step) {
        v[i] = v[i] / sum;
        d[i] = (d[i] - v[i] * change) / (sum + change);
    }
}

/* comb[j][k] of logits, in place: row softmax + eps, column pass, then iterations - 1 times a row
 * pass and a column pass. It ends on columns: their sums are 1, the row sums carry the defect. */
static inline MHCS_HD void MHCS_FN(mhcs_sinkhorn)(MHCS_REAL *comb, MHCS_REAL *d, int32_t iterations,
                                                  MHCS_REAL eps)
{
    for (int j = 0; j < 16; j += 4)
        MHCS_FN(mhcs_softmax)(comb + j, d + j, eps);
    for (int k = 0; k < 4; k++)
        MHCS_FN(mhcs_divide_by_sum)(comb + k, d + k, 4, eps);
    for (int32_t i = 1; i < iterations; i++) {
        for (int j = 0; j < 16; j += 4)
            MHCS_FN(mhcs_divide_by_sum)(comb + j, d + j, 1, eps);
        for (int k = 0; k < 4; k++)
            MHCS_FN(mhcs_divide_by_sum)(comb + k, d + k, 4, eps);
    }
}

/* Maps the GEMM output of one row: mapped[M], and change[M] = what mapping raw + d gives instead,
 * less mapped, for settling. M is 24, or 4 for a head site. */
static inline MHCS_HD void MHCS_FN(mhcs_map_change)(const struct mhcs_model_params *model,
                                                    uint32_t coefficients, MHCS_REAL rms,
                                                    const MHCS_REAL *raw, const MHCS_REAL *d,
                                                    MHCS_REAL *mapped, MHCS_REAL *change)
{
    const MHCS_REAL eps = model->hc_eps;
    for (int j = 0; j < 8; j++) {
        const int group = j / 4; /* pre, post */
        if (group == 1 && coefficients == MHCS_COEFFICIENTS_HEAD)
            return;
        const MHCS_REAL scale = model->scale[group];
        const MHCS_REAL z = raw[j] * rms * scale + model->base[j];
        const MHCS_REAL s = MHCS_FN(mhcs_sigmoid)(z);
        const MHCS_REAL change_of_s = MHCS_FN(mhcs_sigmoid_change)(z, d[j] * rms * scale);
        mapped[j] = group == 0 ? s + eps : 2 * s;
        change[j] = group == 0 ? change_of_s : 2 * change_of_s;
    }

    MHCS_REAL comb[16], dz[16]; /* of their own, so that the kernel keeps them in registers */
    for (int i = 0; i < 16; i++) {
        comb[i] = raw[8 + i] * rms * model->scale[2] + model->base[8 + i];
        dz[i] = d[8 + i] * rms * model->scale[2];
    }
    MHCS_FN(mhcs_sinkhorn)(comb, dz, model->iterations, eps);
    for (int i = 0; i < 16; i++) {
        mapped[8 + i] = comb[i];
        change[8 + i] = dz[i];
    }
}

/* Replaces the change by the difference of the two maps where a logit changes by more than 1: no
 * rounding error is that large, and both differ by more than they are rounded. other is what
 * mapping raw + d gave. */
static inline MHCS_HD void MHCS_FN(mhcs_settle_change)(const struct mhcs_model_params *model,
                                                       uint32_t coefficients, MHCS_REAL rms,
                                                       const MHCS_REAL *d, const MHCS_REAL *mapped,
                                                       const MHCS_REAL *other, MHCS_REAL *change)
{
    bool small = true;
    for (uint32_t j = 0; j < coefficients; j++) {
        const MHCS_REAL scale = j < 4 ? model->scale[0] : j < 8 ? model->scale[1] : model->scale[2];
        small = small && MHCS_FN(mhcs_abs)(d[j] * rms * scale) <= 1;
    }
    for (uint32_t j = 0; j < coefficients && !small; j++)
        change[j] = other[j] - mapped[j];
}

/* Maps the GEMM output of one row: mapped[M]. */
static inline MHCS_HD void MHCS_FN(mhcs_map)(const struct mhcs_model_params *model,
                                             uint32_t coefficients, MHCS_REAL rms,
                                             const MHCS_REAL *raw, MHCS_REAL *mapped)
{
    const MHCS_REAL none[MHCS_COEFFICIENTS] = {0};
    MHCS_REAL change[MHCS_COEFFICIENTS];
    MHCS_FN(mhcs_map_change)(model, coefficients, rms, raw, none, mapped, change);
}
