/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up mixing weights with the statistics of DeepSeek-V4's: fn has an rms of 0.034 to 0.046 with
 * rare weights of up to 0.63 to 1.06 in a bell-shaped body, scale is about 2.076, 0.0187 and 0.246,
 * base is normal; all fp32 with a full mantissa. Each tensor has a seed of its own, so a model of
 * fewer layers begins like one of more.
 */
#ifndef MHCS_SYNTHETIC_H
#define MHCS_SYNTHETIC_H

#include "shadow/model/names.h"

#define MHCS_SYNTHETIC_HIDDEN_MIN 64 /* smaller fn can't hold the rare weights at this rms */

/* Numbers of a tensor, row by row; `name` without MTP. scale has 3 and base 24 numbers, the head's
 * 1 and 4; fn rows of 4 * hidden. */
void mhcs_synthetic_draw(uint64_t seed, const struct mhcs_weight_name *name, uint32_t hidden,
                         float *to);

#endif
