/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels' fp32 arithmetic in plain C, in the order that they promise: the device must give the
 * same bits. The formulas of a row are those of kernels/; the sums are written anew here.
 */
#ifndef TEST_MIRROR_H
#define TEST_MIRROR_H

#include "case.h"

/* Outputs of mhcs_reference: raw and abs_dot [R][24], square_sum [R]. */
struct reference_out {
    float *raw, *abs_dot, *square_sum;
};

void mirror_reference(const struct kernel_case *c, const void *fn, uint32_t fn_dtype,
                      const struct reference_out *out);

/* results[R] of mhcs_compare; checkpoint NULL: none. */
void mirror_compare(const struct kernel_case *c, const struct reference_out *operands,
                    const struct reference_out *checkpoint, struct mhcs_row_result *results);

#endif
