/* SPDX-License-Identifier: Apache-2.0 */
/* Picks what decides among the judged groups, and finds out what it is about. */
#include "tools/report/groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* 0: one size of call at one site, up to 4: everything. */
static int width(const struct mhcs_group *group)
{
    return !group->site * 2 + (group->phase < 0) + (group->bucket < 0);
}

/* Larger status first, then the graver cause, then the group that says more, then the larger
 * excess. */
static bool outweighs(const struct mhcs_group *a, const struct mhcs_group *b)
{
    const enum mhcs_cause cause = a->judgement.cause;

    if (a->judgement.status != b->judgement.status)
        return a->judgement.status > b->judgement.status;
    if (cause != b->judgement.cause)
        return cause > b->judgement.cause;
    if (width(a) != width(b))
        return width(a) > width(b);
    if (a->reference != b->reference) /* arithmetic is wrong against both, weights against one */
        return a->reference == MHCS_OPERANDS;
    if (a->evidence.nonfinite != b->evidence.nonfinite)
        return a->evidence.nonfinite > b->evidence.nonfinite;
    return a->judgement.ratio > b->judgement.ratio;
}

const struct mhcs_group *mhcs_conclusion_find(const struct mhcs_conclusion *conclusion,
                                              const struct mhcs_site_line *site,
                                              enum mhcs_phase phase)
{
    const struct mhcs_group *worst = NULL;

    for (size_t i = 0; i < conclusion->groups; i++) {
        const struct mhcs_group *group = &conclusion->group[i];

        if (group->site == site && group->phase == (int)phase && !mhcs_group_is_empty(group) &&
            (!worst || outweighs(group, worst)))
            worst = group;
    }
    return worst;
}

static void count_sites(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect)
{
    for (size_t i = 0; i < collect->sites; i++) {
        enum mhcs_status status = MHCS_INSUFFICIENT;

        for (int p = 0; p < MHCS_PHASES; p++) {
            const struct mhcs_group *worst =
                mhcs_conclusion_find(conclusion, collect->site[i], (enum mhcs_phase)p);

            if (!worst)
                continue;
            conclusion->tested += worst->judgement.status != MHCS_INSUFFICIENT;
            conclusion->insufficient += worst->judgement.status == MHCS_INSUFFICIENT;
            if (worst->judgement.status > status)
                status = worst->judgement.status;
        }
        conclusion->sites++;
        conclusion->sites_warned += status == MHCS_WARN;
        conclusion->sites_failed += status == MHCS_FAIL;
    }
}

static void measure_effect(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect)
{
    const struct mhcs_stat *metric = collect->metric[mhcs_widest(collect)];
    const struct mhcs_stat *cosine = &metric[MHCS_METRIC(y_cosdist)];

    conclusion->comb_err = mhcs_stat_rms(&metric[MHCS_METRIC(comb_err)]);
    conclusion->y_rel = mhcs_stat_rms(&metric[MHCS_METRIC(y_rel)]);
    conclusion->y_cosdist = cosine->hist.count > 0 ? (double)cosine->max : NAN;
    conclusion->harmless =
        !(conclusion->comb_err >= MHCS_HARMLESS) && conclusion->y_rel < MHCS_HARMLESS;
}

/* Single rows that are wrong, as against an error that all rows share. */
static bool is_of_rows(enum mhcs_class class)
{
    return class == MHCS_CLASS_WRONG_VALUES || class == MHCS_CLASS_NONFINITE;
}

/* Some rows of the group are wrong, the others are not. */
static bool is_of_few(enum mhcs_cause cause)
{
    return cause == MHCS_CAUSE_WRONG || cause == MHCS_CAUSE_ISOLATED ||
           cause == MHCS_CAUSE_NONFINITE;
}

/* Whether a group shows what the conclusion is about. Of a PASS that is a rounding which its path
 * allows, but not all calls may have. */
static bool shows(const struct mhcs_conclusion *conclusion, const struct mhcs_group *group)
{
    if (conclusion->status > MHCS_PASS && is_of_rows(conclusion->class))
        return mhcs_where_off(&group->evidence.where) > 0;
    if (conclusion->status > MHCS_PASS)
        return group->judgement.status > MHCS_PASS;
    return mhcs_class_is_partial(group->judgement.class);
}

static bool is_judged_part(const struct mhcs_group *group, const struct mhcs_group *wide)
{
    return mhcs_group_is_part(group, wide) && !mhcs_group_is_empty(group) &&
           group->judgement.status != MHCS_INSUFFICIENT;
}

/* Where some parts of a wide group are fine, the worst of the others; else the wide one. `sites`:
 * parts are sites, not sizes of call. */
static const struct mhcs_group *narrow(const struct mhcs_conclusion *conclusion,
                                       const struct mhcs_group *wide, bool sites)
{
    const struct mhcs_group *worst = NULL;
    bool fine = false;

    for (size_t i = 0; i < conclusion->groups; i++) {
        const struct mhcs_group *group = &conclusion->group[i];

        if ((group->site != NULL) != sites || !is_judged_part(group, wide))
            continue;
        if (!shows(conclusion, group))
            fine = true;
        else if (!worst || outweighs(group, worst))
            worst = group;
    }
    return fine && worst ? worst : wide;
}

static const struct mhcs_group *find_decisive(const struct mhcs_conclusion *conclusion)
{
    const struct mhcs_group *decisive = &conclusion->group[0];

    for (size_t i = 1; i < conclusion->groups; i++)
        if (!mhcs_group_is_empty(&conclusion->group[i]) &&
            outweighs(&conclusion->group[i], decisive))
            decisive = &conclusion->group[i];
    return decisive;
}

/* Arithmetic that is off against the operands is off against the checkpoint too, where the weights
 * blur what it is. */
static const struct mhcs_group *clearer(const struct mhcs_conclusion *conclusion,
                                        const struct mhcs_group *decisive)
{
    for (size_t i = 0; i < conclusion->groups; i++) {
        const struct mhcs_group *group = &conclusion->group[i];

        if (group->reference == MHCS_OPERANDS && group->site == decisive->site &&
            group->phase == decisive->phase && group->bucket == decisive->bucket)
            return group->judgement.status > MHCS_PASS ? group : decisive;
    }
    return decisive;
}

static void take(struct mhcs_conclusion *conclusion, const struct mhcs_group *decisive)
{
    conclusion->decisive = decisive;
    conclusion->cause = decisive->judgement.cause;
    conclusion->class = decisive->judgement.class;
    conclusion->ratio = decisive->judgement.ratio;
    conclusion->rms_rel = mhcs_evidence_rms(&decisive->evidence);
}

/* A rounding mixed with good rows looks like another, smaller one, or like wrong rows: it is named
 * from where it is pure. Rows that are wrong are so in every part, and located best from all. */
static void purify(struct mhcs_conclusion *conclusion)
{
    const struct mhcs_group *pure;

    if (conclusion->status < MHCS_PASS)
        return;
    pure = narrow(conclusion, conclusion->decisive, false);
    if (conclusion->status > MHCS_PASS)
        pure = narrow(conclusion, pure, true);
    if (is_of_few(pure->judgement.cause))
        return;
    if (is_of_few(conclusion->decisive->judgement.cause))
        conclusion->status = pure->judgement.status;
    take(conclusion, pure);
}

/* ---- what it concerns ---- */

/* Judged calls below and above those that show it. */
struct sizes {
    int first, last;   /* that show it; -1: none */
    bool below, above; /* others were judged there */
    double fine[2];    /* rows of the pattern in these */
    struct mhcs_share bad;
};

static void add_size(struct sizes *sizes, const struct mhcs_conclusion *conclusion,
                     const struct mhcs_group *group, const struct mhcs_pattern *pattern)
{
    const struct mhcs_share share = mhcs_where_share(&group->evidence.where, pattern);

    if (!shows(conclusion, group)) {
        *(sizes->first < 0 ? &sizes->below : &sizes->above) = true;
        sizes->fine[sizes->first >= 0] += share.rows;
        return;
    }
    if (sizes->first < 0)
        sizes->first = group->bucket;
    sizes->last = group->bucket;
    sizes->above = false;
    sizes->fine[1] = 0;
    sizes->bad.rows += share.rows;
    sizes->bad.off += share.off;
}

/* Each size of call has been tested for roundings. Of wrong rows, those that follow the pattern may
 * be absent from a size by accident. */
static bool is_by_chance(const struct mhcs_conclusion *conclusion, const struct sizes *sizes,
                         int side)
{
    return is_of_rows(conclusion->class) &&
           pow(1 - sizes->bad.off / sizes->bad.rows, sizes->fine[side]) > MHCS_WHERE_CHANCE;
}

static void limit_calls(struct mhcs_conclusion *conclusion)
{
    const struct mhcs_pattern pattern = mhcs_where_pattern(&conclusion->decisive->evidence.where);
    struct sizes sizes = {.first = -1};

    conclusion->calls_to = UINT32_MAX;
    for (size_t i = 0; i < conclusion->groups; i++) /* smaller calls come first */
        if (!conclusion->group[i].site && conclusion->group[i].bucket >= 0 &&
            is_judged_part(&conclusion->group[i],
                           &conclusion->group[conclusion->decisive->reference - MHCS_OPERANDS]))
            add_size(&sizes, conclusion, &conclusion->group[i], &pattern);
    if (sizes.first < 0)
        return;
    if (sizes.below && !is_by_chance(conclusion, &sizes, 0))
        conclusion->calls_from = 1u << sizes.first;
    if (sizes.above && !is_by_chance(conclusion, &sizes, 1))
        conclusion->calls_to = (2u << sizes.last) - 1;
}

static bool site_shows(const struct mhcs_conclusion *conclusion, const struct mhcs_site_line *site)
{
    for (size_t i = 0; i < conclusion->groups; i++) {
        const struct mhcs_group *group = &conclusion->group[i];

        if (group->site == site && group->reference == conclusion->decisive->reference &&
            !mhcs_group_is_empty(group) && shows(conclusion, group))
            return true;
    }
    return false;
}

static void count_concerned(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect)
{
    const struct mhcs_group *worst = narrow(conclusion, conclusion->decisive, true);

    for (size_t i = 0; i < collect->sites; i++)
        conclusion->sites_concerned += site_shows(conclusion, collect->site[i]);
    if (worst->site && conclusion->sites_concerned < conclusion->sites)
        conclusion->worst_site = worst;
}

/* Against the checkpoint and it alone: the weights are others than the released ones. */
static bool is_of_weights(const struct mhcs_group *group)
{
    return group->reference == MHCS_CHECKPOINT && group->judgement.class == MHCS_CLASS_WRONG_VALUES;
}

static void decide(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect,
                   bool wrong_weights)
{
    const struct mhcs_group *decisive = find_decisive(conclusion);

    conclusion->status = decisive->judgement.status;
    take(conclusion, clearer(conclusion, decisive));
    purify(conclusion);
    limit_calls(conclusion);
    count_concerned(conclusion, collect);
    if (conclusion->cause != MHCS_CAUSE_NONFINITE &&
        mhcs_stat_rms(&collect->check) > MHCS_CHECK_MAX) {
        conclusion->reference_unsound = true;
        conclusion->status = MHCS_INSUFFICIENT;
    }
    if (conclusion->status == MHCS_PASS && wrong_weights) {
        conclusion->status = MHCS_WARN;
        conclusion->class = MHCS_CLASS_WRONG_WEIGHTS;
    } else if (conclusion->status > MHCS_PASS && is_of_weights(conclusion->decisive)) {
        conclusion->class = MHCS_CLASS_WRONG_WEIGHTS;
    }
}

static int write_sentence(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect)
{
    size_t size;
    FILE *out = open_memstream(&conclusion->sentence, &size);

    if (!out)
        return -ENOMEM;
    mhcs_conclusion_say(out, conclusion, collect);
    return fclose(out) ? -ENOMEM : 0;
}

int mhcs_conclude(const struct mhcs_collect *collect, bool wrong_weights,
                  struct mhcs_conclusion *ret_conclusion)
{
    struct mhcs_conclusion *conclusion = ret_conclusion;
    int ret;

    *conclusion = (struct mhcs_conclusion){0};
    ret = mhcs_groups_judge(conclusion, collect);
    if (!ret) {
        count_sites(conclusion, collect);
        measure_effect(conclusion, collect);
        decide(conclusion, collect, wrong_weights);
        ret = write_sentence(conclusion, collect);
    }
    if (ret)
        mhcs_conclusion_free(conclusion);
    return ret;
}

void mhcs_conclusion_free(struct mhcs_conclusion *conclusion)
{
    free(conclusion->sentence);
    free(conclusion->group);
    conclusion->sentence = NULL;
    conclusion->group = NULL;
}
