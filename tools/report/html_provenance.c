/* SPDX-License-Identifier: Apache-2.0 */
/* What ran: facts of the processes, declared paths, trace files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/html.h"
#include "tools/report/text.h"

static void print_values(FILE *out, const char *name, const struct mhcs_distinct *distinct)
{
    const bool several = distinct->count + (distinct->further > 0) > 1;

    if (distinct->count == 0)
        return;
    fputs("<div>", out);
    mhcs_html_element(out, "dt", "", name);
    for (size_t i = 0; i < distinct->count; i++) {
        if (i == MHCS_DISTINCT_SHOWN)
            fprintf(out, "<dd><details><summary>%zu more</summary><ul>\n", distinct->count - i);
        fputs(i < MHCS_DISTINCT_SHOWN ? "<dd>" : "<li>", out);
        mhcs_html_text(out, distinct->value[i].text);
        if (several)
            fprintf(out, " <small>(%" PRIu64 "x)</small>", distinct->value[i].files);
        fputs(i < MHCS_DISTINCT_SHOWN ? "</dd>\n" : "</li>\n", out);
    }
    if (distinct->count > MHCS_DISTINCT_SHOWN)
        fputs("</ul></details></dd>\n", out);
    if (distinct->further > 0)
        mhcs_html_elementf(out, "dd", "", "and further ones (%" PRIu64 "x)", distinct->further);
    fputs("</div>\n", out);
}

static void print_paths(FILE *out, const struct mhcs_collect *collect)
{
    fputs("<div>", out);
    mhcs_html_element(out, "dt", "", "declared");
    for (size_t i = 0; i < collect->paths; i++)
        mhcs_html_elementf(
            out, "dd", "", "%s, %" PRIu64 " rows%s", collect->path[i]->text, collect->path[i]->rows,
            collect->path[i]->parsed ? "" : " (not a path this version knows: not judged)");
    if (collect->other_path.rows > 0)
        mhcs_html_elementf(out, "dd", "", "%" PRIu64 " rows of further paths",
                           collect->other_path.rows);
    fputs("</div>\n", out);
}

/* A trace, how it ends, or what is wrong with it. */
struct file {
    const struct mhcs_scan *scan;
    char state[320];
};

static void describe(struct file *file, const struct mhcs_scan *scan)
{
    file->scan = scan;
    if (scan->unreadable)
        snprintf(file->state, sizeof(file->state), "unreadable: %s", scan->why);
    else if (scan->damaged)
        snprintf(file->state, sizeof(file->state),
                 "%s at offset %" PRIu64 ": %s; %" PRIu64 " bytes not read",
                 scan->damage.kind == MHCS_DAMAGE_TORN ? "torn" : "DAMAGED", scan->damage.offset,
                 scan->damage.what, scan->bytes_lost);
    else
        snprintf(file->state, sizeof(file->state), "%s", mhcs_scan_end(scan));
}

/* Those with trouble first, then those that say least; names decide last. */
static int compare_files(const void *left, const void *right)
{
    const struct file *a = left, *b = right;
    const int bad_a = a->scan->unreadable + a->scan->damaged;
    const int bad_b = b->scan->unreadable + b->scan->damaged;

    if (bad_a != bad_b)
        return bad_a > bad_b ? -1 : 1;
    if (a->scan->rows != b->scan->rows)
        return a->scan->rows < b->scan->rows ? -1 : 1;
    if (strcmp(a->state, b->state) != 0)
        return strcmp(a->state, b->state);
    return strverscmp(a->scan->name, b->scan->name);
}

static void print_files(FILE *out, const struct mhcs_report *report)
{
    static const char *const columns[] = {"trace", "rows", "state", NULL};
    const bool many = report->files.count > MHCS_DISTINCT_SHOWN;
    struct file *files = calloc(report->files.count + 1, sizeof(*files));
    char rows[MHCS_NUMBER_BYTES];

    if (!files)
        return;
    for (size_t i = 0; i < report->files.count; i++)
        describe(&files[i], &report->scan[i]);
    qsort(files, report->files.count, sizeof(*files), compare_files);
    mhcs_html_table(out, "trace files", columns, many);
    for (size_t i = 0; i < report->files.count; i++) {
        snprintf(rows, sizeof(rows), "%" PRIu64, files[i].scan->rows);
        mhcs_html_row(out, (const char *const[]){files[i].scan->name, rows, files[i].state}, 3);
    }
    mhcs_html_table_end(out, many);
    free(files);
}

void mhcs_html_provenance(FILE *out, const struct mhcs_report *report)
{
    mhcs_html_section(out, "provenance", "What ran");
    fputs("<dl class=\"facts\">\n", out);
    for (int i = 0; i < MHCS_FACTS_COUNT; i++)
        print_values(out, mhcs_fact_label[i], &report->facts.fact[i]);
    print_paths(out, report->collect);
    print_values(out, "events", &report->facts.events);
    fputs("</dl>\n", out);
    print_files(out, report);
    mhcs_html_section_end(out);
}
