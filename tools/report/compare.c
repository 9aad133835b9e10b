/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the groups of two conclusions and tests each pair; compare.h describes the test. */
#include "tools/report/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *mhcs_change_name(enum mhcs_change_kind kind)
{
    static const char *const names[] = {[MHCS_CHANGE_NONE] = "same",
                                        [MHCS_CHANGE_THIN] = "too few",
                                        [MHCS_CHANGE_SHRANK] = "SHRANK",
                                        [MHCS_CHANGE_GREW] = "GREW"};

    return names[kind];
}

const struct mhcs_group *mhcs_change_group(const struct mhcs_change *change)
{
    return change->group[change->group[0] == NULL];
}

/* ---- pairs ---- */

static bool is_empty(const struct mhcs_group *group)
{
    return group->evidence.rows == 0 && group->evidence.nonfinite == 0;
}

/* Sites of two runs have different objects; their names tell. */
static int compare_groups(const void *left, const void *right)
{
    const struct mhcs_group *a = *(const struct mhcs_group *const *)left;
    const struct mhcs_group *b = *(const struct mhcs_group *const *)right;
    const int sites = strcmp(a->site ? a->site->name : "", b->site ? b->site->name : "");

    if (sites)
        return sites;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket ? -1 : 1;
    return (a->reference > b->reference) - (a->reference < b->reference);
}

struct sorted {
    const struct mhcs_group **group;
    bool *taken;
    size_t count;
};

static int sort_groups(const struct mhcs_conclusion *conclusion, struct sorted *ret_sorted)
{
    ret_sorted->count = 0;
    ret_sorted->group = calloc(conclusion->groups, sizeof(*ret_sorted->group));
    ret_sorted->taken = calloc(conclusion->groups, sizeof(*ret_sorted->taken));
    if (!ret_sorted->group || !ret_sorted->taken)
        return -ENOMEM;
    for (size_t i = 0; i < conclusion->groups; i++)
        if (!is_empty(&conclusion->group[i]))
            ret_sorted->group[ret_sorted->count++] = &conclusion->group[i];
    qsort(ret_sorted->group, ret_sorted->count, sizeof(*ret_sorted->group), compare_groups);
    return 0;
}

static const struct mhcs_group *take(struct sorted *sorted, const struct mhcs_group *like)
{
    const struct mhcs_group **found =
        bsearch(&like, sorted->group, sorted->count, sizeof(*sorted->group), compare_groups);

    if (!found)
        return NULL;
    sorted->taken[found - sorted->group] = true;
    return *found;
}

/* Room for all of both. */
static void pair_groups(struct mhcs_comparison *comparison, const struct mhcs_conclusion *a,
                        struct sorted *b)
{
    for (size_t i = 0; i < a->groups; i++)
        if (!is_empty(&a->group[i]))
            comparison->change[comparison->changes++] =
                (struct mhcs_change){.group = {&a->group[i], take(b, &a->group[i])}};
    for (size_t i = 0; i < b->count; i++)
        if (!b->taken[i])
            comparison->change[comparison->changes++] =
                (struct mhcs_change){.group = {NULL, b->group[i]}};
}

/* ---- tests ---- */

/* Two-sided; both groups have rows enough. Without any error on a side there is no logarithm: the
 * change is certain, or there is none. */
static double change_probability(const struct mhcs_evidence *a, const struct mhcs_evidence *b,
                                 double ratio)
{
    const double error = hypot(mhcs_evidence_uncertainty(a), mhcs_evidence_uncertainty(b));
    const double rms_a = mhcs_evidence_rms(a), rms_b = mhcs_evidence_rms(b);

    if (rms_a == 0 || rms_b == 0)
        return rms_a == rms_b ? 1 : 0;
    if (ratio == 1)
        return 1;
    return error > 0 ? erfc(fabs(2 * log(ratio)) / error / sqrt(2)) : 0;
}

static void measure(struct mhcs_change *change)
{
    const struct mhcs_evidence *a, *b;

    change->ratio = change->probability = NAN;
    change->kind = MHCS_CHANGE_THIN;
    if (!change->group[0] || !change->group[1])
        return;
    a = &change->group[0]->evidence;
    b = &change->group[1]->evidence;
    change->ratio = mhcs_evidence_rms(b) / mhcs_evidence_rms(a);
    if (a->rows >= MHCS_MIN_ROWS && b->rows >= MHCS_MIN_ROWS)
        change->probability = change_probability(a, b, change->ratio);
}

static enum mhcs_change_kind kind_of(const struct mhcs_change *change)
{
    const struct mhcs_evidence *a = change->group[0] ? &change->group[0]->evidence : NULL;
    const struct mhcs_evidence *b = change->group[1] ? &change->group[1]->evidence : NULL;

    if (b && b->nonfinite > 0 && !(a && a->nonfinite > 0))
        return MHCS_CHANGE_GREW;
    if (isnan(change->probability))
        return MHCS_CHANGE_THIN;
    if (change->significant && change->ratio > MHCS_CHANGE_MIN)
        return MHCS_CHANGE_GREW;
    if (change->significant && change->ratio < 1 / MHCS_CHANGE_MIN)
        return MHCS_CHANGE_SHRANK;
    return MHCS_CHANGE_NONE;
}

static int test_changes(struct mhcs_comparison *comparison)
{
    struct mhcs_test *tests = calloc(comparison->changes + 1, sizeof(*tests));

    if (!tests)
        return -ENOMEM;
    for (size_t i = 0; i < comparison->changes; i++) {
        measure(&comparison->change[i]);
        if (!isnan(comparison->change[i].probability))
            tests[comparison->tested++] =
                (struct mhcs_test){.probability = comparison->change[i].probability, .group = i};
    }
    mhcs_holm(tests, comparison->tested, MHCS_ALPHA);
    for (size_t i = 0; i < comparison->tested; i++)
        comparison->change[tests[i].group].significant = tests[i].significant;
    for (size_t i = 0; i < comparison->changes; i++)
        comparison->change[i].kind = kind_of(&comparison->change[i]);
    free(tests);
    return 0;
}

int mhcs_compare(const struct mhcs_conclusion *a, const struct mhcs_conclusion *b,
                 struct mhcs_comparison *ret_comparison)
{
    struct sorted sorted = {0};
    int ret = sort_groups(b, &sorted);

    *ret_comparison = (struct mhcs_comparison){
        .change = calloc(a->groups + b->groups, sizeof(struct mhcs_change))};
    if (!ret && !ret_comparison->change)
        ret = -ENOMEM;
    if (!ret) {
        pair_groups(ret_comparison, a, &sorted);
        ret = test_changes(ret_comparison);
    }
    free(sorted.group);
    free(sorted.taken);
    if (ret)
        mhcs_comparison_free(ret_comparison);
    return ret;
}

void mhcs_comparison_free(struct mhcs_comparison *comparison)
{
    free(comparison->change);
    *comparison = (struct mhcs_comparison){0};
}
