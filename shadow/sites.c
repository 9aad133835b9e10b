/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from fingerprint to site. */
#include "shadow/sites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS (4 * MHCS_SITES_MAX) /* a power of two */

struct mhcs_sites {
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

struct mhcs_sites *mhcs_sites_new(void)
{
    return calloc(1, sizeof(struct mhcs_sites));
}

void mhcs_sites_free(struct mhcs_sites *sites)
{
    free(sites);
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
    sites->count++;
    sites->buckets[bucket] = (uint16_t)sites->count;
    return site;
}
