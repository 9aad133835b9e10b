/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, paths, sites and time in JSON. */
#include "tools/report/model_figures.h"

#include <math.h>

#include "tools/report/chain.h"
#include "tools/report/json_put.h"
#include "tools/report/metrics.h"
#include "tools/report/text.h"

/* ---- one statistic ---- */

/* What the histogram's fine buckets hold, octave by octave: [least value, values]. */
static void put_octaves(bool *failed, cJSON *to, const struct mhcs_hist *hist)
{
    cJSON *list = mhcs_put_array(failed, to, "octaves");

    for (uint32_t i = 0; i < MHCS_HIST_BUCKETS; i += 1u << MHCS_HIST_STEP_BITS) {
        uint64_t count = 0;
        cJSON *pair;

        for (uint32_t step = 0; step < 1u << MHCS_HIST_STEP_BITS; step++)
            count += hist->bucket[i + step];
        if (count == 0)
            continue;
        pair = mhcs_put_array(failed, list, NULL);
        mhcs_put_number(failed, pair, NULL,
                        ldexp(1, MHCS_HIST_MIN_EXPONENT + (int)(i >> MHCS_HIST_STEP_BITS)));
        mhcs_put_count(failed, pair, NULL, count);
    }
}

static void put_stat(bool *failed, cJSON *to, const char *key, const struct mhcs_stat *stat)
{
    static const struct {
        const char *key;
        uint32_t per_10000;
    } percentiles[] = {{"p1", 100},   {"p10", 1000}, {"p50", 5000},
                       {"p90", 9000}, {"p99", 9900}, {"p99_9", 9990}};
    cJSON *object = mhcs_put_object(failed, to, key);

    mhcs_put_count(failed, object, "count", stat->hist.count);
    mhcs_put_count(failed, object, "undefined", stat->undefined);
    mhcs_put_number(failed, object, "rms", mhcs_stat_rms(stat));
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
        mhcs_put_number(failed, object, percentiles[i].key,
                        mhcs_stat_percentile(stat, percentiles[i].per_10000));
    mhcs_put_number(failed, object, "max", stat->hist.count > 0 ? (double)stat->max : NAN);
    mhcs_put_count(failed, object, "zeros", stat->hist.zeros);
    put_octaves(failed, object, &stat->hist);
}

/* ---- groups ---- */

static void put_judgement(bool *failed, cJSON *to, const struct mhcs_judgement *judgement)
{
    mhcs_put_text(failed, to, "status", mhcs_status_name(judgement->status));
    mhcs_put_text(failed, to, "class", mhcs_class_key(judgement->class));
    mhcs_put_number(failed, to, "ratio", judgement->ratio);
    mhcs_put_bool(failed, to, "significant", judgement->significant);
}

static void put_evidence(bool *failed, cJSON *to, const struct mhcs_evidence *evidence)
{
    mhcs_put_count(failed, to, "rows", evidence->rows);
    mhcs_put_number(failed, to, "rms_rel", mhcs_evidence_rms(evidence));
    mhcs_put_number(failed, to, "uncertainty", mhcs_evidence_uncertainty(evidence) / 2);
    mhcs_put_count(failed, to, "nonfinite", evidence->nonfinite);
}

void mhcs_model_put_group(bool *failed, cJSON *to, const char *key, const struct mhcs_group *group)
{
    cJSON *object = mhcs_put_object(failed, to, key);

    mhcs_put_text(failed, object, "site", group->site ? group->site->name : NULL);
    mhcs_put_text(failed, object, "phase",
                  group->phase < 0 ? NULL : mhcs_phase_name((enum mhcs_phase)group->phase));
    mhcs_put_text(failed, object, "against", mhcs_reference_name(group->reference));
    if (group->bucket >= 0) {
        mhcs_put_count(failed, object, "tokens_from", UINT64_C(1) << group->bucket);
        mhcs_put_count(failed, object, "tokens_to", (UINT64_C(2) << group->bucket) - 1);
    }
    put_evidence(failed, object, &group->evidence);
    put_judgement(failed, object, &group->judgement);
}

/* ---- all rows ---- */

static void put_errors(bool *failed, cJSON *to, const struct mhcs_collect *collect)
{
    cJSON *errors = mhcs_put_object(failed, to, "errors");

    MHCS_FOR_EACH_REFERENCE(r) {
        cJSON *object;

        if (collect->reference_rows[r] == 0)
            continue;
        object = mhcs_put_object(failed, errors, mhcs_reference_name(r));
        for (size_t i = 0; i < MHCS_METRICS; i++)
            put_stat(failed, object, mhcs_metric_name(i), &collect->metric[r][i]);
        put_stat(failed, object, "coefficient_ulp", &collect->ulp[r]);
        put_stat(failed, object, "coefficient_ulp_own", &collect->ulp_own[r]);
    }
    put_stat(failed, errors, "defect", &collect->defect);
}

static void put_path(bool *failed, cJSON *list, const struct mhcs_path_line *path)
{
    cJSON *item = mhcs_put_object(failed, list, NULL), *against, *object;
    struct mhcs_noise noise;
    char sources[200];

    mhcs_put_text(failed, item, "path", path->text);
    mhcs_put_count(failed, item, "rows", path->rows);
    against = mhcs_put_object(failed, item, "against");
    MHCS_FOR_EACH_REFERENCE(r) {
        if (path->against[r].rows == 0)
            continue;
        object = mhcs_put_object(failed, against, mhcs_reference_name(r));
        put_evidence(failed, object, &path->against[r]);
        mhcs_put_number(failed, object, "ratio", sqrt(mhcs_moments_mean(&path->against[r].excess)));
        mhcs_put_text(failed, object, "class",
                      mhcs_class_key(mhcs_evidence_class(&path->against[r])));
        if (!path->parsed || !mhcs_noise_expected(&path->precision, r, MHCS_COEFFICIENTS, &noise))
            continue;
        mhcs_put_number(failed, object, "expected_low", noise.low);
        mhcs_put_number(failed, object, "expected_high", noise.high);
        mhcs_noise_sources(&path->precision, r, sources, sizeof(sources));
        mhcs_put_text(failed, object, "sources", sources);
    }
}

/* ---- sites ---- */

static void put_line(bool *failed, cJSON *list, const struct mhcs_report *report,
                     const struct mhcs_site_line *site, enum mhcs_phase phase)
{
    const struct mhcs_line *line = site->line[phase];
    const struct mhcs_group *worst = mhcs_conclusion_find(&report->conclusion, site, phase);
    cJSON *item = mhcs_put_object(failed, list, NULL), *object;

    mhcs_put_text(failed, item, "site", site->name);
    if (site->layer >= 0)
        mhcs_put_count(failed, item, "layer", (uint64_t)site->layer);
    else
        mhcs_put_text(failed, item, "layer", NULL);
    mhcs_put_text(failed, item, "role", *site->role ? site->role : NULL);
    mhcs_put_text(failed, item, "phase", mhcs_phase_name(phase));
    mhcs_put_count(failed, item, "rows", line->rows);
    mhcs_put_text(failed, item, "status",
                  mhcs_status_name(worst ? worst->judgement.status : MHCS_INSUFFICIENT));
    MHCS_FOR_EACH_REFERENCE(r) {
        if (line->rel[r].hist.count == 0)
            continue;
        object = mhcs_put_object(failed, item, mhcs_reference_name(r));
        put_stat(failed, object, "rel", &line->rel[r]);
        mhcs_put_number(failed, object, "comb_err", mhcs_moments_rms(&line->comb_err[r]));
        mhcs_put_number(failed, object, "y_rel", mhcs_moments_rms(&line->y_rel[r]));
    }
    object = mhcs_put_array(failed, item, "groups");
    for (size_t i = 0; i < report->conclusion.groups; i++) {
        const struct mhcs_group *group = &report->conclusion.group[i];

        if (group->site == site && group->phase == (int)phase &&
            group->evidence.rows + group->evidence.nonfinite > 0)
            mhcs_model_put_group(failed, object, NULL, group);
    }
}

/* ---- time ---- */

static void put_timeline(bool *failed, cJSON *to, const struct mhcs_timeline *timeline)
{
    cJSON *object = mhcs_put_object(failed, to, "timeline"), *bins, *item;
    char start[MHCS_CLOCK_BYTES];

    mhcs_put_number(failed, object, "bin_seconds", ldexp(1e-9, (int)timeline->shift));
    bins = mhcs_put_array(failed, object, "bins");
    for (int64_t i = timeline->first; i <= timeline->last; i++) {
        const struct mhcs_timeline_bin *bin = mhcs_timeline_bin(timeline, i);

        for (int p = 0; bin && p < MHCS_PHASES; p++)
            MHCS_FOR_EACH_REFERENCE(r) {
                const struct mhcs_moment *moment = &bin->moment[p][r];

                if (moment->rows + moment->nonfinite == 0)
                    continue;
                item = mhcs_put_object(failed, bins, NULL);
                mhcs_put_text(failed, item, "start",
                              mhcs_text_time(mhcs_timeline_start(timeline, i), start));
                mhcs_put_text(failed, item, "phase", mhcs_phase_name((enum mhcs_phase)p));
                mhcs_put_text(failed, item, "against", mhcs_reference_name(r));
                mhcs_put_count(failed, item, "rows", moment->rows);
                mhcs_put_count(failed, item, "nonfinite", moment->nonfinite);
                mhcs_put_number(failed, item, "rms_rel", mhcs_moment_rms(moment));
                mhcs_put_number(failed, item, "max_rel",
                                moment->rows > 0 ? (double)moment->max : NAN);
                mhcs_put_number(failed, item, "ratio", sqrt(mhcs_moments_mean(&moment->excess)));
            }
    }
}

/* ---- layers ---- */

static void put_link(bool *failed, cJSON *list, const struct mhcs_link *link)
{
    cJSON *item = mhcs_put_object(failed, list, NULL);

    mhcs_put_text(failed, item, "site", link->site->name);
    mhcs_put_count(failed, item, "rows", link->rows);
    mhcs_put_number(failed, item, "comb_err", link->comb);
    mhcs_put_number(failed, item, "y_rel", link->y);
    mhcs_put_number(failed, item, "root", link->root);
    mhcs_put_number(failed, item, "sum", link->sum);
    mhcs_put_number(failed, item, "product", link->product);
    mhcs_put_number(failed, item, "gain", link->gain);
}

static void put_layers(bool *failed, cJSON *to, const struct mhcs_report *report)
{
    const enum mhcs_path reference = mhcs_widest(report->collect);
    cJSON *object = mhcs_put_object(failed, to, "layers"), *list;
    struct mhcs_chain chain;

    if (mhcs_chain_measure(report->collect, &report->facts.maps, reference, &chain)) {
        *failed = true;
        return;
    }
    mhcs_put_text(failed, object, "against", mhcs_reference_name(reference));
    mhcs_put_text(failed, object, "no_product", chain.why_no_product);
    list = mhcs_put_array(failed, object, "sites");
    for (size_t i = 0; i < chain.links; i++)
        put_link(failed, list, &chain.link[i]);
    mhcs_chain_free(&chain);
}

void mhcs_model_put_figures(bool *failed, cJSON *to, const struct mhcs_report *report)
{
    const struct mhcs_collect *collect = report->collect;
    cJSON *list;

    put_stat(failed, to, "check", &collect->check);
    put_errors(failed, to, collect);
    list = mhcs_put_array(failed, to, "paths");
    for (size_t i = 0; i < collect->paths; i++)
        put_path(failed, list, collect->path[i]);
    list = mhcs_put_array(failed, to, "sites");
    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++)
            if (collect->site[i]->line[p])
                put_line(failed, list, report, collect->site[i], (enum mhcs_phase)p);
    put_timeline(failed, to, &collect->timeline);
    put_layers(failed, to, report);
}
