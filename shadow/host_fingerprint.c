/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/fingerprint.h"
#include "shadow/host_reference.h"

/* The kernel's order: 256 threads, then trees over 32 lanes and 8 warps. */
static float square_tree(float *thread)
{
    for (uint32_t apart = 16; apart > 0; apart /= 2)
        for (uint32_t t = 0; t < MHCS_FINGERPRINT_THREADS; t++)
            if (t % 32 < apart)
                thread[t] += thread[t + apart];
    return ((thread[0] + thread[32]) + (thread[64] + thread[96])) +
           ((thread[128] + thread[160]) + (thread[192] + thread[224]));
}

void mhcs_host_fingerprint(const void *fn, uint32_t dtype, uint32_t coefficients, uint32_t k,
                           struct mhcs_fingerprint_row *out)
{
    for (uint32_t j = 0; j < coefficients; j++) {
        struct mhcs_weight_sums sums = {0};
        float square[MHCS_FINGERPRINT_THREADS] = {0};
        for (uint32_t i = 0; i < k; i++) {
            const size_t at = (size_t)j * k + i;
            sums.square = square[i % MHCS_FINGERPRINT_THREADS];
            mhcs_weight_add(&sums, at, mhcs_element(fn, dtype, at));
            square[i % MHCS_FINGERPRINT_THREADS] = sums.square;
        }
        out[j] = (struct mhcs_fingerprint_row){.hash = sums.hash,
                                               .absmax = mhcs_f32_from_bits(sums.absmax_bits),
                                               .square_sum = square_tree(square),
                                               .nonfinite = sums.nonfinite};
    }
}
