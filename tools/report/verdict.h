/* SPDX-License-Identifier: Apache-2.0 */
/* From what was observed to PASS, WARN, FAIL or INSUFFICIENT.
 *
 * A group of rows (a site in one phase, one token bucket of it, a whole phase, everything) is
 * compared with the error that the rows' declared paths predict: R = rms of rel / expected, R^2
 * being the mean over rows of q = (rel / expected)^2. One group is one test of "the mean of q is at
 * most 1": z = (mean - 1) / standard error of the mean, one-sided, normal. Rows of one site share
 * its weights, but their rel^2 scatter widely, which the standard error, taken from the rows
 * themselves, carries. Over all groups of a report Holm's step-down keeps the chance of even one
 * false alarm at MHCS_ALPHA, whatever the dependence between groups. */
#ifndef MHCS_REPORT_VERDICT_H
#define MHCS_REPORT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/report/classify.h"
#include "tools/report/look.h"
#include "tools/report/noise.h"
#include "tools/report/stats.h"

#define MHCS_PASS_RATIO 1.5
#define MHCS_WARN_RATIO 4.0
#define MHCS_MIN_ROWS   64
#define MHCS_ALPHA      0.01
/* So many wrong rows, or more, are no single accident. */
#define MHCS_WRONG_ROWS 4
/* Below this error of comb and y, rounding of the mixing GEMM is not what a user notices. */
#define MHCS_HARMLESS 0.01

/* What is known of a group against one reference. All zero: empty. */
struct mhcs_evidence {
    uint64_t rows; /* with a defined rel */
    struct mhcs_exact rel_squares, rel_fourths;
    struct mhcs_traits traits;
    struct mhcs_moments excess; /* q, rows whose path has an expectation */
    uint64_t rest_rows;         /* of these, with 24 coefficients none of which is wrong */
    struct mhcs_exact rest;     /* their q */
    uint64_t wrong;             /* rows with one; against the operands alone */
    uint64_t nonfinite;         /* rows: production not finite, reference and x finite */
    uint64_t reduced;           /* rows whose path allows partial sums in the output's type */
    uint32_t expected_rank;     /* coarsest rank of a class that a declared path predicts */
    struct mhcs_where where;    /* of rows with coefficients that are off, or not finite */
};

void mhcs_evidence_add(struct mhcs_evidence *evidence, const struct mhcs_look *look);
void mhcs_evidence_merge(struct mhcs_evidence *evidence, const struct mhcs_evidence *other);
double mhcs_evidence_rms(const struct mhcs_evidence *evidence);
/* Standard error of the mean of rel^2, over that mean; NaN under 2 rows or without any error. */
double mhcs_evidence_uncertainty(const struct mhcs_evidence *evidence);
enum mhcs_class mhcs_evidence_class(const struct mhcs_evidence *evidence);

/* In order of weight: the status of several groups is the largest. */
enum mhcs_status { MHCS_INSUFFICIENT, MHCS_PASS, MHCS_WARN, MHCS_FAIL };
const char *mhcs_status_name(enum mhcs_status status);

enum mhcs_cause {
    MHCS_CAUSE_NONE,
    MHCS_CAUSE_ROWS,        /* too few rows */
    MHCS_CAUSE_EXPECTATION, /* no expectation for the declared path */
    MHCS_CAUSE_KIND,        /* partial sums in a narrow type, which was not allowed */
    MHCS_CAUSE_ISOLATED,    /* fewer wrong rows than MHCS_WRONG_ROWS, beside right ones */
    MHCS_CAUSE_RATIO,
    MHCS_CAUSE_CLASS, /* coarser than declared */
    MHCS_CAUSE_WRONG, /* wrong rows beside right ones */
    MHCS_CAUSE_NONFINITE,
};

struct mhcs_judgement {
    enum mhcs_status status;
    enum mhcs_cause cause;
    enum mhcs_class class; /* what the errors look like, whatever the status */
    double ratio;          /* R; NaN without expectation */
    bool significant;      /* after correction */
};

/* Judges `count` groups together: judgements[i] of evidence[i]. -ENOMEM or 0. */
int mhcs_judge(const struct mhcs_evidence *const *evidence, size_t count,
               struct mhcs_judgement *judgements);

/* One test of a family: its probability, the group it belongs to, and whether it is significant. */
struct mhcs_test {
    double probability;
    size_t group;
    bool significant;
};
/* Holm's step-down at family-wise level `alpha`; sorts the tests by probability. */
void mhcs_holm(struct mhcs_test *tests, size_t count, double alpha);

#endif
