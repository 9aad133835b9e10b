/* SPDX-License-Identifier: Apache-2.0 */
/* The error of one mixing GEMM in each precision: raw, after the maps, of y. */
#ifndef MHCS_ERRORS_H
#define MHCS_ERRORS_H

#include "tools/microtest/arithmetic.h"
#include "tools/microtest/source.h"

#define MHCS_CHUNK_ROWS 16 /* rows that one thread works on at a time */

/* fn of one site in every form, prepared by all threads. */
struct mhcs_prepared {
    float *form[MHCS_AS_COUNT], *magnitude; /* [24][k] each; magnitude: |fn| */
    float absmax, rms;
};
int mhcs_prepared_init(struct mhcs_prepared *prepared, uint32_t k); /* 0 or -ENOMEM */
void mhcs_prepared_free(struct mhcs_prepared *prepared);
/* 0; -errno with `error` set. */
int mhcs_prepare(struct mhcs_prepared *prepared, const struct mhcs_source *source,
                 const struct mhcs_model_site *site, uint32_t threads,
                 char error[MHCS_MODEL_ERROR]);

/* X(member, metric of struct mhcs_row_metrics, norm that weights a row, label).
 * raw: rms over rows of the row's relative error, as the report's and its expectation. The others
 * are of all rows together, norm2(error) / norm2(reference): a row where a saturated sigmoid leaves
 * next to nothing of y has a large relative error and no say. */
#define MHCS_ERROR_COLUMNS(X)                                                                      \
    X(raw, rel, MHCS_NORM_ONE, "raw")                                                              \
    X(pre, pre_err, MHCS_NORM_PRE, "pre")                                                          \
    X(post, post_err, MHCS_NORM_POST, "post")                                                      \
    X(comb, comb_err, MHCS_NORM_COMB, "comb")                                                      \
    X(y, y_rel, MHCS_NORM_Y, "y")

struct mhcs_error {
#define MHCS_ERROR_MEMBER(member, metric, norm, label) double member;
    MHCS_ERROR_COLUMNS(MHCS_ERROR_MEMBER)
#undef MHCS_ERROR_MEMBER
    double cosine; /* 1 - cosine of y, the largest */
};

/* Against fp32 with the same rounded operands, and against fp32 with the weights and states as they
 * are. */
enum mhcs_against { MHCS_AGAINST_OPERANDS, MHCS_AGAINST_FP32, MHCS_AGAINST_COUNT };

struct mhcs_site_errors {
    const struct mhcs_model_site *site;
    float absmax, rms; /* of fn */
    struct mhcs_error error[MHCS_ARITHMETIC_COUNT][MHCS_AGAINST_COUNT];
    double check; /* relative error of the fp32 reference against fp64, of one row */
};

struct mhcs_states {
    const float *x; /* [rows][k] */
    uint32_t rows, k;
};

/* 0; -errno with `error` set. */
int mhcs_site_errors(struct mhcs_site_errors *ret_errors, const struct mhcs_model_site *site,
                     const struct mhcs_prepared *prepared, const struct mhcs_states *states,
                     const struct mhcs_machine *machine, char error[MHCS_MODEL_ERROR]);

#endif
