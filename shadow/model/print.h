/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints of a checkpoint's weights, in every form, computed when they are first asked for. */
#ifndef MHCS_MODEL_PRINT_H
#define MHCS_MODEL_PRINT_H

#include "shadow/model/match.h"

struct mhcs_prints {
    const struct mhcs_model *model;
    float *values, *rounded;            /* one fn each */
    uint64_t (*first)[MHCS_FORM_COUNT]; /* per site: hash of row 0; NULL: not yet computed */
    struct mhcs_fingerprint_row (*all)[MHCS_FORM_COUNT][MHCS_COEFFICIENTS]; /* per site, or NULL */
};

/* 0 or -ENOMEM. */
int mhcs_prints_init(struct mhcs_prints *prints, const struct mhcs_model *model);
void mhcs_prints_destroy(struct mhcs_prints *prints);

/* Fill `first`, or `all`; nothing where that is done. 0; -errno with `error` set. */
int mhcs_prints_first(struct mhcs_prints *prints, char error[MHCS_MODEL_ERROR]);
int mhcs_prints_all(struct mhcs_prints *prints, char error[MHCS_MODEL_ERROR]);

/* All rows of one site in one form, from the file to out[M]; leaves the values in `rounded`. */
int mhcs_prints_site(struct mhcs_prints *prints, const struct mhcs_model_site *site,
                     enum mhcs_form form, struct mhcs_fingerprint_row *out,
                     char error[MHCS_MODEL_ERROR]);

/* What row `from` of `rounded`, times sign, would hash to as row `to`. */
uint64_t mhcs_prints_moved(const struct mhcs_prints *prints, uint32_t from, uint32_t to,
                           bool negated);

/* The one element of row j of `rounded` whose change explains `hash`. False: there is none. */
bool mhcs_prints_element(const struct mhcs_prints *prints, uint32_t j, uint64_t hash,
                         uint32_t *ret_k, float *ret_value);

#endif
