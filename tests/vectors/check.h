/* SPDX-License-Identifier: Apache-2.0 */
/* Results held against the oracle. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include "oracle.h"

/* How far a way of computing may be from the exact value. Metrics are to be within 1 % whatever it
 * is. */
struct precision {
    const char *name;
    double dot; /* of raw and abs_dot, in units of abs_dot */
    double map; /* of a coefficient, added to what the error of raw makes of it */
};

/* fp64, stored as fp32: half an ulp, 2^-24. */
extern const struct precision check_host;
/* The fp32 kernels. Roundings of a dot product are independent and at most 2^-24 of a partial sum
 * each: what is left of them is below 4 * 2^-24 of abs_dot, whatever K. The 40 passes of Sinkhorn
 * round each entry some 100 times, but every pass also takes back the last one's error: 16 * 2^-24.
 */
extern const struct precision check_device;
/* The same with the coefficients by cuBLAS, which adds in an order of its own: partial sums of
 * random sign are smaller than abs_dot by sqrt(K), so that K roundings one after another leave half
 * of 2^-24 of abs_dot, whatever K. */
extern const struct precision check_cublas;

/* Number of values out of bounds, each named on stderr with its case, row and bound. y: [K/4] of
 * each path, or NULL. */
int check_row(const char *name, const struct precision *precision, const struct kernel_case *c,
              uint32_t r, const struct oracle_row *want, const struct mhcs_row_result *have,
              const float *const y[MHCS_PATHS]);

/* The fp32 maps alone, on the host, from the oracle's raw values. */
int check_maps(const char *name, const struct kernel_case *c, uint32_t r,
               const struct oracle_row *want);

/* A zero row: no metric at all, no non-finite value. */
int check_zero_row(const char *name, const struct mhcs_row_result *have);

/* Rows that must agree bit for bit; any NaN equals any other. */
int check_same(const char *name, const struct mhcs_row_result *want,
               const struct mhcs_row_result *have, uint32_t rows);

#endif
