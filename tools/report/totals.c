/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of figures into statistics. */
#include "tools/report/totals.h"

#include <math.h>

#include "kernels/mhc_math.h"

uint32_t mhcs_coefficients_of(const float *raw)
{
    return isfinite(raw[0]) && isnan(raw[MHCS_COEFFICIENTS_HEAD]) ? MHCS_COEFFICIENTS_HEAD
                                                                  : MHCS_COEFFICIENTS;
}

/* Rows whose errors in ulps are taken at a time. */
#define ULP_ROWS 32

/* 1 / mhcs_power_f64(x): the exponent mirrored, and no division. */
static inline double inverse_power(double x)
{
    const double power = mhcs_power_f64(x);
    uint64_t bits;
    double inverse;

    memcpy(&bits, &power, sizeof(bits));
    bits = (UINT64_C(2046) << 52) - bits;
    memcpy(&inverse, &bits, sizeof(inverse));
    return inverse;
}

/* Errors of a row's coefficients in bf16 ulps: at the row's rms or above, and at their own size. */
static inline void ulps_of_row(const float *production, const float *raw, uint32_t coefficients,
                               float *floored, float *own)
{
    const double rms = mhcs_rms_of(raw, coefficients);

    for (uint32_t i = 0; i < coefficients; i++) {
        const double size = fabs((double)raw[i]);
        const double error = fabs((double)production[i] - (double)raw[i]) * 128;

        floored[i] = (float)(error * inverse_power(size > rms ? size : rms));
        own[i] = (float)(error * inverse_power(size));
    }
}

static inline bool has_zero(const float *raw, uint32_t coefficients)
{
    uint32_t zeros = 0;

    for (uint32_t i = 0; i < coefficients; i++)
        zeros += raw[i] == 0;
    return zeros > 0;
}

/* A coefficient of zero, which is rare, has no ulp of its own. */
static inline uint32_t drop_zeros(const float *raw, uint32_t coefficients, float *own)
{
    uint32_t kept = 0;

    if (!has_zero(raw, coefficients))
        return coefficients;
    for (uint32_t i = 0; i < coefficients; i++) {
        own[kept] = own[i];
        kept += raw[i] != 0;
    }
    return kept;
}

MHCS_WIDE static void add_ulps(struct mhcs_collect *collect, const struct mhcs_columns *columns,
                               enum mhcs_path reference)
{
    float floored[ULP_ROWS * MHCS_COEFFICIENTS], own[ULP_ROWS * MHCS_COEFFICIENTS];
    const float *rel = columns->metric[reference][MHCS_METRIC(rel)];
    uint32_t floored_count = 0, own_count = 0;

    for (uint32_t row = 0; row < columns->rows; row++) {
        const size_t at = (size_t)row * MHCS_COEFFICIENTS;
        const float *production = columns->raw[MHCS_PRODUCTION] + at;
        const float *raw = columns->raw[reference] + at;
        const uint32_t coefficients = mhcs_coefficients_of(columns->raw[MHCS_OPERANDS] + at);

        if (isfinite(rel[row])) {
            ulps_of_row(production, raw, coefficients, floored + floored_count, own + own_count);
            floored_count += coefficients;
            own_count += drop_zeros(raw, coefficients, own + own_count);
        }
        if (floored_count > (ULP_ROWS - 1) * MHCS_COEFFICIENTS || row + 1 == columns->rows) {
            mhcs_stat_add_all(&collect->ulp[reference], floored, floored_count);
            mhcs_stat_add_all(&collect->ulp_own[reference], own, own_count);
            floored_count = own_count = 0;
        }
    }
}

void mhcs_totals_add(struct mhcs_collect *collect, const struct mhcs_columns *columns)
{
    for
        MHCS_EACH_REFERENCE(r)
        {
            if (r == MHCS_CHECKPOINT && !columns->checkpoint)
                continue;
            for (size_t i = 0; i < MHCS_METRICS; i++)
                mhcs_stat_add_all(&collect->metric[r][i], columns->metric[r][i], columns->rows);
            add_ulps(collect, columns, r);
        }
}
