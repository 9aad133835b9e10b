/* SPDX-License-Identifier: Apache-2.0 */
/* Two collections become one: the rules of the lists in collect.h, over all members. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/keep.h"

/* Merges `count` of the member's elements. */
#define MERGE_MEMBER(type, name, dimensions, rule)                                                 \
    if (!ret)                                                                                      \
        ret = merge_##rule((type *)&to->name, (type const *)&from->name,                           \
                           sizeof(to->name) / sizeof(type));

#define RULE(rule, type, ...)                                                                      \
    static int merge_##rule(type *to, const type *from, size_t count)                              \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        return 0;                                                                                  \
    }

RULE(sum, uint64_t, to[i] += from[i])
RULE(earliest, int64_t, if (from[i] < to[i]) to[i] = from[i])
RULE(latest, int64_t, if (from[i] > to[i]) to[i] = from[i])
RULE(largest, int16_t, if (from[i] > to[i]) to[i] = from[i])
RULE(stat, struct mhcs_stat, mhcs_stat_merge(&to[i], &from[i]))
RULE(moments, struct mhcs_moments, mhcs_moments_merge(&to[i], &from[i]))
RULE(worst, struct mhcs_worst, mhcs_worst_merge(&to[i], &from[i]))
RULE(evidence, struct mhcs_evidence, mhcs_evidence_merge(&to[i], &from[i]))

/* Texts: the greater one, so that a known one replaces an unknown one. */
static int merge_greatest(char *to, const char *from, size_t size)
{
    if (strncmp(from, to, size) > 0)
        memcpy(to, from, size);
    return 0;
}

static int merge_timeline(struct mhcs_timeline *to, const struct mhcs_timeline *from, size_t count)
{
    int ret = 0;

    for (size_t i = 0; i < count && !ret; i++)
        ret = mhcs_timeline_merge(&to[i], &from[i]);
    return ret;
}

static int merge_one_cell(struct mhcs_cell *to, const struct mhcs_cell *from)
{
    int ret = 0;

    MHCS_CELL_MEMBERS(MERGE_MEMBER)
    return ret;
}

static int merge_own_cell(struct mhcs_cell *to, const struct mhcs_cell *from, size_t count)
{
    int ret = 0;

    for (size_t i = 0; i < count && !ret; i++)
        ret = merge_one_cell(&to[i], &from[i]);
    return ret;
}

int mhcs_merge_path(struct mhcs_path_line *to, const struct mhcs_path_line *from)
{
    int ret = 0;

    MHCS_PATH_MEMBERS(MERGE_MEMBER)
    return ret;
}

static int merge_own_path(struct mhcs_path_line *to, const struct mhcs_path_line *from,
                          size_t count)
{
    int ret = 0;

    for (size_t i = 0; i < count && !ret; i++)
        ret = mhcs_merge_path(&to[i], &from[i]);
    return ret;
}

/* Cells and lines that `to` lacks are made: all zero is empty. */
#define MAKE_AND_MERGE(rule, kind, merge_one)                                                      \
    static int merge_##rule(kind *to, kind const *from, size_t count)                              \
    {                                                                                              \
        int ret = 0;                                                                               \
                                                                                                   \
        for (size_t i = 0; i < count && !ret; i++) {                                               \
            if (!from[i])                                                                          \
                continue;                                                                          \
            if (!to[i])                                                                            \
                to[i] = calloc(1, sizeof(*to[i]));                                                 \
            ret = to[i] ? merge_one(to[i], from[i]) : -ENOMEM;                                     \
        }                                                                                          \
        return ret;                                                                                \
    }

MAKE_AND_MERGE(cell, struct mhcs_cell *, merge_one_cell)

static int merge_one_line(struct mhcs_line *to, const struct mhcs_line *from)
{
    int ret = 0;

    MHCS_LINE_MEMBERS(MERGE_MEMBER)
    return ret;
}

MAKE_AND_MERGE(line, struct mhcs_line *, merge_one_line)

static int merge_one_samples(struct mhcs_samples *to, const struct mhcs_samples *from)
{
    mhcs_samples_merge(to, from);
    return 0;
}

MAKE_AND_MERGE(samples, struct mhcs_samples *, merge_one_samples)

int mhcs_merge_site(struct mhcs_site_line *to, const struct mhcs_site_line *from)
{
    int ret = 0;

    MHCS_SITE_MEMBERS(MERGE_MEMBER)
    return ret;
}

static int merge_totals(struct mhcs_collect *to, const struct mhcs_collect *from)
{
    int ret = 0;

    MHCS_COLLECT_MEMBERS(MERGE_MEMBER)
    return ret;
}

int mhcs_collect_merge(struct mhcs_collect *collect, const struct mhcs_collect *from)
{
    int ret = merge_totals(collect, from);

    for (size_t i = 0; i < from->sites && !ret; i++) {
        struct mhcs_site_line *site;

        ret = mhcs_keep_site_like(collect, from->site[i], &site);
        if (!ret && site)
            ret = mhcs_merge_site(site, from->site[i]);
        else if (!ret)
            mhcs_keep_not(collect, from->site[i]);
    }
    for (size_t i = 0; i < from->paths && !ret; i++) {
        struct mhcs_path_line *path;

        ret = mhcs_keep_path(collect, from->path[i]->text, &path);
        if (!ret)
            ret = mhcs_merge_path(path, from->path[i]);
    }
    return ret;
}
