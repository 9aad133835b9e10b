/* SPDX-License-Identifier: Apache-2.0 */
/* Sites: the weight matrices seen, told apart by content, and where there is a checkpoint named by
 * it. One thread (the drain's). */
#ifndef MHCS_SITES_H
#define MHCS_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "shadow/model/match.h"

/* Weights that keep changing under the server (training, live updates) are new sites each time. */
#define MHCS_SITES_MAX 4096

struct mhcs_site {
    int32_t id;
    /* "layers.21.hc_attn_fn"; weights that differ from the checkpoint's: "layers.21.hc_attn_fn*",
     * the second such "...*2"; without a checkpoint, or like none of its weights: "site17" */
    char name[MHCS_SITE_NAME_BYTES + 8];
    const char *role; /* NULL: unknown */
    int16_t layer;    /* -1: unknown */
    uint64_t fingerprint;
    uint32_t coefficients, k, dtype; /* dtype: as first seen */
    int32_t weight_order;
    float absmax, rms;
    uint32_t nonfinite;
    /* match.site is NULL without a checkpoint, and for a matrix like none of its. */
    struct mhcs_match match;
};

/* One number for all rows of a matrix: order of the rows and shape count, storage type does not. */
uint64_t mhcs_site_fingerprint(const struct mhcs_fingerprint_row *rows, uint32_t coefficients,
                               uint32_t k);

struct mhcs_sites;
/* `model` (NULL: none) outlives it. NULL: out of memory. */
struct mhcs_sites *mhcs_sites_new(const struct mhcs_model *model);
void mhcs_sites_free(struct mhcs_sites *sites);
/* What kept the checkpoint from being read, or "". */
const char *mhcs_sites_error(const struct mhcs_sites *sites);

/* The site of a matrix; *ret_new tells whether this is its first appearance. Beyond MHCS_SITES_MAX
 * all further matrices share one site of id MHCS_SITES_MAX, named "others". */
const struct mhcs_site *mhcs_sites_find(struct mhcs_sites *sites,
                                        const struct mhcs_fingerprint_row *rows,
                                        uint32_t coefficients, uint32_t k, uint32_t dtype,
                                        int32_t weight_order, bool *ret_new);

#endif
