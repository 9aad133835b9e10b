/* SPDX-License-Identifier: Apache-2.0 */
/* How large an error rounding alone predicts for a declared precision path. doc/metrics.md,
 * "Expected noise".
 *
 * One rounding to a format of unit roundoff u leaves an rms relative error of u / sqrt(8 ln 2) =
 * 0.4247 u: uniform within half an ulp, mantissas spread evenly over the logarithm. Independent
 * roundings add in squares, whatever K is. Where the roundings are those of operands or partial
 * sums, the error of a coefficient does not follow that coefficient's own size; a row's error over
 * the row's own norm then has a mean square larger by M/(M-2) (an F distribution, M coefficients).
 *
 * Assumptions: activations are bf16 values, also where they are stored in fp32, so that TF32 and
 * fp16 hold them exactly and only the weights are rounded; values are in range of fp16. */
#ifndef MHCS_REPORT_NOISE_H
#define MHCS_REPORT_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/path.h"

#define MHCS_ROUNDING_RMS 0.42466 /* 1 / sqrt(8 ln 2), in units of u */
#define MHCS_U_BF16       0x1p-8
#define MHCS_U_TF32       0x1p-11
#define MHCS_U_F16        0x1p-11

/* fp32 accumulation: blocked to sequential. A tensor core cuts each partial sum off instead of
 * rounding it: a chain of K/16 = 1024 such steps leaves 2.3e-5, split in 16 it leaves 1.2e-6. */
#define MHCS_ACCUMULATION_LOW         0.6e-6
#define MHCS_ACCUMULATION_HIGH        1.6e-6
#define MHCS_ACCUMULATION_HIGH_TENSOR 3e-5

/* rms over rows of rel. low < high where the path leaves the choice to cuBLAS. */
struct mhcs_noise {
    double low, high;
    double inner; /* part of `high` that is no rounding of the output: does not follow its size */
};

/* False: there is no expectation (half accumulation, an unknown compute type). `reference` is
 * MHCS_OPERANDS or MHCS_CHECKPOINT; `coefficients` 24, or 4 for the head. */
bool mhcs_noise_expected(const struct mhcs_precision *precision, enum mhcs_path reference,
                         uint32_t coefficients, struct mhcs_noise *ret_noise);

/* The sources of that error in words, e.g. "weights stored in bf16, output rounded to bf16". */
void mhcs_noise_sources(const struct mhcs_precision *precision, enum mhcs_path reference,
                        char *text, size_t size);

#endif
