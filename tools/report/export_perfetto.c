/* SPDX-License-Identifier: Apache-2.0 */
/* Samples on a time line, in the JSON trace event format that ui.perfetto.dev and chrome://tracing
 * load: a process for each rank, a track for each of its sites, and on it an instant for each
 * sampled call and a counter of its rms rel. Time stamps are microseconds since 1970. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/json.h"
#include "tools/report/export.h"

#define TRACKS_MAX MHCS_COLLECT_SITES_MAX /* of one rank; calls of further sites share the last */

/* The rows of one sampled call stand together. */
struct call {
    int64_t time, call;
    int32_t site, tokens, rows;
    bool graph, checkpoint;
    enum mhcs_phase phase;
    uint32_t nonfinite;
    double squares[MHCS_PATHS], max[MHCS_PATHS];
    int32_t defined[MHCS_PATHS];
    char site_name[MHCS_ROWS_TEXT_BYTES], path[MHCS_ROWS_TEXT_BYTES];
};

struct tracing {
    struct mhcs_json json;
    bool comma;
    uint32_t rank; /* from 1, in the order of files */
    struct call call;
    int32_t track[TRACKS_MAX]; /* sites that have a track of this rank */
    size_t tracks;
};

/* ---- events ---- */

static void begin_event(struct tracing *tracing, const char *phase, const char *name, size_t track)
{
    struct mhcs_json *json = &tracing->json;

    json->length = 0;
    json->comma = false;
    mhcs_json_begin_object(json, NULL);
    mhcs_json_string(json, "ph", phase);
    mhcs_json_string(json, "name", name);
    mhcs_json_int(json, "pid", tracing->rank);
    mhcs_json_int(json, "tid", (int64_t)track);
}

static int end_event(FILE *out, struct tracing *tracing)
{
    const char *text;

    mhcs_json_end_object(&tracing->json);
    text = mhcs_json_finish(&tracing->json);
    if (!text)
        return -ENOMEM;
    fprintf(out, "%s\n%s", tracing->comma ? "," : "", text);
    tracing->comma = true;
    return 0;
}

/* What a process or a track is called: `kind` is process_name or thread_name. */
static int name_it(FILE *out, struct tracing *tracing, const char *kind, size_t track,
                   const char *name)
{
    begin_event(tracing, "M", kind, track);
    mhcs_json_begin_object(&tracing->json, "args");
    mhcs_json_string(&tracing->json, "name", name);
    mhcs_json_end_object(&tracing->json);
    return end_event(out, tracing);
}

/* From 1; *ret_new: it has no name yet. */
static size_t track_of(struct tracing *tracing, int32_t site, bool *ret_new)
{
    size_t i = 0;

    while (i < tracing->tracks && tracing->track[i] != site)
        i++;
    *ret_new = i == tracing->tracks && i < TRACKS_MAX;
    if (*ret_new)
        tracing->track[tracing->tracks++] = site;
    return i < TRACKS_MAX ? i + 1 : TRACKS_MAX;
}

static void put_time(struct mhcs_json *json, int64_t unix_ns)
{
    /* A double holds today's microseconds to a quarter of one. */
    mhcs_json_int(json, "ts", unix_ns / 1000);
}

static int write_instant(FILE *out, struct tracing *tracing, size_t track)
{
    const struct call *call = &tracing->call;
    struct mhcs_json *json = &tracing->json;
    char name[48];

    snprintf(name, sizeof(name), "%s, %" PRId32 " tokens", mhcs_phase_name(call->phase),
             call->tokens);
    begin_event(tracing, "i", name, track);
    mhcs_json_string(json, "s", "t");
    put_time(json, call->time);
    mhcs_json_begin_object(json, "args");
    mhcs_json_int(json, "call", call->call);
    mhcs_json_string(json, "site", call->site_name);
    mhcs_json_string(json, "path", call->path);
    mhcs_json_bool(json, "graph", call->graph);
    mhcs_json_int(json, "rows", call->rows);
    mhcs_json_int(json, "nonfinite", call->nonfinite);
    MHCS_FOR_EACH_REFERENCE(r)
        if (call->defined[r] > 0) {
            mhcs_json_begin_object(json, mhcs_reference_name(r));
            mhcs_json_number(json, "rms_rel", sqrt(call->squares[r] / call->defined[r]));
            mhcs_json_number(json, "max_rel", call->max[r]);
            mhcs_json_end_object(json);
        }
    mhcs_json_end_object(json);
    return end_event(out, tracing);
}

static int write_counter(FILE *out, struct tracing *tracing, size_t track)
{
    const struct call *call = &tracing->call;
    struct mhcs_json *json = &tracing->json;
    char name[MHCS_ROWS_TEXT_BYTES + 8];

    if (call->defined[MHCS_OPERANDS] + call->defined[MHCS_CHECKPOINT] == 0)
        return 0;
    snprintf(name, sizeof(name), "rel %s", call->site_name);
    begin_event(tracing, "C", name, track);
    put_time(json, call->time);
    mhcs_json_begin_object(json, "args");
    MHCS_FOR_EACH_REFERENCE(r)
        if (call->defined[r] > 0)
            mhcs_json_number(json, mhcs_reference_name(r),
                             sqrt(call->squares[r] / call->defined[r]));
    mhcs_json_end_object(json);
    return end_event(out, tracing);
}

/* ---- calls ---- */

static int flush_call(FILE *out, struct tracing *tracing)
{
    const struct call *call = &tracing->call;
    bool is_new;
    size_t track;
    int ret = 0;

    if (call->rows == 0)
        return 0;
    track = track_of(tracing, call->site, &is_new);
    if (is_new)
        ret = name_it(out, tracing, "thread_name", track, call->site_name);
    if (!ret)
        ret = write_instant(out, tracing, track);
    if (!ret)
        ret = write_counter(out, tracing, track);
    tracing->call.rows = 0;
    return ret;
}

static void begin_call(struct call *call, const struct mhcs_record *record)
{
    *call = (struct call){
        .time = record->time,
        .call = record->call,
        .site = record->site,
        .tokens = record->tokens,
        .graph = record->graph,
        .phase = mhcs_phase_of(record),
    };
    snprintf(call->site_name, sizeof(call->site_name), "%s", record->site_name);
    snprintf(call->path, sizeof(call->path), "%s", record->path);
}

static void add_row(struct call *call, const struct mhcs_record *record)
{
    call->rows++;
    call->nonfinite |= record->result->nonfinite;
    MHCS_FOR_EACH_REFERENCE(r) {
        const double rel = (double)record->result->against[r].rel;

        if (!isfinite(rel) || (r == MHCS_CHECKPOINT && !record->checkpoint))
            continue;
        call->defined[r]++;
        call->squares[r] += rel * rel;
        call->max[r] = fmax(call->max[r], rel);
    }
}

static int write_batch(FILE *out, void *state, const struct mhcs_origin *origin,
                       struct mhcs_row_reader *rows, uint32_t count)
{
    struct tracing *tracing = state;
    struct call *call = &tracing->call;
    int ret = 0;

    for (uint32_t row = 0; row < count && !ret; row++) {
        const struct mhcs_record *record = mhcs_rows_get(rows, row);

        if (call->rows > 0 && (record->call != call->call || record->site != call->site))
            ret = flush_call(out, tracing);
        if (call->rows == 0)
            begin_call(call, record);
        add_row(call, record);
    }
    return ret;
}

/* ---- files ---- */

static int begin(FILE *out, void *state)
{
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
    return 0;
}

static int begin_file(FILE *out, void *state, const struct mhcs_origin *origin)
{
    struct tracing *tracing = state;
    char name[512];

    tracing->rank++;
    tracing->tracks = 0;
    snprintf(name, sizeof(name), "%s %" PRId64 "%s%s%s", *origin->host ? origin->host : "unknown",
             origin->pid, *origin->label ? " (" : "", origin->label, *origin->label ? ")" : "");
    return name_it(out, tracing, "process_name", 0, name);
}

static int end_file(FILE *out, void *state)
{
    return flush_call(out, state);
}

static int end(FILE *out, void *state)
{
    fputs("\n]}\n", out);
    return 0;
}

static void free_tracing(void *state)
{
    mhcs_json_free(&((struct tracing *)state)->json);
}

const struct mhcs_row_format mhcs_export_perfetto = {
    .state_size = sizeof(struct tracing),
    .begin = begin,
    .file = begin_file,
    .batch = write_batch,
    .end_file = end_file,
    .end = end,
    .free = free_tracing,
};
