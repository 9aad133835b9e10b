/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/places.h"

#include <stdio.h>
#include <stdlib.h>

struct place {
    const struct mhcs_site *site; /* of the latest sample; NULL: none yet */
    uint32_t streak;              /* samples of it in a row */
    bool several;                 /* it has held different ones */
    bool told;
};

struct mhcs_places {
    struct place at[MHCS_PLACES_MAX]; /* by order of first appearance */
    int32_t end;                      /* behind the last one seen */
};

struct mhcs_places *mhcs_places_new(void)
{
    return calloc(1, sizeof(struct mhcs_places));
}

void mhcs_places_free(struct mhcs_places *places)
{
    free(places);
}

bool mhcs_places_note(struct mhcs_places *places, int32_t order, const struct mhcs_site *site,
                      char finding[MHCS_FINDING_BYTES])
{
    struct place *place;
    bool changed;

    if (!places || order < 0 || order >= MHCS_PLACES_MAX) {
        return false;
    }
    place = &places->at[order];
    if (order >= places->end) {
        places->end = order + 1;
    }
    if (place->site == site) {
        place->streak++;
        return false;
    }
    changed = place->site && !place->several && place->streak >= MHCS_PLACE_SETTLED;
    if (changed) {
        snprintf(
            finding, MHCS_FINDING_BYTES,
            "the weights at the address of %s changed while the server ran; since then they are "
            "%s%s%s",
            place->site->name, site->name, *site->match.difference ? ": " : "",
            site->match.difference);
    }
    place->several = place->site != NULL;
    place->site = site;
    place->streak = 1;
    return changed;
}

/* The checkpoint's site that is at this place for good, by its number in a forward pass; -1: none.
 */
static int64_t settled(const struct mhcs_places *places, const struct mhcs_model *model,
                       int32_t order)
{
    const struct place *place = &places->at[order < 0 ? 0 : order];

    if (order < 0 || order >= places->end || !place->site || place->several ||
        place->streak < MHCS_PLACE_SETTLED || !place->site->match.site) {
        return -1;
    }
    return place->site->match.site - model->sites;
}

/* The site that a place's neighbours ask for; -1: they ask for none. */
static int64_t wanted(const struct mhcs_places *places, const struct mhcs_model *model,
                      int32_t order)
{
    const int64_t before = settled(places, model, order - 1);
    const int64_t behind = settled(places, model, order + 1);
    const int64_t site = before >= 0 ? before + 1 : behind - 1;

    return (before < 0 && behind < 1) || site >= (int64_t)model->site_count ? -1 : site;
}

static bool is_anywhere(const struct mhcs_places *places, const struct mhcs_model *model,
                        int64_t site)
{
    for (int32_t order = 0; order < places->end; order++) {
        const struct mhcs_site *there = places->at[order].site;

        if (there && there->match.site && there->match.site - model->sites == site) {
            return true;
        }
    }
    return false;
}

/* Whether these weights also are where they belong. */
static bool has_original(const struct mhcs_places *places, const struct mhcs_model *model,
                         int32_t but, int64_t site)
{
    for (int32_t order = 0; order < places->end; order++) {
        if (order != but && settled(places, model, order) == site &&
            wanted(places, model, order) == site) {
            return true;
        }
    }
    return false;
}

bool mhcs_places_misplaced(struct mhcs_places *places, const struct mhcs_model *model,
                           char finding[MHCS_FINDING_BYTES])
{
    for (int32_t order = 0; places && model && order < places->end; order++) {
        struct place *place = &places->at[order];
        const int64_t is = settled(places, model, order);
        const int64_t should = wanted(places, model, order);

        if (is < 0 || should < 0 || is == should || place->told ||
            is_anywhere(places, model, should) || !has_original(places, model, order, is)) {
            continue;
        }
        place->told = true;
        snprintf(finding, MHCS_FINDING_BYTES,
                 "where %s is due, the server multiplies with the weights of %s",
                 model->sites[should].name, model->sites[is].name);
        return true;
    }
    return false;
}
