/* SPDX-License-Identifier: Apache-2.0 */
/* Which weights lie at which address of the server, and what is odd about that: weights that change
 * while it runs, and one layer's weights at the place of another.
 *
 * An address counts by the order in which it first appeared, so a server's weights come in the
 * order of its forward pass. Only addresses that held the same weights for MHCS_PLACE_SETTLED
 * samples in a row are believed: weights cast anew for every call go through a few temporary
 * addresses.
 *
 * One thread (the drain's).
 */
#ifndef MHCS_PLACES_H
#define MHCS_PLACES_H

#include "shadow/sites.h"

#define MHCS_PLACES_MAX    4096
#define MHCS_PLACE_SETTLED 3

struct mhcs_places;                        /* NULL stands for one that never finds anything */
struct mhcs_places *mhcs_places_new(void); /* NULL: out of memory */
void mhcs_places_free(struct mhcs_places *places);

#define MHCS_FINDING_BYTES 512

/* A sample of `site` came from an address of this order (-1: unknown). True: the finding is that
 * the weights there changed. */
bool mhcs_places_note(struct mhcs_places *places, int32_t order, const struct mhcs_site *site,
                      char finding[MHCS_FINDING_BYTES]);

/* The next address found to hold another layer's weights, each once; false: no more for now. */
bool mhcs_places_misplaced(struct mhcs_places *places, const struct mhcs_model *model,
                           char finding[MHCS_FINDING_BYTES]);

#endif
