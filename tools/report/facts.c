/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the processes: JSON in, lines of text and sums of counters out. */
#include "tools/report/facts.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/text.h"

const char *const mhcs_fact_label[] = {
#define MHCS_FACT_LABEL(name, label) label,
    MHCS_FACTS(MHCS_FACT_LABEL)
#undef MHCS_FACT_LABEL
};

/* ---- reading JSON ---- */

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *get_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(get(object, key));

    return text ? text : "";
}

static double get_number(const cJSON *object, const char *key)
{
    const cJSON *item = get(object, key);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static uint64_t get_count(const cJSON *object, const char *key)
{
    const double value = get_number(object, key);

    return value >= 0 && value < 0x1p64 ? (uint64_t)value : 0;
}

/* ---- the first frame ---- */

static void write_library(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    fputs(get_text(json, "library"), out);
    if (*get_text(json, "revision"))
        fprintf(out, ", revision %s", get_text(json, "revision"));
}

static void write_command(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    const cJSON *word;
    const char *space = "";

    cJSON_ArrayForEach(word, get(json, "command")) if (cJSON_IsString(word))
    {
        fprintf(out, "%s%s", space, word->valuestring);
        space = " ";
    }
}

static void write_label(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    fputs(get_text(json, "label"), out);
}

static void write_gpu(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    const cJSON *gpu = get(json, "gpu");

    if (!*get_text(gpu, "name"))
        return;
    fputs(get_text(gpu, "name"), out);
    if (*get_text(gpu, "cc"))
        fprintf(out, ", compute capability %s", get_text(gpu, "cc"));
    if (get_count(gpu, "sm_count") > 0)
        fprintf(out, ", %" PRIu64 " SMs", get_count(gpu, "sm_count"));
    if (cJSON_IsTrue(get(gpu, "simulated"))) {
        facts->simulated = true;
        fputs(", SIMULATED", out);
    }
}

static void write_driver(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    const cJSON *driver = get(json, "driver");
    const uint64_t version = get_count(driver, "version");

    if (version > 0)
        fprintf(out, "CUDA %" PRIu64 ".%" PRIu64, version / 1000, version % 1000 / 10);
    if (cJSON_IsTrue(get(driver, "simulated"))) {
        facts->simulated = true;
        fputs(version > 0 ? ", SIMULATED" : "SIMULATED", out);
    }
}

static void write_cublas(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    const cJSON *cublas = get(json, "cublas");
    const uint64_t version = get_count(cublas, "version");

    if (version > 0)
        fprintf(out, "%" PRIu64 ".%" PRIu64 ".%" PRIu64 "  ", version / 10000, version / 100 % 100,
                version % 100);
    fputs(get_text(cublas, "path"), out);
}

static void write_environment(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    const cJSON *item;
    const char *space = "";

    cJSON_ArrayForEach(item, get(json, "environment")) if (cJSON_IsString(item))
    {
        fprintf(out, "%s%s=%s", space, item->string, item->valuestring);
        space = " ";
    }
}

static bool is_neutral(const cJSON *model)
{
    const char *source = get_text(model, "source");

    return !*source || !strcmp(source, "none");
}

/* Wherever the checkpoint lies. */
static void write_likeness(FILE *out, const cJSON *model)
{
    if (is_neutral(model))
        fputs("no checkpoint: maps with scale 1, base 0, NOT the model's own", out);
    else if (*get_text(model, "model_type"))
        fprintf(out, " (%s)", get_text(model, "model_type"));
    if (!is_neutral(model) && get_count(model, "layers") > 0)
        fprintf(out, ", %" PRIu64 " layers, hidden %" PRIu64, get_count(model, "layers"),
                get_count(model, "hidden"));
    fprintf(out, "; hc_eps %g, norm_eps %g, %" PRIu64 " Sinkhorn sweeps",
            get_number(model, "hc_eps"), get_number(model, "norm_eps"),
            get_count(model, "iterations"));
}

static void write_model(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    const cJSON *model = get(json, "model");

    if (!cJSON_IsObject(model))
        return;
    facts->neutral_model |= is_neutral(model);
    if (!is_neutral(model))
        fputs(get_text(model, "source"), out);
    write_likeness(out, model);
}

static void write_sampling(FILE *out, struct mhcs_facts *facts, const cJSON *json)
{
    const cJSON *settings = get(json, "settings");
    const double sample = get_number(settings, "sample");

    if (!cJSON_IsObject(settings))
        return;
    if (sample >= 1)
        fputs("every call", out);
    else if (sample > 0)
        fprintf(out, "1 call in %.4g", 1 / sample);
    else
        fputs("off", out);
    fprintf(out, ", %" PRIu64 " rows a call, reference \"%s\"", get_count(settings, "rows"),
            get_text(settings, "reference"));
}

/* Takes `text` over. */
static int keep_process(struct mhcs_facts *facts, char *text)
{
    if (facts->processes == facts->processes_room) {
        const size_t room = facts->processes_room ? 2 * facts->processes_room : 1;
        char **process = reallocarray(facts->process, room, sizeof(*process));

        if (!process) {
            free(text);
            return -ENOMEM;
        }
        facts->process = process;
        facts->processes_room = room;
    }
    facts->process[facts->processes++] = text;
    return 0;
}

static int add_process(struct mhcs_facts *facts, const cJSON *json)
{
    char *text;

    if (asprintf(&text, "%s %.0f", get_text(json, "host"), get_number(json, "pid")) < 0)
        return -ENOMEM;
    mhcs_text_clean(text);
    return keep_process(facts, text);
}

static int add_likeness(struct mhcs_facts *facts, const cJSON *model)
{
    struct mhcs_draft draft;
    int ret;

    if (!cJSON_IsObject(model))
        return 0;
    ret = mhcs_draft_open(&draft);
    if (ret)
        return ret;
    fputs("model", draft.stream);
    if (is_neutral(model))
        fputs(": ", draft.stream);
    write_likeness(draft.stream, model);
    return mhcs_draft_keep(&draft, &facts->likeness);
}

static int add_process_facts(struct mhcs_facts *facts, const cJSON *json)
{
    static void (*const write[])(FILE *, struct mhcs_facts *, const cJSON *) = {
        [MHCS_FACT_LIBRARY] = write_library,
        [MHCS_FACT_COMMAND] = write_command,
        [MHCS_FACT_LABEL] = write_label,
        [MHCS_FACT_GPU] = write_gpu,
        [MHCS_FACT_DRIVER] = write_driver,
        [MHCS_FACT_CUBLAS] = write_cublas,
        [MHCS_FACT_ENVIRONMENT] = write_environment,
        [MHCS_FACT_MODEL] = write_model,
        [MHCS_FACT_SAMPLING] = write_sampling,
    };
    struct mhcs_draft draft;
    int ret = add_process(facts, json);

    for (size_t i = 0; !ret && i < sizeof(write) / sizeof(write[0]); i++) {
        ret = mhcs_draft_open(&draft);
        if (ret)
            break;
        write[i](draft.stream, facts, json);
        ret = mhcs_draft_keep(&draft, &facts->fact[i]);
    }
    return ret ? ret : add_likeness(facts, get(json, "model"));
}

/* ---- later frames ---- */

static int add_width(struct mhcs_facts *facts, uint64_t k)
{
    char *text;

    if (asprintf(&text, "GEMMs of K = %" PRIu64, k) < 0)
        return -ENOMEM;
    return mhcs_distinct_keep(&facts->likeness, text, 1);
}

static int add_shapes(struct mhcs_facts *facts, const cJSON *sites)
{
    const cJSON *site;
    struct mhcs_draft draft;
    int ret;

    cJSON_ArrayForEach(site, sites)
    {
        ret = mhcs_draft_open(&draft);
        if (ret)
            return ret;
        if (get_count(site, "k") > 0)
            fprintf(draft.stream, "%" PRIu64 " x %" PRIu64 ", weights in %s",
                    get_count(site, "coefficients"), get_count(site, "k"), get_text(site, "dtype"));
        ret = mhcs_draft_keep(&draft, &facts->fact[MHCS_FACT_SHAPE]);
        if (!ret && get_count(site, "k") > 0)
            ret = add_width(facts, get_count(site, "k"));
        if (ret)
            return ret;
    }
    return 0;
}

/* Weights that differ from the checkpoint's. */
static int add_differences(struct mhcs_facts *facts, const cJSON *sites)
{
    const cJSON *site;
    struct mhcs_draft draft;
    int ret = 0;

    cJSON_ArrayForEach(site, sites)
    {
        if (ret || !*get_text(site, "difference"))
            continue;
        ret = mhcs_draft_open(&draft);
        if (!ret) {
            fprintf(draft.stream, "%s: %s", get_text(site, "name"), get_text(site, "difference"));
            ret = mhcs_draft_keep(&draft, &facts->weights);
        }
    }
    return ret;
}

static const char *const reason_keys[MHCS_REASONS_COUNT] = {
#define REASON_KEY(name, counter, key, level, text) key,
    MHCS_REASONS(REASON_KEY)
#undef REASON_KEY
};

static void set_counters(struct mhcs_facts *facts, const cJSON *counters)
{
    static const char *const keys[MHCS_COUNTERS] = {
#define COUNTER_KEY(name, key, what) key,
        MHCS_COUNTER_LIST(COUNTER_KEY)
#undef COUNTER_KEY
    };

    facts->counted = true;
    for (int i = 0; i < MHCS_COUNTERS; i++)
        facts->counter[i] = get_count(counters, keys[i]);
    for (int i = 0; i < MHCS_REASONS_COUNT; i++)
        facts->reason[i] = get_count(get(counters, "reasons"), reason_keys[i]);
    facts->checked = get_count(counters, "checked");
    facts->checked_cublas = get_count(counters, "checked_cublas");
}

/* A notice of a reason that is known says what the counters say with a number. */
static bool is_counted(const char *reason)
{
    for (int i = 0; i < MHCS_REASONS_COUNT; i++)
        if (!strcmp(reason_keys[i], reason))
            return true;
    return false;
}

static int add_event(struct mhcs_facts *facts, const cJSON *event)
{
    const char *kind = get_text(event, "event"), *reason = get_text(event, "reason");
    const bool armed = !strcmp(kind, "armed"), weights = !strcmp(kind, "weights");
    struct mhcs_draft draft;
    int ret = mhcs_draft_open(&draft);

    if (ret)
        return ret;
    if (armed)
        fprintf(draft.stream, "reference runs as \"%s\", %" PRIu64 " slots",
                get_text(event, "mode"), get_count(event, "slots"));
    else if (!strcmp(kind, "fallback"))
        fprintf(draft.stream, "fell back to \"%s\": %s", get_text(event, "mode"), reason);
    else if (*get_text(event, "text") && !is_counted(reason))
        fprintf(draft.stream, "%s", get_text(event, "text"));
    else if (!strcmp(kind, "disarmed"))
        fprintf(draft.stream, "disarmed: %s", reason);
    return mhcs_draft_keep(&draft, armed     ? &facts->fact[MHCS_FACT_ENGINE]
                                   : weights ? &facts->places
                                             : &facts->events);
}

int mhcs_facts_add(struct mhcs_facts *facts, const char *text)
{
    cJSON *json = cJSON_Parse(text);
    const cJSON *event;
    int ret = 0;

    if (cJSON_HasObjectItem(json, "format"))
        ret = add_process_facts(facts, json);
    if (!ret)
        ret = add_shapes(facts, get(json, "sites"));
    if (!ret)
        ret = add_differences(facts, get(json, "sites"));
    if (!ret)
        ret = mhcs_maps_add(&facts->maps, json);
    if (cJSON_IsObject(get(json, "counters")))
        set_counters(facts, get(json, "counters"));
    cJSON_ArrayForEach(event, get(json, "events")) if (!ret) ret = add_event(facts, event);
    cJSON_Delete(json);
    return ret;
}

/* ---- of several traces ---- */

int mhcs_facts_merge(struct mhcs_facts *facts, const struct mhcs_facts *from)
{
    int ret = 0;

    for (int i = 0; i < MHCS_FACTS_COUNT && !ret; i++)
        ret = mhcs_distinct_merge(&facts->fact[i], &from->fact[i]);
#define MERGE(name)                                                                                \
    if (!ret)                                                                                      \
        ret = mhcs_distinct_merge(&facts->name, &from->name);
    MHCS_DISTINCTS(MERGE)
#undef MERGE
    for (size_t i = 0; i < from->processes && !ret; i++) {
        char *text = strdup(from->process[i]);

        ret = text ? keep_process(facts, text) : -ENOMEM;
    }
    if (!ret)
        ret = mhcs_maps_merge(&facts->maps, &from->maps);
    facts->simulated |= from->simulated;
    facts->neutral_model |= from->neutral_model;
    facts->counted |= from->counted;
    for (int i = 0; i < MHCS_COUNTERS; i++)
        facts->counter[i] += from->counter[i];
    for (int i = 0; i < MHCS_REASONS_COUNT; i++)
        facts->reason[i] += from->reason[i];
    facts->checked += from->checked;
    facts->checked_cublas += from->checked_cublas;
    return ret;
}

bool mhcs_facts_weights_differ(const struct mhcs_facts *facts)
{
    return facts->weights.count + facts->places.count > 0;
}

/* ---- order and end ---- */

static int compare_texts(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

void mhcs_facts_sort(struct mhcs_facts *facts)
{
    for (int i = 0; i < MHCS_FACTS_COUNT; i++)
        mhcs_distinct_sort(&facts->fact[i]);
#define SORT(name) mhcs_distinct_sort(&facts->name);
    MHCS_DISTINCTS(SORT)
#undef SORT
    if (facts->processes > 0)
        qsort(facts->process, facts->processes, sizeof(*facts->process), compare_texts);
}

void mhcs_facts_free(struct mhcs_facts *facts)
{
    for (int i = 0; i < MHCS_FACTS_COUNT; i++)
        mhcs_distinct_free(&facts->fact[i]);
#define FREE(name) mhcs_distinct_free(&facts->name);
    MHCS_DISTINCTS(FREE)
#undef FREE
    for (size_t i = 0; i < facts->processes; i++)
        free(facts->process[i]);
    free(facts->process);
    mhcs_maps_free(&facts->maps);
}
