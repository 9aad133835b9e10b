/* SPDX-License-Identifier: Apache-2.0 */
/* The groups that are judged together, from the cells of the collection upwards: everything, each
 * phase, each size of call, each site in each phase, and each size of call of those. */
#include "tools/report/groups.h"

#include <errno.h>
#include <stdlib.h>

/* Adds up the cells of one site and phase; ret_evidence must be zero. */
static void merge_line(const struct mhcs_line *line, enum mhcs_path reference,
                       struct mhcs_evidence *ret_evidence)
{
    for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++)
        if (line->bucket[b])
            mhcs_evidence_merge(ret_evidence, &line->bucket[b]->against[reference]);
}

static struct mhcs_group *next_group(struct mhcs_conclusion *conclusion,
                                     const struct mhcs_site_line *site, int phase, int bucket,
                                     enum mhcs_path reference)
{
    struct mhcs_group *group = &conclusion->group[conclusion->groups++];

    *group =
        (struct mhcs_group){.site = site, .phase = phase, .bucket = bucket, .reference = reference};
    return group;
}

static size_t count_groups(const struct mhcs_collect *collect)
{
    size_t lines = 1 + MHCS_PHASES + MHCS_TOKEN_BUCKETS;

    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++) {
            const struct mhcs_line *line = collect->site[i]->line[p];

            lines += line != NULL;
            for (int b = 0; line && b < MHCS_TOKEN_BUCKETS; b++)
                lines += line->bucket[b] != NULL;
        }
    return lines * (MHCS_PATHS - MHCS_OPERANDS);
}

static void add_line(struct mhcs_conclusion *conclusion, const struct mhcs_site_line *site,
                     int phase, enum mhcs_path reference)
{
    const struct mhcs_line *line = site->line[phase];
    struct mhcs_group *group = next_group(conclusion, site, phase, -1, reference);
    int sizes = 0;

    merge_line(line, reference, &group->evidence);
    for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++)
        sizes += line->bucket[b] != NULL;
    if (sizes < 2) /* the one bucket is the line, no test of its own */
        return;
    for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++)
        if (line->bucket[b])
            next_group(conclusion, site, phase, b, reference)->evidence =
                line->bucket[b]->against[reference];
}

/* Calls of one size at all sites. */
static bool has_bucket(const struct mhcs_collect *collect, int bucket)
{
    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++)
            if (collect->site[i]->line[p] && collect->site[i]->line[p]->bucket[bucket])
                return true;
    return false;
}

static void add_bucket(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect,
                       int bucket, enum mhcs_path reference)
{
    struct mhcs_group *group = next_group(conclusion, NULL, -1, bucket, reference);

    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++) {
            const struct mhcs_line *line = collect->site[i]->line[p];

            if (line && line->bucket[bucket])
                mhcs_evidence_merge(&group->evidence, &line->bucket[bucket]->against[reference]);
        }
}

static void add_buckets(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect)
{
    int sizes = 0;

    for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++)
        sizes += has_bucket(collect, b);
    for (int b = 0; b < MHCS_TOKEN_BUCKETS && sizes > 1; b++)
        MHCS_FOR_EACH_REFERENCE(r)
            if (has_bucket(collect, b))
                add_bucket(conclusion, collect, b, r);
}

static void build_groups(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect)
{
    MHCS_FOR_EACH_REFERENCE(r)
        next_group(conclusion, NULL, -1, -1, r);
    for (int p = 0; p < MHCS_PHASES; p++)
        MHCS_FOR_EACH_REFERENCE(r)
            next_group(conclusion, NULL, p, -1, r)->evidence = collect->other[p].against[r];
    add_buckets(conclusion, collect);
    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++)
            MHCS_FOR_EACH_REFERENCE(r)
                if (collect->site[i]->line[p])
                    add_line(conclusion, collect->site[i], p, r);
}

/* A whole phase from its sites, everything from the phases. */
static void merge_upwards(struct mhcs_conclusion *conclusion)
{
    const size_t references = MHCS_PATHS - MHCS_OPERANDS;

    for (size_t i = references * (1 + MHCS_PHASES); i < conclusion->groups; i++) {
        const struct mhcs_group *group = &conclusion->group[i];
        const size_t phase = references * (size_t)(1 + group->phase);

        if (group->site && group->bucket < 0)
            mhcs_evidence_merge(
                &conclusion->group[phase + group->reference - MHCS_OPERANDS].evidence,
                &group->evidence);
    }
    for (size_t i = references; i < references * (1 + MHCS_PHASES); i++)
        mhcs_evidence_merge(&conclusion->group[i % references].evidence,
                            &conclusion->group[i].evidence);
}

static int judge_groups(struct mhcs_conclusion *conclusion)
{
    const struct mhcs_evidence **evidence = calloc(conclusion->groups, sizeof(*evidence));
    struct mhcs_judgement *judgements = calloc(conclusion->groups, sizeof(*judgements));
    int ret = -ENOMEM;

    if (!evidence || !judgements)
        goto out;
    for (size_t i = 0; i < conclusion->groups; i++)
        evidence[i] = &conclusion->group[i].evidence;
    ret = mhcs_judge(evidence, conclusion->groups, judgements);
    for (size_t i = 0; !ret && i < conclusion->groups; i++)
        conclusion->group[i].judgement = judgements[i];
out:
    free(judgements);
    free(evidence);
    return ret;
}

int mhcs_groups_judge(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect)
{
    conclusion->group = calloc(count_groups(collect), sizeof(struct mhcs_group));
    if (!conclusion->group)
        return -ENOMEM;
    build_groups(conclusion, collect);
    merge_upwards(conclusion);
    return judge_groups(conclusion);
}

bool mhcs_group_is_empty(const struct mhcs_group *group)
{
    return group->evidence.rows == 0 && group->evidence.nonfinite == 0;
}

bool mhcs_group_is_part(const struct mhcs_group *group, const struct mhcs_group *wide)
{
    const struct mhcs_line *line;

    if (group->reference != wide->reference || wide->site || group == wide)
        return false;
    if (!group->site)
        return wide->bucket < 0 && wide->phase < 0 && group->phase < 0;
    if (wide->phase >= 0 && group->phase != wide->phase)
        return false;
    if (group->bucket == wide->bucket)
        return true;
    line = group->site->line[group->phase]; /* of one size of call: no group of its own */
    return group->bucket < 0 && line->bucket[wide->bucket] &&
           line->bucket[wide->bucket]->against[group->reference].rows == group->evidence.rows;
}
