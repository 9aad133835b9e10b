/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which of a checkpoint's weight matrices a server multiplies with, from fingerprints alone,
 * also where the server converted its weights; and where none matches, the nearest one and how the
 * two differ. One thread at a time.
 *
 * A row's hash is the sum over its elements of mix(index, value), mix invertible. So a single
 * changed element of a row shows by its place and value: for each place, the mixed value that would
 * explain the difference of the sums is turned back, and only at the true place is the index in it.
 * No text here holds a weight: traces get them, and traces hold none.
 */
#ifndef MHCS_MODEL_MATCH_H
#define MHCS_MODEL_MATCH_H

#include "shadow/model/model.h"

/* What the checkpoint's weights became in the server. X(NAME, name in traces and reports). */
#define MHCS_FORMS(X)                                                                              \
    X(STORED, "stored")                                                                            \
    X(BF16, "bf16")                                                                                \
    X(F16, "f16")                                                                                  \
    X(TF32, "tf32")                                                                                \
    X(TF32_EVEN, "tf32-even")                                                                      \
    X(TF32_CUT, "tf32-cut")

enum mhcs_form {
#define MHCS_FORM_ENUM(name, text) MHCS_FORM_##name,
    MHCS_FORMS(MHCS_FORM_ENUM)
#undef MHCS_FORM_ENUM
        MHCS_FORM_COUNT
};
const char *mhcs_form_name(enum mhcs_form form);

#define MHCS_DIFFERENCE_BYTES 256
struct mhcs_match {
    const struct mhcs_model_site *site; /* NULL: like none of the checkpoint's */
    enum mhcs_form form;
    char difference[MHCS_DIFFERENCE_BYTES]; /* "": it is that site's, in that form */
};

struct mhcs_matcher;
/* `model` outlives it. NULL: out of memory. */
struct mhcs_matcher *mhcs_matcher_new(const struct mhcs_model *model);
void mhcs_matcher_free(struct mhcs_matcher *matcher); /* NULL is fine */

/* The rows of a matrix as mhcs_fingerprint leaves them. A first call reads one row of every fn (a
 * Flash: 6 MB), a matrix that matches nothing makes all of them be read once. 0; -errno with
 * `error` set: the checkpoint could not be read. */
int mhcs_match(struct mhcs_matcher *matcher, const struct mhcs_fingerprint_row *rows,
               uint32_t coefficients, uint32_t k, struct mhcs_match *ret_match,
               char error[MHCS_MODEL_ERROR]);

/* fn of a site in a form, as fp32 [coefficients][k]. 0; -errno with `error` set. */
int mhcs_form_read(const struct mhcs_model *model, const struct mhcs_model_site *site,
                   enum mhcs_form form, float *to, char error[MHCS_MODEL_ERROR]);

#endif
