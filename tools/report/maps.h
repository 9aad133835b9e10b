/* SPDX-License-Identifier: Apache-2.0 */
/* The maps of the model as the traces' facts have them: scale and base of each site, by name. */
#ifndef MHCS_REPORT_MAPS_H
#define MHCS_REPORT_MAPS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernels/kernels.h"

struct mhcs_map {
    char *site;
    float scale[3], base[MHCS_COEFFICIENTS];
};

struct mhcs_maps {
    struct mhcs_map *map;
    size_t count, room;
    bool known,
        neutral; /* hc_eps and iterations are known; without a checkpoint: scale 1, base 0 */
    bool unlike; /* traces differ in what they say: nothing is to be trusted */
    float hc_eps;
    int32_t iterations;
};

/* Takes what one J frame says. 0 or -ENOMEM. */
int mhcs_maps_add(struct mhcs_maps *maps, const cJSON *json);
int mhcs_maps_merge(struct mhcs_maps *maps, const struct mhcs_maps *from);
void mhcs_maps_free(struct mhcs_maps *maps); /* what it holds */

/* False: the traces do not tell. */
bool mhcs_maps_find(const struct mhcs_maps *maps, const char *site,
                    struct mhcs_model_params *ret_params);

#endif
