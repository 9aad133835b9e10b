/* SPDX-License-Identifier: Apache-2.0 */
/* The whole pipeline and every metric once more, in long double and straight from the published
 * formulas: what host and device are held against. Shares no code with kernels/.
 */
#ifndef TEST_ORACLE_H
#define TEST_ORACLE_H

#include "case.h"

/* The names of struct mhcs_row_metrics. */
#define ORACLE_METRICS(X)                                                                          \
    X(rel)                                                                                         \
    X(rel_pre)                                                                                     \
    X(rel_post)                                                                                    \
    X(rel_comb)                                                                                    \
    X(max_abs)                                                                                     \
    X(backward)                                                                                    \
    X(condition)                                                                                   \
    X(ulp)                                                                                         \
    X(bias)                                                                                        \
    X(pre_err) X(post_err) X(comb_err) X(comb_max_abs) X(comb_tv) X(bound) X(y_rel) X(y_cosdist)

struct oracle_metrics {
#define X(name) double name;
    ORACLE_METRICS(X)
#undef X
};

struct oracle_path {
    double raw[MHCS_COEFFICIENTS], abs_dot[MHCS_COEFFICIENTS], mapped[MHCS_COEFFICIENTS];
    double defect, y_norm;
    long double *y; /* [K/4] */
};

struct oracle_row {
    double rms;
    struct oracle_path path[MHCS_PATHS];
    struct oracle_metrics against[MHCS_PATHS]; /* of a non-zero, finite row */
};

/* Row r of a case. The checkpoint path is that of the operands where there is no checkpoint. Free
 * with oracle_free(). */
struct oracle_row oracle_row(const struct kernel_case *c, uint32_t r);
void oracle_free(struct oracle_row *row);

#endif
