/* SPDX-License-Identifier: Apache-2.0 */
/* The fp64 host back end: what mhcs_reference and mhcs_compare do on the device, in double
 * precision on the calling thread, from a slot's content copied to host memory.
 *
 * Used where the device has no room for us (MHCSHADOW_REFERENCE=host), and to check the fp32
 * reference itself on a share of the samples. Same formulas as the kernels (kernels/mhc_math.h,
 * kernels/mhc_metrics.h); sums are exact to about 1e-16 of abs_dot. 16 rows of 24 x 16384 take some
 * 10 ms.
 *
 * Thread-safe, without state; allocates its scratch and frees it. Never call on an application
 * thread.
 */
#ifndef MHCS_HOST_REFERENCE_H
#define MHCS_HOST_REFERENCE_H

#include "kernels/kernels.h"
#include "shadow/host_dot.h"

/* One slot in host memory, packed as mhcs_snapshot packs it. */
struct mhcs_host_slot {
    const void *fn;         /* [M][K], fn_dtype */
    const void *x;          /* [R][K], x_dtype */
    const void *c;          /* production, [R][M], c_dtype */
    const void *old_c;      /* [R][M], c_dtype; NULL: none */
    const void *checkpoint; /* the checkpoint's fn, [M][K], checkpoint_dtype; NULL: none */
    float alpha, beta;
    uint32_t fn_dtype, x_dtype, c_dtype, checkpoint_dtype; /* enum mhcs_dtype */
    uint32_t coefficients, k, rows;                        /* M, K (a multiple of 4), R */
};

/* Fills results[R] as mhcs_compare would, without rounding on the way. 0, or -ENOMEM. */
int mhcs_host_reference(const struct mhcs_host_slot *slot, const struct mhcs_model_params *model,
                        struct mhcs_row_result *results);

/* The same from references that were computed elsewhere: dot and abs_dot of alpha and beta already,
 * square_sum in `operands`; checkpoint NULL: none. Of the slot x, c and the sizes are read. */
void mhcs_host_compare(const struct mhcs_host_slot *slot, const struct mhcs_model_params *model,
                       const struct mhcs_dots *operands, const struct mhcs_dots *checkpoint,
                       struct mhcs_row_result *results);

/* Judges an fp32 reference: rel[r] = norm2(raw[r] - exact) / norm2(exact) against the operands of
 * the slot; NaN for a zero or non-finite row. raw is [R][MHCS_COEFFICIENTS] as mhcs_reference
 * writes it; c and checkpoint are not read. 0, or -ENOMEM. */
int mhcs_host_check(const struct mhcs_host_slot *slot, const float *raw, float *rel);

/* Host twin of mhcs_fingerprint: out[M] of a packed matrix, the same bits as on the device. */
void mhcs_host_fingerprint(const void *fn, uint32_t dtype, uint32_t coefficients, uint32_t k,
                           struct mhcs_fingerprint_row *out);

#endif
