/* SPDX-License-Identifier: Apache-2.0 */
/* The report as JSON: the run, what was seen, and the conclusion. Figures are in model_figures.c.
 */
#include "tools/report/model_json.h"

#include <ctype.h>
#include <stdio.h>

#include "shadow/counters.h"
#include "tools/report/json_put.h"
#include "tools/report/model_figures.h"
#include "tools/report/text.h"

/* ---- what ran ---- */

/* [{"text": .., "traces": n}] */
static void put_distinct(bool *failed, cJSON *to, const char *key,
                         const struct mhcs_distinct *distinct)
{
    cJSON *list = mhcs_put_array(failed, to, key);

    for (size_t i = 0; i < distinct->count; i++) {
        cJSON *item = mhcs_put_object(failed, list, NULL);

        mhcs_put_text(failed, item, "text", distinct->value[i].text);
        mhcs_put_count(failed, item, "traces", distinct->value[i].files);
    }
    if (distinct->further > 0) {
        cJSON *item = mhcs_put_object(failed, list, NULL);

        mhcs_put_text(failed, item, "text", NULL);
        mhcs_put_count(failed, item, "traces", distinct->further);
    }
}

static void put_time(bool *failed, cJSON *to, const char *key, int64_t unix_ns, bool known)
{
    char text[MHCS_CLOCK_BYTES];

    mhcs_put_text(failed, to, key, known ? mhcs_text_time(unix_ns, text) : NULL);
}

static void put_run(bool *failed, cJSON *to, const struct mhcs_report *report)
{
    const struct mhcs_facts *facts = &report->facts;
    const bool any = report->collect->rows > 0;
    cJSON *run = mhcs_put_object(failed, to, "run"), *list, *told;

    mhcs_put_count(failed, run, "traces", report->files.count);
    mhcs_put_bool(failed, run, "simulated", facts->simulated);
    mhcs_put_bool(failed, run, "neutral_model", facts->neutral_model);
    put_time(failed, run, "first", report->collect->first, any);
    put_time(failed, run, "last", report->collect->last, any);
    list = mhcs_put_array(failed, run, "processes");
    for (size_t i = 0; i < facts->processes; i++)
        mhcs_put_text(failed, list, NULL, facts->process[i]);
    told = mhcs_put_object(failed, run, "facts");
    for (int i = 0; i < MHCS_FACTS_COUNT; i++) {
        char key[32];

        snprintf(key, sizeof(key), "%s", mhcs_fact_label[i]);
        for (char *at = key; *at; at++)
            *at = (char)tolower((unsigned char)*at);
        put_distinct(failed, told, key, &facts->fact[i]);
    }
}

static void put_trace(bool *failed, cJSON *list, const struct mhcs_scan *scan)
{
    cJSON *item = mhcs_put_object(failed, list, NULL), *damage;

    mhcs_put_text(failed, item, "name", scan->name);
    mhcs_put_count(failed, item, "rows", scan->rows);
    mhcs_put_count(failed, item, "batches", scan->batches);
    mhcs_put_count(failed, item, "dropped", scan->dropped_samples);
    mhcs_put_text(failed, item, "end", scan->unreadable ? scan->why : mhcs_scan_end(scan));
    mhcs_put_bool(failed, item, "closed", scan->closed);
    mhcs_put_bool(failed, item, "readable", !scan->unreadable);
    if (!scan->damaged)
        return;
    damage = mhcs_put_object(failed, item, "damage");
    mhcs_put_bool(failed, damage, "torn", scan->damage.kind == MHCS_DAMAGE_TORN);
    mhcs_put_count(failed, damage, "offset", scan->damage.offset);
    mhcs_put_text(failed, damage, "what", scan->damage.what);
    mhcs_put_count(failed, damage, "bytes_lost", scan->bytes_lost);
    mhcs_put_count(failed, damage, "gaps", scan->gaps);
}

/* ---- what was seen ---- */

static void put_calls(bool *failed, cJSON *to, const struct mhcs_facts *facts)
{
    static const char *const reasons[MHCS_REASONS_COUNT] = {
#define REASON_KEY(name, counter, key, level, text) key,
        MHCS_REASONS(REASON_KEY)
#undef REASON_KEY
    };
    cJSON *calls, *why;

    if (!facts->counted) {
        mhcs_put_text(failed, to, "calls", NULL);
        return;
    }
    calls = mhcs_put_object(failed, to, "calls");
    for (int i = 0; i < MHCS_COUNTERS; i++)
        mhcs_put_count(failed, calls, mhcs_counter_key[i], facts->counter[i]);
    why = mhcs_put_object(failed, calls, "reasons");
    for (int i = 0; i < MHCS_REASONS_COUNT; i++)
        if (facts->reason[i] > 0)
            mhcs_put_count(failed, why, reasons[i], facts->reason[i]);
}

static void put_coverage(bool *failed, cJSON *to, const struct mhcs_report *report)
{
    const struct mhcs_collect *collect = report->collect;
    cJSON *coverage = mhcs_put_object(failed, to, "coverage"), *rows, *nonfinite;

    put_calls(failed, coverage, &report->facts);
    put_distinct(failed, coverage, "events", &report->facts.events);
    put_distinct(failed, coverage, "weights", &report->facts.weights);
    rows = mhcs_put_object(failed, coverage, "rows");
    mhcs_put_count(failed, rows, "all", collect->rows);
    mhcs_put_count(failed, rows, "graph", collect->graph_rows);
    mhcs_put_count(failed, rows, "padded", collect->padded_rows);
    for (int p = 0; p < MHCS_PHASES; p++)
        mhcs_put_count(failed, rows, mhcs_phase_name((enum mhcs_phase)p), collect->phase_rows[p]);
    MHCS_FOR_EACH_REFERENCE(r)
        mhcs_put_count(failed, rows, mhcs_reference_name(r), collect->reference_rows[r]);
    mhcs_put_count(failed, rows, "reference_zero", collect->zero_rows);
    mhcs_put_count(failed, rows, "of_further_sites", collect->rows_of_other_sites);
    mhcs_put_count(failed, rows, "of_further_paths", collect->other_path.rows);
    nonfinite = mhcs_put_object(failed, rows, "nonfinite");
    mhcs_put_count(failed, nonfinite, "production", collect->nonfinite[0]);
    mhcs_put_count(failed, nonfinite, "production_alone", collect->nonfinite_alone);
    mhcs_put_count(failed, nonfinite, "reference", collect->nonfinite[1]);
    mhcs_put_count(failed, nonfinite, "x", collect->nonfinite[2]);
}

/* ---- the conclusion ---- */

static void put_thresholds(bool *failed, cJSON *to)
{
    cJSON *thresholds = mhcs_put_object(failed, to, "thresholds");

    mhcs_put_number(failed, thresholds, "pass_ratio", MHCS_PASS_RATIO);
    mhcs_put_number(failed, thresholds, "warn_ratio", MHCS_WARN_RATIO);
    mhcs_put_count(failed, thresholds, "rows", MHCS_MIN_ROWS);
    mhcs_put_number(failed, thresholds, "significance", MHCS_ALPHA);
    mhcs_put_number(failed, thresholds, "harmless", MHCS_HARMLESS);
    mhcs_put_number(failed, thresholds, "self_check", MHCS_CHECK_MAX);
}

/* Where what was found lies: bounds of calls that are none, and a worst site that is no worse than
 * the others, are left out. */
static void put_extent(bool *failed, cJSON *to, const struct mhcs_conclusion *conclusion)
{
    cJSON *extent = mhcs_put_object(failed, to, "extent");

    mhcs_put_count(failed, extent, "sites", conclusion->sites_concerned);
    if (conclusion->calls_from > 0)
        mhcs_put_count(failed, extent, "tokens_from", conclusion->calls_from);
    if (conclusion->calls_to < UINT32_MAX)
        mhcs_put_count(failed, extent, "tokens_to", conclusion->calls_to);
    if (conclusion->worst_site)
        mhcs_model_put_group(failed, extent, "worst", conclusion->worst_site);
}

static void put_conclusion(bool *failed, cJSON *to, const struct mhcs_conclusion *conclusion)
{
    cJSON *object = mhcs_put_object(failed, to, "conclusion"), *effect, *sites;

    mhcs_put_text(failed, object, "status", mhcs_status_name(conclusion->status));
    mhcs_put_text(failed, object, "class", mhcs_class_key(conclusion->class));
    mhcs_put_text(failed, object, "sentence", conclusion->sentence);
    mhcs_put_number(failed, object, "ratio", conclusion->ratio);
    mhcs_put_number(failed, object, "rms_rel", conclusion->rms_rel);
    mhcs_put_bool(failed, object, "reference_unsound", conclusion->reference_unsound);
    mhcs_model_put_group(failed, object, "decisive", conclusion->decisive);
    put_extent(failed, object, conclusion);
    effect = mhcs_put_object(failed, object, "effect");
    mhcs_put_number(failed, effect, "comb_err", conclusion->comb_err);
    mhcs_put_number(failed, effect, "y_rel", conclusion->y_rel);
    mhcs_put_number(failed, effect, "y_cosdist", conclusion->y_cosdist);
    mhcs_put_bool(failed, effect, "harmless", conclusion->harmless);
    sites = mhcs_put_object(failed, object, "sites");
    mhcs_put_count(failed, sites, "all", conclusion->sites);
    mhcs_put_count(failed, sites, "warned", conclusion->sites_warned);
    mhcs_put_count(failed, sites, "failed", conclusion->sites_failed);
    mhcs_put_count(failed, object, "groups", conclusion->groups);
    mhcs_put_count(failed, object, "sites_and_phases_judged", conclusion->tested);
    mhcs_put_count(failed, object, "sites_and_phases_insufficient", conclusion->insufficient);
    put_thresholds(failed, object);
}

cJSON *mhcs_model_json(const struct mhcs_report *report)
{
    cJSON *model = cJSON_CreateObject(), *traces;
    bool failed = !model;

    mhcs_put_text(&failed, model, "format", "mhcshadow-report");
    mhcs_put_count(&failed, model, "version", MHCS_MODEL_JSON_VERSION);
    put_conclusion(&failed, model, &report->conclusion);
    put_run(&failed, model, report);
    traces = mhcs_put_array(&failed, model, "traces");
    for (size_t i = 0; i < report->files.count; i++)
        put_trace(&failed, traces, &report->scan[i]);
    put_coverage(&failed, model, report);
    mhcs_model_put_figures(&failed, model, report);
    if (!failed)
        return model;
    cJSON_Delete(model);
    return NULL;
}
