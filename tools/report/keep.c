/* SPDX-License-Identifier: Apache-2.0 */
/* The sites and paths of a collection. Where there are too many, those with the least names are
 * kept: which they are then does not depend on the order of the rows, since a name that is among
 * the least of all is so at every time, and what was counted for another is moved to the rest. */
#include "tools/report/keep.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mhcs_collect *mhcs_collect_new(void)
{
    struct mhcs_collect *collect = calloc(1, sizeof(*collect));

    if (collect) {
        collect->first = INT64_MAX;
        collect->last = INT64_MIN;
        mhcs_timeline_init(&collect->timeline);
    }
    return collect;
}

int mhcs_collect_extras(struct mhcs_collect *collect, const struct mhcs_extras *extras)
{
    collect->keeps_samples = extras->samples;
    if (extras->worst_rows == 0)
        return 0;
    return mhcs_worst_init(&collect->worst, extras->worst_rows, extras->worst_metric,
                           extras->worst_reference);
}

static void site_free(struct mhcs_site_line *site)
{
    for (int p = 0; p < MHCS_PHASES; p++)
        if (site->line[p]) {
            for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++)
                free(site->line[p]->bucket[b]);
            free(site->line[p]);
        }
    free(site->samples);
    free(site);
}

static void keep_node(void *node)
{
    (void)node; /* the tree's keys are the sites of the array */
}

void mhcs_collect_free(struct mhcs_collect *collect)
{
    if (!collect)
        return;
    tdestroy(collect->site_tree, keep_node);
    for (size_t i = 0; i < collect->sites; i++)
        site_free(collect->site[i]);
    for (size_t i = 0; i < collect->paths; i++)
        free(collect->path[i]);
    mhcs_timeline_clear(&collect->timeline);
    mhcs_worst_free(&collect->worst);
    free(collect);
}

/* ---- sites ---- */

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const struct mhcs_site_line *)left)->name,
                  ((const struct mhcs_site_line *)right)->name);
}

void mhcs_keep_not(struct mhcs_collect *collect, const struct mhcs_site_line *site)
{
    for (int p = 0; p < MHCS_PHASES; p++) {
        if (!site->line[p])
            continue;
        collect->rows_of_other_sites += site->line[p]->rows;
        for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++)
            MHCS_FOR_EACH_REFERENCE(r)
                if (site->line[p]->bucket[b])
                    mhcs_evidence_merge(&collect->other[p].against[r],
                                        &site->line[p]->bucket[b]->against[r]);
    }
}

static size_t greatest_site(const struct mhcs_collect *collect)
{
    size_t greatest = 0;

    for (size_t i = 1; i < collect->sites; i++)
        if (compare_names(collect->site[i], collect->site[greatest]) > 0)
            greatest = i;
    return greatest;
}

/* False: `name` itself is the greatest. */
static bool make_room_for_site(struct mhcs_collect *collect, const struct mhcs_site_line *name)
{
    const size_t greatest = greatest_site(collect);
    struct mhcs_site_line *site = collect->site[greatest];

    if (compare_names(name, site) > 0)
        return false;
    mhcs_keep_not(collect, site);
    tdelete(site, &collect->site_tree, compare_names);
    site_free(site);
    memset(collect->recent, 0, sizeof(collect->recent));
    collect->site[greatest] = collect->site[--collect->sites];
    return true;
}

int mhcs_keep_site_like(struct mhcs_collect *collect, const struct mhcs_site_line *like,
                        struct mhcs_site_line **ret_site)
{
    struct mhcs_site_line **found = tfind(like, &collect->site_tree, compare_names), *site;

    *ret_site = found ? *found : NULL;
    if (found)
        return 0;
    if (collect->sites == MHCS_COLLECT_SITES_MAX && !make_room_for_site(collect, like))
        return 0;
    site = calloc(1, sizeof(*site));
    if (!site)
        return -ENOMEM;
    memcpy(site->name, like->name, sizeof(site->name));
    site->layer = -1;
    if (collect->keeps_samples)
        site->samples = calloc(1, sizeof(*site->samples));
    if ((collect->keeps_samples && !site->samples) ||
        !tsearch(site, &collect->site_tree, compare_names)) {
        site_free(site);
        return -ENOMEM;
    }
    collect->site[collect->sites++] = site;
    *ret_site = site;
    return 0;
}

/* Whether a row says of its site what is known of it already. */
static bool is_site(const struct mhcs_site_line *site, const struct mhcs_record *record)
{
    return site && site->layer == record->layer && !strcmp(site->name, record->site_name) &&
           !strcmp(site->role, record->role ? record->role : "");
}

/* A trace numbers its sites: where the last row with that number, of whatever trace, was counted is
 * looked at first. */
int mhcs_keep_site(struct mhcs_collect *collect, const struct mhcs_record *record,
                   struct mhcs_site_line **ret_site)
{
    struct mhcs_site_line **recent = &collect->recent[(uint32_t)record->site % MHCS_COLLECT_RECENT];
    struct mhcs_site_line like = {.layer = record->layer};
    int ret;

    *ret_site = *recent;
    if (is_site(*recent, record))
        return 0;
    snprintf(like.name, sizeof(like.name), "%s", record->site_name);
    snprintf(like.role, sizeof(like.role), "%s", record->role ? record->role : "");
    ret = mhcs_keep_site_like(collect, &like, ret_site);
    if (!ret && *ret_site)
        ret = mhcs_merge_site(*ret_site, &like);
    *recent = *ret_site;
    return ret;
}

int mhcs_keep_line(struct mhcs_site_line *site, enum mhcs_phase phase, struct mhcs_line **ret_line)
{
    if (!site->line[phase])
        site->line[phase] = calloc(1, sizeof(*site->line[phase]));
    *ret_line = site->line[phase];
    return *ret_line ? 0 : -ENOMEM;
}

int mhcs_keep_cell(struct mhcs_line *line, uint32_t bucket, struct mhcs_cell **ret_cell)
{
    if (!line->bucket[bucket])
        line->bucket[bucket] = calloc(1, sizeof(*line->bucket[bucket]));
    *ret_cell = line->bucket[bucket];
    return *ret_cell ? 0 : -ENOMEM;
}

/* ---- paths ---- */

static void name_path(struct mhcs_path_line *path, const char *text)
{
    snprintf(path->text, sizeof(path->text), "%s", text);
    path->parsed = mhcs_path_parse(text, &path->precision);
}

static size_t greatest_path(const struct mhcs_collect *collect)
{
    size_t greatest = 0;

    for (size_t i = 1; i < collect->paths; i++)
        if (strcmp(collect->path[i]->text, collect->path[greatest]->text) > 0)
            greatest = i;
    return greatest;
}

/* False: `text` itself is the greatest. */
static bool make_room_for_path(struct mhcs_collect *collect, const char *text)
{
    const size_t greatest = greatest_path(collect);

    if (strcmp(text, collect->path[greatest]->text) > 0)
        return false;
    mhcs_merge_path(&collect->other_path, collect->path[greatest]);
    free(collect->path[greatest]);
    collect->path[greatest] = collect->path[--collect->paths];
    return true;
}

int mhcs_keep_path(struct mhcs_collect *collect, const char *text, struct mhcs_path_line **ret_path)
{
    struct mhcs_path_line *path;

    for (size_t i = 0; i < collect->paths; i++)
        if (!strcmp(collect->path[i]->text, text)) {
            *ret_path = collect->path[i];
            return 0;
        }
    *ret_path = &collect->other_path;
    if (collect->paths == MHCS_COLLECT_PATHS_MAX && !make_room_for_path(collect, text)) {
        name_path(*ret_path, text);
        return 0;
    }
    path = calloc(1, sizeof(*path));
    if (!path)
        return -ENOMEM;
    name_path(path, text);
    collect->path[collect->paths++] = path;
    *ret_path = path;
    return 0;
}
