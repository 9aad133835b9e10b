/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the groups from the cells upwards, judges them, and picks what decides. */
#include "tools/report/conclude.h"

#include <errno.h>
#include <math.h>
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
    size_t lines = 1 + MHCS_PHASES;

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

static void build_groups(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect)
{
    for
        MHCS_EACH_REFERENCE(r)
    next_group(conclusion, NULL, -1, -1, r);
    for (int p = 0; p < MHCS_PHASES; p++)
        for
            MHCS_EACH_REFERENCE(r)
    next_group(conclusion, NULL, p, -1, r)->evidence = collect->other[p].against[r];
    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++)
            for
                MHCS_EACH_REFERENCE(r)
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

        if (group->bucket < 0)
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

/* 0: one size of call at one site, up to 4: everything. */
static int width(const struct mhcs_group *group)
{
    return !group->site * 2 + (group->phase < 0) + (group->bucket < 0);
}

/* Single rows lie at one site: there the narrowest group says most. An excess that the whole run
 * shares is said of the whole run. */
static bool is_of_single_rows(enum mhcs_cause cause)
{
    return cause == MHCS_CAUSE_NONFINITE || cause == MHCS_CAUSE_ISOLATED;
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
        return is_of_single_rows(cause) ? width(a) < width(b) : width(a) > width(b);
    if (a->evidence.nonfinite != b->evidence.nonfinite)
        return a->evidence.nonfinite > b->evidence.nonfinite;
    return a->judgement.ratio > b->judgement.ratio;
}

static bool is_empty(const struct mhcs_group *group)
{
    return group->evidence.rows == 0 && group->evidence.nonfinite == 0;
}

const struct mhcs_group *mhcs_conclusion_find(const struct mhcs_conclusion *conclusion,
                                              const struct mhcs_site_line *site,
                                              enum mhcs_phase phase)
{
    const struct mhcs_group *worst = NULL;

    for (size_t i = 0; i < conclusion->groups; i++) {
        const struct mhcs_group *group = &conclusion->group[i];

        if (group->site == site && group->phase == (int)phase && !is_empty(group) &&
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

static void decide(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect,
                   bool wrong_weights)
{
    const struct mhcs_group *decisive = &conclusion->group[0];

    for (size_t i = 1; i < conclusion->groups; i++)
        if (!is_empty(&conclusion->group[i]) && outweighs(&conclusion->group[i], decisive))
            decisive = &conclusion->group[i];
    conclusion->decisive = decisive;
    conclusion->status = decisive->judgement.status;
    conclusion->cause = decisive->judgement.cause;
    conclusion->class = decisive->judgement.class;
    conclusion->ratio = decisive->judgement.ratio;
    conclusion->rms_rel = mhcs_evidence_rms(&decisive->evidence);
    if (conclusion->cause != MHCS_CAUSE_NONFINITE &&
        mhcs_stat_rms(&collect->check) > MHCS_CHECK_MAX) {
        conclusion->reference_unsound = true;
        conclusion->status = MHCS_INSUFFICIENT;
    }
    if (wrong_weights && conclusion->status == MHCS_PASS) {
        conclusion->status = MHCS_WARN;
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

    *conclusion =
        (struct mhcs_conclusion){.group = calloc(count_groups(collect), sizeof(struct mhcs_group))};
    if (!conclusion->group)
        return -ENOMEM;
    build_groups(conclusion, collect);
    merge_upwards(conclusion);
    ret = judge_groups(conclusion);
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
