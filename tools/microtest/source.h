/* SPDX-License-Identifier: Apache-2.0 */
/* Where the mixing weights come from: a checkpoint, or made up. Constant after opening. */
#ifndef MHCS_SOURCE_H
#define MHCS_SOURCE_H

#include "shadow/model/model.h"

struct mhcs_source {
    struct mhcs_model *model; /* NULL: made up */
    uint64_t seed;            /* of made-up weights */
    uint32_t k, layers;
    const struct mhcs_model_site *sites; /* in the order of a forward pass */
    size_t site_count;
    struct mhcs_model_site *made_up;
};

/* 0; -errno with `error` set. */
int mhcs_source_open(struct mhcs_source *ret_source, const char *path,
                     char error[MHCS_MODEL_ERROR]);
int mhcs_source_make_up(struct mhcs_source *ret_source, uint32_t layers, uint32_t hidden,
                        uint64_t seed, char error[MHCS_MODEL_ERROR]);
void mhcs_source_close(struct mhcs_source *source);

/* fn of a site as fp32 [coefficients][k]. */
int mhcs_source_fn(const struct mhcs_source *source, const struct mhcs_model_site *site, float *to,
                   char error[MHCS_MODEL_ERROR]);

#endif
