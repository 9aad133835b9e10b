/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's first sections: what ran, and how much of it was seen. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

#define PROCESSES_SHOWN 16

static void print_line(FILE *out, const char *label, const char *text)
{
    char padded[24];

    snprintf(padded, sizeof(padded), "  %-13s", label);
    mhcs_text_wrap(out, padded, text);
}

__attribute__((format(printf, 3, 4))) static void print_wrapped(FILE *out, const char *label,
                                                                const char *format, ...)
{
    va_list arguments;
    char *text;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    mhcs_text_wrap(out, label, text);
    free(text);
}

/* One line per different value; how many traces have it, unless all agree. */
static void print_distinct(FILE *out, const char *label, const struct mhcs_distinct *distinct)
{
    const size_t shown =
        distinct->count < MHCS_DISTINCT_SHOWN ? distinct->count : MHCS_DISTINCT_SHOWN;
    uint64_t further = distinct->further;

    for (size_t i = 0; i < shown; i++) {
        char *text = NULL;
        const uint64_t times = distinct->value[i].files;

        if (distinct->count > 1 &&
            asprintf(&text, "%s (%" PRIu64 "x)", distinct->value[i].text, times) < 0)
            text = NULL;
        print_line(out, i ? "" : label, text ? text : distinct->value[i].text);
        free(text);
    }
    for (size_t i = shown; i < distinct->count; i++)
        further += distinct->value[i].files;
    if (further > 0)
        fprintf(out, "  %-13sand further ones (%" PRIu64 "x)\n", "", further);
}

static void print_processes(FILE *out, const struct mhcs_facts *facts)
{
    const size_t shown = facts->processes < PROCESSES_SHOWN ? facts->processes : PROCESSES_SHOWN;
    char text[PROCESSES_SHOWN * 80 + 40] = "";
    size_t length = 0;

    if (facts->processes == 0)
        return;
    for (size_t i = 0; i < shown; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.72s", i ? ", " : "",
                                   facts->process[i]);
    if (facts->processes > shown)
        snprintf(text + length, sizeof(text) - length, " and %zu more", facts->processes - shown);
    print_line(out, "host pid", text);
}

static void print_paths(FILE *out, const struct mhcs_collect *collect)
{
    for (size_t i = 0; i < collect->paths; i++) {
        const struct mhcs_path_line *path = collect->path[i];
        char text[128];

        snprintf(text, sizeof(text), "%s, %" PRIu64 " rows%s", path->text, path->rows,
                 path->parsed ? "" : " (not a path this version knows: not judged)");
        print_line(out, i ? "" : "declared", text);
    }
    if (collect->other_path.rows > 0)
        fprintf(out, "  %-13s%" PRIu64 " rows of further paths\n", "", collect->other_path.rows);
}

static void print_time(FILE *out, const struct mhcs_collect *collect)
{
    char first[MHCS_CLOCK_BYTES], last[MHCS_CLOCK_BYTES], text[2 * MHCS_CLOCK_BYTES + 40];

    snprintf(text, sizeof(text), "%s to %s, %.3g s", mhcs_text_clock(collect->first, first),
             mhcs_text_clock(collect->last, last),
             ((double)collect->last - (double)collect->first) / 1e9);
    print_line(out, "time", text);
}

void mhcs_report_run(FILE *out, const struct mhcs_report *report)
{
    fprintf(out, "%sWhat ran%s (%zu trace%s)\n", mhcs_colour(MHCS_BOLD), mhcs_colour(MHCS_PLAIN),
            report->files.count, report->files.count == 1 ? "" : "s");
    if (report->facts.simulated)
        mhcs_text_wrap(out, "  ", MHCS_SIMULATED);
    print_processes(out, &report->facts);
    for (int i = 0; i < MHCS_FACTS_COUNT; i++)
        print_distinct(out, mhcs_fact_label[i], &report->facts.fact[i]);
    print_paths(out, report->collect);
    if (report->collect->rows > 0)
        print_time(out, report->collect);
    fputc('\n', out);
}

/* ---- coverage ---- */

const char *mhcs_report_reason(int reason)
{
    static const char *const texts[] = {
#define REASON_TEXT(name, counter, key, level, text) text,
        MHCS_REASONS(REASON_TEXT)
#undef REASON_TEXT
    };

    return texts[reason];
}

static void print_reasons(FILE *out, const struct mhcs_facts *facts)
{
    for (int i = 0; i < MHCS_REASONS_COUNT; i++) {
        char label[40];

        if (facts->reason[i] == 0)
            continue;
        snprintf(label, sizeof(label), "  %" PRIu64 "x ", facts->reason[i]);
        mhcs_text_wrap(out, label, mhcs_report_reason(i));
    }
}

/* What ran without a call: the launches of CUDA graphs. */
static void print_graphs(FILE *out, const uint64_t *counter)
{
    if (counter[MHCS_IN_GRAPHS] == 0)
        return;
    print_wrapped(out, "  graphs: ",
                  "calls captured to be checked %" PRIu64 ", launches %" PRIu64
                  ", mixing GEMMs in them %" PRIu64 ", sampled %" PRIu64 ", dropped %" PRIu64
                  ", failed %" PRIu64,
                  counter[MHCS_IN_GRAPHS], counter[MHCS_REPLAYS], counter[MHCS_REPLAYED],
                  counter[MHCS_REPLAY_SAMPLED], counter[MHCS_REPLAY_DROPPED],
                  counter[MHCS_REPLAY_FAILED]);
}

static void print_counters(FILE *out, const struct mhcs_facts *facts)
{
    const uint64_t *counter = facts->counter;

    print_wrapped(out, "  calls: ",
                  "seen %" PRIu64 ", matched %" PRIu64 ", sampled %" PRIu64 ", dropped %" PRIu64
                  ", captured-unchecked %" PRIu64 ", failed %" PRIu64,
                  counter[MHCS_SEEN], counter[MHCS_MATCHED], counter[MHCS_SAMPLED],
                  counter[MHCS_DROPPED], counter[MHCS_CAPTURED], counter[MHCS_FAILED]);
    print_graphs(out, counter);
    print_reasons(out, facts);
}

/* Without a checkpoint each process numbers its weight matrices by itself. */
static bool is_numbered(const struct mhcs_collect *collect)
{
    for (size_t i = 0; i < collect->sites; i++)
        if (collect->site[i]->layer >= 0)
            return false;
    return true;
}

static void print_rows(FILE *out, const struct mhcs_report *report)
{
    const struct mhcs_collect *collect = report->collect;

    print_wrapped(out, "  rows: ",
                  "%" PRIu64 " compared at %zu sites; prefill %" PRIu64 ", decode %" PRIu64
                  " (at most %d token rows in the call, or from a CUDA graph: %" PRIu64 ")",
                  collect->rows, collect->sites, collect->phase_rows[MHCS_PREFILL],
                  collect->phase_rows[MHCS_DECODE], MHCS_DECODE_TOKENS_MAX, collect->graph_rows);
    if (report->files.count > 1 && is_numbered(collect))
        mhcs_text_wrap(out, "  sites: ",
                       "numbered by each process as they appear; equal numbers are taken for equal "
                       "weights");
    if (collect->rows_of_other_sites > 0)
        fprintf(out, "  rows: %" PRIu64 " of further sites than the %d listed\n",
                collect->rows_of_other_sites, MHCS_COLLECT_SITES_MAX);
    if (collect->padded_rows > 0)
        print_wrapped(out, "  rows left out: ",
                      "padding %" PRIu64 " (x is zero, or repeats another row of its call)",
                      collect->padded_rows);
    print_wrapped(out, "  rows counted, not averaged: ",
                  "reference zero %" PRIu64 "; NaN or Inf in production %" PRIu64 " (alone %" PRIu64
                  "), in the reference %" PRIu64 ", in x %" PRIu64,
                  collect->zero_rows, collect->nonfinite[0], collect->nonfinite_alone,
                  collect->nonfinite[1], collect->nonfinite[2]);
}

/* Which back end the check was of. */
static const char *checked_back_end(const struct mhcs_facts *facts)
{
    return facts->checked == 0                       ? ""
           : facts->checked_cublas == 0              ? " (the library's kernel)"
           : facts->checked_cublas == facts->checked ? " (cuBLAS)"
                                                     : " (cuBLAS and the library's kernel)";
}

static void print_check(FILE *out, const struct mhcs_report *report)
{
    const struct mhcs_stat *check = &report->collect->check;
    char rms[MHCS_NUMBER_BYTES], max[MHCS_NUMBER_BYTES];

    if (check->hist.count == 0)
        mhcs_text_wrap(
            out, "  self-check: ",
            "no row was compared with fp64 (a reference of kind \"host\" is fp64 itself)");
    else
        print_wrapped(out, "  self-check: ",
                      "fp32 reference%s against fp64, rms %s, max %s over %" PRIu64 " rows",
                      checked_back_end(&report->facts), mhcs_text_number(mhcs_stat_rms(check), rms),
                      mhcs_text_number(check->max, max), check->hist.count);
}

size_t mhcs_report_warnings(const struct mhcs_report *report, bool phases,
                            const char *ret_warnings[MHCS_WARNINGS_MAX])
{
    const uint64_t *counter = report->facts.counter, *rows = report->collect->phase_rows;
    const uint64_t sampled = counter[MHCS_SAMPLED] + counter[MHCS_REPLAY_SAMPLED];
    const bool counted = report->facts.counted, missing = phases && report->collect->rows > 0;
    const struct {
        bool holds;
        const char *text;
    } warnings[MHCS_WARNINGS_MAX] = {
        {counted && counter[MHCS_MATCHED] == 0, "no call had the shape of an mHC mixing GEMM."},
        {counted && counter[MHCS_CAPTURED] + counter[MHCS_UNFOLLOWED] > sampled,
         "most calls that were due were captured into CUDA graphs and not checked: the decode "
         "steps of this run were hardly seen. --disable-cuda-graph makes them visible."},
        {counted && counter[MHCS_DROPPED] + counter[MHCS_REPLAY_DROPPED] > sampled,
         "most calls that were due were dropped: what was seen may not be typical."},
        {counted && counter[MHCS_FAILED] + counter[MHCS_REPLAY_FAILED] > sampled,
         "most calls that were due could not be checked."},
        {missing && rows[MHCS_PREFILL] == 0,
         "no prefill row was seen: nothing is known about prefill."},
        {missing && rows[MHCS_DECODE] == 0,
         "no decode row was seen: nothing is known about decode."},
    };
    size_t count = 0;

    for (size_t i = 0; i < MHCS_WARNINGS_MAX; i++)
        if (warnings[i].holds)
            ret_warnings[count++] = warnings[i].text;
    return count;
}

static void print_warnings(FILE *out, const struct mhcs_report *report)
{
    const char *warnings[MHCS_WARNINGS_MAX];
    const size_t count = mhcs_report_warnings(report, true, warnings);

    for (size_t i = 0; i < count; i++) {
        fputs(mhcs_colour(MHCS_YELLOW), out);
        mhcs_text_wrap(out, "  WARNING: ", warnings[i]);
        fputs(mhcs_colour(MHCS_PLAIN), out);
    }
}

void mhcs_report_coverage(FILE *out, const struct mhcs_report *report)
{
    uint64_t dropped = 0;

    fprintf(out, "%sCoverage%s\n", mhcs_colour(MHCS_BOLD), mhcs_colour(MHCS_PLAIN));
    for (size_t i = 0; i < report->files.count; i++)
        dropped += report->scan[i].dropped_samples;
    if (report->facts.counted)
        print_counters(out, &report->facts);
    else
        fprintf(out, "  calls: no counters in the trace (a killed process); dropped %" PRIu64 "\n",
                dropped);
    print_distinct(out, "events", &report->facts.events);
    if (report->collect->rows > 0) {
        print_rows(out, report);
        print_check(out, report);
    }
    print_warnings(out, report);
    fputc('\n', out);
}
