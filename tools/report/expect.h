/* SPDX-License-Identifier: Apache-2.0 */
/* The distribution of rel that the declared paths predict, at the top of the range that
 * mhcs_noise_expected() gives: made-up rows with the roundings of the path. Coefficients are
 * Gaussian, errors of operands and sums are Gaussian and independent of a coefficient's size, and
 * the output is rounded as it would be. The same on every machine, but for libm's square root. */
#ifndef MHCS_REPORT_EXPECT_H
#define MHCS_REPORT_EXPECT_H

#include "tools/report/noise.h"
#include "tools/report/stats.h"

#define MHCS_EXPECT_ROWS 20000 /* made up for each path and number of coefficients */

/* Adds MHCS_EXPECT_ROWS rows to *stat. False, and nothing added: the path has no expectation. */
bool mhcs_expect_rel(const struct mhcs_precision *precision, enum mhcs_path reference,
                     uint32_t coefficients, struct mhcs_stat *stat);

#endif
