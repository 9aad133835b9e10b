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

/* The verdict: at least half of the rows that are not zero. Small rows of a normalised sample do
 * not look the part, but share its verdict. */
static inline MHCS_HD bool MHCS_FN(mhcs_is_normalised)(MHCS_REAL votes, MHCS_REAL nonzero_rows)
{
    return votes > 0 && 2 * votes >= nonzero_rows;
}

static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_rms_factor)(MHCS_REAL square_sum, uint32_t k,
                                                         MHCS_REAL norm_eps)
{
    return 1 / MHCS_FN(mhcs_sqrt)(square_sum / (MHCS_REAL)k + norm_eps);
}

static inline MHCS_HD MHCS_REAL MHCS_FN(mhcs_sigmoid)(MHCS_REAL z)
{
    return 1 / (1 + MHCS_FN(mhcs_exp)(-z));
}

/* Four values at v, v + step, ... become their softmax, plus eps. */
static inline MHCS_HD void MHCS_FN(mhcs_softmax)(MHCS_REAL *v, MHCS_REAL eps)
{
    MHCS_REAL top = v[0];
    for (int i = 1; i < 4; i++)
        top = v[i] > top ? v[i] : top;
    for (int i = 0; i < 4; i++)
        v[i] = MHCS_FN(mhcs_exp)(v[i] - top);
    const MHCS_REAL sum = ((v[0] + v[1]) + v[2]) + v[3];
    for (int i = 0; i < 4; i++)
        v[i] = v[i] / sum + eps;
}

/* One pass: four values divided by (their sum + eps). */
static inline MHCS_HD void MHCS_FN(mhcs_divide_by_sum)(MHCS_REAL *v, int step, MHCS_REAL eps)
{
    const MHCS_REAL sum = ((v[0] + v[step]) + v[2 * step]) + v[3 * step];
    for (int i = 0; i < 4; i++)
        v[i * step] = v[i * step] / (sum + eps);
}

/* comb[j][k] of logits, in place: row softmax + eps, column pass, then iterations - 1 times a row
 * pass and a column pass. It ends on columns: their sums are 1, the row sums carry the defect. */
static inline MHCS_HD void MHCS_FN(mhcs_sinkhorn)(MHCS_REAL *comb, int32_t iterations,
                                                  MHCS_REAL eps)
{
    for (int j = 0; j < 4; j++)
        MHCS_FN(mhcs_softmax)(comb + 4 * j, eps);
    for (int k = 0; k < 4; k++)
        MHCS_FN(mhcs_divide_by_sum)(comb + k, 4, eps);
    for (int32_t i = 1; i < iterations; i++) {
        for (int j = 0; j < 4; j++)
            MHCS_FN(mhcs_divide_by_sum)(comb + 4 * j, 1, eps);
        for (int k = 0; k < 4; k++)
            MHCS_FN(mhcs_divide_by_sum)(comb + k, 4, eps);
    }
}

/* GEMM output of one row to coefficients. Writes mapped[M]; M is 24, or 4 for a head site. */
static inline MHCS_HD void MHCS_FN(mhcs_map)(const struct mhcs_model_params *model,
                                             uint32_t coefficients, MHCS_REAL rms,
                                             const MHCS_REAL *raw, MHCS_REAL *mapped)
{
    const MHCS_REAL eps = model->hc_eps;
    for (int j = 0; j < 4; j++)
        mapped[j] = MHCS_FN(mhcs_sigmoid)(raw[j] * rms * model->scale[0] + model->base[j]) + eps;
    if (coefficients == MHCS_COEFFICIENTS_HEAD)
        return;
    for (int j = 4; j < 8; j++)
        mapped[j] = 2 * MHCS_FN(mhcs_sigmoid)(raw[j] * rms * model->scale[1] + model->base[j]);

    MHCS_REAL comb[16]; /* of its own, so that the kernel keeps it in registers */
    for (int i = 0; i < 16; i++)
        comb[i] = raw[8 + i] * rms * model->scale[2] + model->base[8 + i];
    MHCS_FN(mhcs_sinkhorn)(comb, model->iterations, eps);
    for (int i = 0; i < 16; i++)
        mapped[8 + i] = comb[i];
}
