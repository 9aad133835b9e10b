/* SPDX-License-Identifier: Apache-2.0 */
/* Rows made up with the roundings of a path. */
#include "tools/report/expect.h"

#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tools/microtest/bell.h"

#define SEED 1

/* Standard normal but for its far tails: twelve uniform numbers (kurtosis 2.9), whole until the
 * division. */
static double gaussian(uint64_t *state)
{
    return (double)(bell_next(state) + bell_next(state) + bell_next(state)) /
           (BELL_DEVIATION * 1.7320508075688772);
}

/* To nearest even with so many fewer bits; the range of the format is not looked at. */
static float round_bits(float value, uint32_t fewer)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    bits += (1u << (fewer - 1)) - 1 + (bits >> fewer & 1);
    bits &= ~((1u << fewer) - 1);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float round_output(float value, uint32_t dtype)
{
    return dtype == MHCS_BF16  ? round_bits(value, 16)
           : dtype == MHCS_F16 ? round_bits(value, 13)
                               : value;
}

static float row_rel(uint64_t *state, uint32_t coefficients, uint32_t dtype, double inner)
{
    double error = 0, norm = 0;

    for (uint32_t i = 0; i < coefficients; i++) {
        const double c = gaussian(state);
        const double d = (double)round_output((float)(c + inner * gaussian(state)), dtype) - c;

        error += d * d;
        norm += c * c;
    }
    return (float)sqrt(error / norm);
}

bool mhcs_expect_rel(const struct mhcs_precision *precision, enum mhcs_path reference,
                     uint32_t coefficients, struct mhcs_stat *stat)
{
    struct mhcs_noise noise;
    uint64_t state = SEED;
    double inner;

    if (!mhcs_noise_expected(precision, reference, coefficients, &noise))
        return false;
    inner = noise.inner / sqrt(coefficients / (coefficients - 2.0)); /* over rms, not own norm */
    for (int i = 0; i < MHCS_EXPECT_ROWS; i++)
        mhcs_stat_add(stat, row_rel(&state, coefficients, precision->out, inner));
    return true;
}
