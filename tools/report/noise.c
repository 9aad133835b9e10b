/* SPDX-License-Identifier: Apache-2.0 */
/* The noise table as formulas. */
#include "tools/report/noise.h"

#include <math.h>
#include <stdio.h>

static double unit_roundoff(uint32_t dtype)
{
    return dtype == MHCS_BF16 ? MHCS_U_BF16 : dtype == MHCS_F16 ? MHCS_U_F16 : 0;
}

/* Of the conversion that the compute type applies to fp32 weights. */
static double conversion(const struct mhcs_precision *precision)
{
    if (precision->fn != MHCS_F32)
        return 0;
    switch (precision->compute) {
    case MHCS_COMPUTE_TF32:
        return MHCS_U_TF32;
    case MHCS_COMPUTE_BF16:
        return MHCS_U_BF16;
    case MHCS_COMPUTE_F16:
        return MHCS_U_F16;
    default:
        return 0;
    }
}

static bool on_tensor_cores(const struct mhcs_precision *precision)
{
    return precision->fn != MHCS_F32 || (precision->compute != MHCS_COMPUTE_F32 &&
                                         precision->compute != MHCS_COMPUTE_F32_PEDANTIC);
}

static double square(double value)
{
    return value * value;
}

bool mhcs_noise_expected(const struct mhcs_precision *precision, enum mhcs_path reference,
                         uint32_t coefficients, struct mhcs_noise *ret_noise)
{
    const double own_norm = coefficients / (coefficients - 2.0);
    const double out = square(MHCS_ROUNDING_RMS * unit_roundoff(precision->out));
    const double accumulation =
        on_tensor_cores(precision) ? MHCS_ACCUMULATION_HIGH_TENSOR : MHCS_ACCUMULATION_HIGH;
    double low = out + own_norm * square(MHCS_ROUNDING_RMS * conversion(precision));
    double high;

    if (precision->compute == MHCS_COMPUTE_F16_ACCUMULATE ||
        precision->compute == MHCS_COMPUTE_OTHER)
        return false;
    if (reference == MHCS_CHECKPOINT)
        low += own_norm * square(MHCS_ROUNDING_RMS * unit_roundoff(precision->fn));
    high = low + square(accumulation);
    low += square(MHCS_ACCUMULATION_LOW);
    if (precision->reduced) /* many rounded partials weigh about as much as one rounding more */
        high += own_norm * out;
    ret_noise->low = sqrt(low);
    ret_noise->high = sqrt(high);
    ret_noise->inner = sqrt(high - out);
    return true;
}

void mhcs_noise_sources(const struct mhcs_precision *precision, enum mhcs_path reference,
                        char *text, size_t size)
{
    char weights[40] = "", operands[40] = "", partials[48] = "", output[40] = "";

    if (reference == MHCS_CHECKPOINT && precision->fn != MHCS_F32)
        snprintf(weights, sizeof(weights), "weights stored in %s, ",
                 mhcs_dtype_name(precision->fn));
    if (conversion(precision) > 0)
        snprintf(operands, sizeof(operands), "weights rounded to %s, ",
                 precision->compute == MHCS_COMPUTE_TF32   ? "TF32"
                 : precision->compute == MHCS_COMPUTE_BF16 ? "bf16"
                                                           : "f16");
    if (precision->reduced)
        snprintf(partials, sizeof(partials), "partial sums perhaps in %s, ",
                 mhcs_dtype_name(precision->out));
    if (precision->out != MHCS_F32)
        snprintf(output, sizeof(output), "output rounded to %s, ", mhcs_dtype_name(precision->out));
    snprintf(text, size, "%s%s%s%sfp32 accumulation%s", weights, operands, partials, output,
             on_tensor_cores(precision) ? " on tensor cores" : "");
}
