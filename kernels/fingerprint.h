/* SPDX-License-Identifier: Apache-2.0 */
/* What one element adds to a weight matrix's fingerprint, for host and device. */
#ifndef MHCS_FINGERPRINT_H
#define MHCS_FINGERPRINT_H

#include "kernels/dtype.h"

struct mhcs_weight_sums {
    uint64_t hash;
    float square; /* of the finite elements */
    uint32_t absmax_bits;
    uint32_t nonfinite;
};

/* Element i = j * K + k of the matrix. */
static inline MHCS_HD void mhcs_weight_add(struct mhcs_weight_sums *sums, size_t i, float value)
{
    const uint32_t bits = mhcs_f32_bits(value);
    const uint32_t magnitude = bits & 0x7fffffff; /* orders as the absolute values do */
    sums->hash += mhcs_mix64(((uint64_t)i << 32) ^ bits);
    if (!mhcs_bits_finite(bits)) {
        sums->nonfinite++;
        return;
    }
    sums->square += value * value;
    sums->absmax_bits = magnitude > sums->absmax_bits ? magnitude : sums->absmax_bits;
}

#endif
