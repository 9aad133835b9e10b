/* SPDX-License-Identifier: Apache-2.0 */
/* A grouped call as a row of batches. */
#ifndef MHCS_GROUPS_H
#define MHCS_GROUPS_H

#include "interpose/call.h"

struct mhcs_groups_walk { /* zero-initialise */
    int64_t group, first; /* the next one, and its first entry in the pointer arrays */
};

/* The next group that may hold mixing GEMMs. False: there is none. */
bool mhcs_groups_next(const struct mhcs_groups *groups, struct mhcs_groups_walk *walk,
                      struct mhcs_call *call);

#endif
