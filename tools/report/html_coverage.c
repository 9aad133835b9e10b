/* SPDX-License-Identifier: Apache-2.0 */
/* How much was seen, in all and by each process. */
#include <inttypes.h>
#include <math.h>

#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/text.h"

/* ---- in all ---- */

static const char *const counter_about[MHCS_COUNTERS] = {
#define ABOUT(name, key, what) what,
    MHCS_COUNTER_LIST(ABOUT)
#undef ABOUT
};

/* Those that every run has an answer to; the others where they have something to say. */
static bool is_shown(const struct mhcs_facts *facts, int counter)
{
    return counter == MHCS_SEEN || counter == MHCS_MATCHED || counter == MHCS_SAMPLED ||
           counter == MHCS_DROPPED || counter == MHCS_CAPTURED || counter == MHCS_FAILED ||
           facts->counter[counter] > 0;
}

static void print_totals(FILE *out, const struct mhcs_facts *facts)
{
    fputs("<dl class=\"figures\">\n", out);
    for (int i = 0; i < MHCS_COUNTERS; i++)
        if (is_shown(facts, i)) {
            fputs("<div>", out);
            mhcs_html_element(out, "dt", "", mhcs_counter_key[i]);
            mhcs_html_elementf(out, "dd", "", "%" PRIu64, facts->counter[i]);
            mhcs_html_element(out, "dd", " class=\"about\"", counter_about[i]);
            fputs("</div>\n", out);
        }
    fputs("</dl>\n", out);
}

static void print_reasons(FILE *out, const struct mhcs_facts *facts)
{
    bool any = false;

    for (int i = 0; i < MHCS_REASONS_COUNT; i++) {
        if (facts->reason[i] == 0)
            continue;
        fputs(any ? "" : "<ul>\n", out);
        any = true;
        mhcs_html_elementf(out, "li", "", "%" PRIu64 "x %s", facts->reason[i],
                           mhcs_report_reason(i));
    }
    fputs(any ? "</ul>\n" : "", out);
}

static void print_rows(FILE *out, const struct mhcs_collect *collect)
{
    mhcs_html_elementf(out, "p", "",
                       "Rows compared: %" PRIu64 ", prefill %" PRIu64 ", decode %" PRIu64
                       " (at most %d token rows in the call, or from a CUDA graph: %" PRIu64 ").",
                       collect->rows, collect->phase_rows[MHCS_PREFILL],
                       collect->phase_rows[MHCS_DECODE], MHCS_DECODE_TOKENS_MAX,
                       collect->graph_rows);
    mhcs_html_elementf(out, "p", "",
                       "Counted, not averaged: reference zero %" PRIu64
                       "; NaN or Inf in production %" PRIu64 " (alone %" PRIu64
                       "), in the reference %" PRIu64 ", in x %" PRIu64 ".",
                       collect->zero_rows, collect->nonfinite[0], collect->nonfinite_alone,
                       collect->nonfinite[1], collect->nonfinite[2]);
}

static void print_check(FILE *out, const struct mhcs_stat *check)
{
    char rms[MHCS_NUMBER_BYTES], max[MHCS_NUMBER_BYTES];

    if (check->hist.count > 0)
        mhcs_html_elementf(out, "p", "",
                           "Self-check: fp32 reference against fp64, rms %s, max %s over %" PRIu64
                           " rows.",
                           mhcs_text_number(mhcs_stat_rms(check), rms),
                           mhcs_text_number(check->max, max), check->hist.count);
}

/* ---- by process ---- */

#define LINES_MAX  128 /* in the chart; the table has all */
#define LINE       13
#define NAME_BYTES 20
#define BARS       118
#define TOP        20

/* What became of the calls that were due. */
enum { CHECKED, DROPPED, CAPTURED, FAILED, FATES };

static void count_fates(const struct mhcs_process *process, uint64_t fate[FATES])
{
    const uint64_t *counter = process->counter;

    fate[CHECKED] = counter[MHCS_SAMPLED] + counter[MHCS_REPLAY_SAMPLED];
    fate[DROPPED] = counter[MHCS_DROPPED] + counter[MHCS_REPLAY_DROPPED];
    fate[CAPTURED] = counter[MHCS_CAPTURED];
    fate[FAILED] = counter[MHCS_FAILED] + counter[MHCS_REPLAY_FAILED];
}

static void draw_line(FILE *out, const struct mhcs_process *process, int y)
{
    const double room = MHCS_CHART_RIGHT - BARS;
    uint64_t fate[FATES], due = 0;
    double edge[FATES + 1] = {BARS};
    char text[128], name[NAME_BYTES];

    count_fates(process, fate);
    for (int i = 0; i < FATES; i++)
        due += fate[i];
    for (int i = 0; i < FATES; i++)
        edge[i + 1] = edge[i] + (due ? room * (double)fate[i] / (double)due : 0);
    mhcs_html_process(process, name, sizeof(name));
    snprintf(text, sizeof(text), "%s: %" PRIu64 " of %" PRIu64 " due calls checked", name,
             fate[CHECKED], due);
    fprintf(out, "<text class=\"tick\" aria-hidden=\"true\" x=\"0\" y=\"%d\">", y + 9);
    mhcs_html_text(out, name);
    fputs("</text>", out);
    mhcs_chart_mark(out, "fate", text,
                    "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"10\" class=\"checked\"/>"
                    "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"10\" class=\"dropped\"/>"
                    "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"10\" class=\"captured\"/>"
                    "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"10\" class=\"failed\"/>",
                    edge[0], y, edge[1] - edge[0], edge[1], y, edge[2] - edge[1], edge[2], y,
                    edge[3] - edge[2], edge[3], y, edge[4] - edge[3]);
}

static void draw_legend(FILE *out, int y)
{
    static const char *const names[FATES] = {"checked", "dropped", "captured", "failed"};

    fputs("<g class=\"legend fate\" aria-hidden=\"true\">", out);
    for (int i = 0; i < FATES; i++)
        fprintf(out,
                "<rect x=\"%d\" y=\"%d\" width=\"9\" height=\"9\" class=\"%s\"/>"
                "<text class=\"tick\" x=\"%d\" y=\"%d\">%s</text>",
                80 + i * 66, y, names[i], 80 + i * 66 + 12, y + 8, names[i]);
    fputs("</g>\n", out);
}

static void draw(FILE *out, const struct mhcs_report *report)
{
    const int lines = (int)(report->files.count < LINES_MAX ? report->files.count : LINES_MAX);
    char note[80] = "";

    if (report->files.count > LINES_MAX)
        snprintf(note, sizeof(note), "%zu more are in the table.", report->files.count - LINES_MAX);
    mhcs_chart_begin(out, "processes", TOP + lines * LINE + 22,
                     "What became of the calls that were due, by process",
                     "A bar for each process, in parts of the calls that were due: checked, "
                     "dropped, captured into CUDA graphs, failed.");
    for (int i = 0; i < lines; i++)
        draw_line(out, &report->process[i], TOP + i * LINE);
    draw_legend(out, TOP + lines * LINE + 8);
    mhcs_chart_end(out, "processes", note);
}

#define CELLS_MAX (MHCS_COUNTERS + 4)

static void print_process(FILE *out, const struct mhcs_report *report, size_t i)
{
    const struct mhcs_process *process = &report->process[i];
    char name[160], number[CELLS_MAX][MHCS_NUMBER_BYTES];
    const char *cells[CELLS_MAX];
    size_t count = 0;

    mhcs_html_process(process, name, sizeof(name));
    cells[count++] = name;
    cells[count++] = process->origin.label;
    snprintf(number[count], sizeof(number[count]), "%" PRIu64, process->rows);
    cells[count] = number[count];
    count++;
    for (int c = 0; c < MHCS_COUNTERS; c++)
        if (is_shown(&report->facts, c)) {
            snprintf(number[count], sizeof(number[count]), "%" PRIu64, process->counter[c]);
            cells[count] = process->counted ? number[count] : "?";
            count++;
        }
    mhcs_html_row(out, cells, count);
}

static void print_table(FILE *out, const struct mhcs_report *report)
{
    const char *columns[CELLS_MAX + 1] = {"host pid", "label", "rows"};
    size_t count = 3;

    for (int c = 0; c < MHCS_COUNTERS; c++)
        if (is_shown(&report->facts, c))
            columns[count++] = mhcs_counter_key[c];
    mhcs_html_table(out, "calls by process", columns, true);
    for (size_t i = 0; i < report->files.count; i++)
        print_process(out, report, i);
    mhcs_html_table_end(out, true);
}

void mhcs_html_coverage(FILE *out, const struct mhcs_report *report)
{
    mhcs_html_section(out, "coverage", "Coverage");
    if (report->facts.counted) {
        print_totals(out, &report->facts);
        print_reasons(out, &report->facts);
    } else {
        mhcs_html_element(out, "p", "", "No trace has counters: their processes were killed.");
    }
    print_rows(out, report->collect);
    print_check(out, &report->collect->check);
    fputs("<div class=\"charts\"><div>\n", out);
    if (report->facts.counted)
        draw(out, report);
    print_table(out, report);
    fputs("</div></div>\n", out);
    mhcs_html_section_end(out);
}
