/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from fingerprint to site; new ones are looked up in the checkpoint. */
#include "shadow/sites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS (4 * MHCS_SITES_MAX) /* a power of two */

struct mhcs_sites {
    const struct mhcs_model *model;
    struct mhcs_matcher *matcher; /* NULL: no checkpoint, or it can't be read */
    char error[MHCS_MODEL_ERROR];
    uint16_t buckets[BUCKETS];                  /* 1 + index into `sites`; 0: empty */
    struct mhcs_site sites[MHCS_SITES_MAX + 1]; /* the last one is for all others */
    bool taken[MHCS_SITES_MAX];                 /* by id */
    uint32_t count;
    int32_t next_id; /* no id below it is free */
    bool overflowed;
};

uint64_t mhcs_site_fingerprint(const struct mhcs_fingerprint_row *rows, uint32_t coefficients,
                               uint32_t k)
{
    uint64_t hash = mhcs_mix64(((uint64_t)coefficients << 32) + k);

    for (uint32_t j = 0; j < coefficients; j++) {
        hash = mhcs_mix64(hash ^ rows[j].hash);
    }
    return hash;
}

struct mhcs_sites *mhcs_sites_new(const struct mhcs_model *model)
{
    struct mhcs_sites *sites = calloc(1, sizeof(*sites));

    if (sites && model) {
        sites->model = model;
        sites->matcher = mhcs_matcher_new(model);
        if (!sites->matcher) {
            free(sites);
            return NULL;
        }
    }
    return sites;
}

void mhcs_sites_free(struct mhcs_sites *sites)
{
    if (sites) {
        mhcs_matcher_free(sites->matcher);
    }
    free(sites);
}

const char *mhcs_sites_error(const struct mhcs_sites *sites)
{
    return sites->error;
}

/* The order in which weights first appeared is the same in every run and rank, so it makes the
 * better id; content that comes at an address known for other content gets the next free one. */
static int32_t choose_id(struct mhcs_sites *sites, int32_t weight_order)
{
    int32_t id = weight_order;

    if (id < 0 || id >= MHCS_SITES_MAX || sites->taken[id]) {
        while (sites->taken[sites->next_id]) {
            sites->next_id++;
        }
        id = sites->next_id;
    }
    sites->taken[id] = true;
    return id;
}

static void describe(struct mhcs_site *site, const struct mhcs_fingerprint_row *rows)
{
    const double elements = (double)site->coefficients * site->k;
    double square_sum = 0;

    for (uint32_t j = 0; j < site->coefficients; j++) {
        site->absmax = fmaxf(site->absmax, rows[j].absmax);
        square_sum += (double)rows[j].square_sum;
        site->nonfinite += rows[j].nonfinite;
    }
    site->rms = (float)sqrt(square_sum / elements);
    site->layer = -1;
    site->role = site->coefficients == MHCS_COEFFICIENTS_HEAD ? "head" : NULL;
}

/* How many sites have this name, or this name with a star. */
static uint32_t count_named(const struct mhcs_sites *sites, const char *name)
{
    const size_t length = strlen(name);
    uint32_t count = 0;

    for (uint32_t i = 0; i < sites->count; i++) {
        count +=
            strncmp(sites->sites[i].name, name, length) == 0 && sites->sites[i].name[length] == '*';
    }
    return count;
}

/* Looks the site up in the checkpoint. One that can't be read any more is given up. */
static void attribute(struct mhcs_sites *sites, struct mhcs_site *site,
                      const struct mhcs_fingerprint_row *rows)
{
    struct mhcs_match *match = &site->match;
    uint32_t altered;

    if (sites->matcher &&
        mhcs_match(sites->matcher, rows, site->coefficients, site->k, match, sites->error) < 0) {
        mhcs_matcher_free(sites->matcher);
        sites->matcher = NULL;
        match->site = NULL;
    }
    if (!match->site) {
        if (sites->matcher) {
            snprintf(match->difference, sizeof(match->difference),
                     "it resembles none of the checkpoint's weights");
        }
        return;
    }
    site->layer = match->site->layer;
    site->role = mhcs_role_name(match->site->role);
    altered = *match->difference ? 1 + count_named(sites, match->site->name) : 0;
    snprintf(site->name, sizeof(site->name),
             altered > 1 ? "%s*%u"
             : altered   ? "%s*"
                         : "%s",
             match->site->name, altered);
}

const struct mhcs_site *mhcs_sites_find(struct mhcs_sites *sites,
                                        const struct mhcs_fingerprint_row *rows,
                                        uint32_t coefficients, uint32_t k, uint32_t dtype,
                                        int32_t weight_order, bool *ret_new)
{
    const uint64_t fingerprint = mhcs_site_fingerprint(rows, coefficients, k);
    uint32_t bucket = (uint32_t)fingerprint % BUCKETS;
    struct mhcs_site *site;

    *ret_new = false;
    for (; sites->buckets[bucket] != 0; bucket = (bucket + 1) % BUCKETS) {
        site = &sites->sites[sites->buckets[bucket] - 1];
        if (site->fingerprint == fingerprint && site->coefficients == coefficients &&
            site->k == k) {
            return site;
        }
    }
    site = &sites->sites[sites->count];
    if (sites->overflowed) {
        return site;
    }
    *site = (struct mhcs_site){.fingerprint = fingerprint,
                               .coefficients = coefficients,
                               .k = k,
                               .dtype = dtype,
                               .weight_order = weight_order};
    describe(site, rows);
    *ret_new = true;
    if (sites->count == MHCS_SITES_MAX) {
        sites->overflowed = true;
        site->id = MHCS_SITES_MAX;
        snprintf(site->name, sizeof(site->name), "others");
        return site;
    }
    site->id = choose_id(sites, weight_order);
    snprintf(site->name, sizeof(site->name), "site%d", (int)site->id);
    attribute(sites, site, rows);
    sites->count++;
    sites->buckets[bucket] = (uint16_t)sites->count;
    return site;
}
