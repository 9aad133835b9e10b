/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report export: the report, or the rows, for other programs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/export.h"

static const struct format {
    const char *name;
    const struct mhcs_row_format *rows; /* or */
    int (*report)(FILE *out, const struct mhcs_report *report);
} formats[] = {
    {"json", NULL, mhcs_export_json},          {"jsonl", &mhcs_export_jsonl, NULL},
    {"csv", &mhcs_export_csv, NULL},           {"openmetrics", NULL, mhcs_export_openmetrics},
    {"perfetto", &mhcs_export_perfetto, NULL},
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

struct export_options {
    const struct format *format;
};

static const struct argp_option option_list[] = {
    {"format", 'f', "FORMAT", 0,
     "json (the whole report, the default), openmetrics (the same for Prometheus), jsonl or csv "
     "(all rows with all columns), perfetto (samples on a time line)",
     0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct export_options *options = state->input;

    if (key != 'f')
        return ARGP_ERR_UNKNOWN;
    for (size_t i = 0; i < FORMATS; i++)
        if (!strcmp(argument, formats[i].name)) {
            options->format = &formats[i];
            return 0;
        }
    argp_error(state, "--format %s: not json, jsonl, csv, openmetrics or perfetto", argument);
    return 0;
}

/* ---- formats that follow the rows ---- */

struct exporting {
    const struct mhcs_row_format *format;
    void *state;
    struct mhcs_origin origin;
    bool in_file; /* format->file() has been called */
    struct mhcs_row_reader rows;
    const char *missing; /* column that a batch lacks */
};

static int begin_file(struct exporting *exporting)
{
    const bool is_new = !exporting->in_file;

    exporting->in_file = true;
    return is_new && exporting->format->file
               ? exporting->format->file(stdout, exporting->state, &exporting->origin)
               : 0;
}

static int take_facts(void *context, const char *json)
{
    struct exporting *exporting = context;

    mhcs_origin_add(&exporting->origin, json);
    return 0;
}

static int take_batch(void *context, const struct mhcs_batch *batch)
{
    struct exporting *exporting = context;
    int ret;

    exporting->missing = mhcs_rows_bind(&exporting->rows, batch);
    if (exporting->missing)
        return -EINVAL;
    ret = begin_file(exporting);
    if (!ret)
        ret = exporting->format->batch(stdout, exporting->state, &exporting->origin,
                                       &exporting->rows, batch->rows);
    return ret ? ret : ferror(stdout) ? -EPIPE : 0;
}

static int export_file(struct exporting *exporting, struct mhcs_scan *scan, const char *name,
                       bool salvage)
{
    const struct mhcs_scan_calls calls = {take_batch, take_facts, exporting};
    int ret;

    exporting->origin = (struct mhcs_origin){0};
    exporting->in_file = false;
    exporting->missing = NULL;
    ret = mhcs_scan_file(scan, name, salvage, &calls);
    if (ret == -EINVAL && exporting->missing) {
        scan->unreadable = true;
        snprintf(scan->why, sizeof(scan->why), "not a trace of rows: it has no column %s",
                 exporting->missing);
        ret = 0;
    }
    if (!ret && exporting->in_file && exporting->format->end_file)
        ret = exporting->format->end_file(stdout, exporting->state);
    return ret;
}

static int export_files(struct exporting *exporting, struct mhcs_report *report, bool salvage)
{
    const struct mhcs_row_format *format = exporting->format;
    int ret = format->begin ? format->begin(stdout, exporting->state) : 0;

    for (size_t i = 0; i < report->files.count && !ret; i++) {
        struct mhcs_scan *scan = &report->scan[i];

        ret = export_file(exporting, scan, report->files.name[i], salvage);
        report->damaged += mhcs_scan_bad(scan);
        report->torn += mhcs_scan_torn(scan);
    }
    if (!ret && format->end)
        ret = format->end(stdout, exporting->state);
    return ret;
}

static enum mhcs_exit conclude(const struct mhcs_report *report)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < report->files.count; i++)
        rows += report->scan[i].rows;
    mhcs_report_troubles(stderr, report);
    if (rows == 0)
        fputs("mhcshadow-report: no row was exported, for there is none\n", stderr);
    return rows == 0 || report->damaged > 0 ? MHCS_EXIT_DAMAGED : MHCS_EXIT_FINE;
}

static enum mhcs_exit export_rows(const struct mhcs_row_format *format,
                                  const struct mhcs_options *options)
{
    struct exporting *exporting = calloc(1, sizeof(*exporting));
    void *state = calloc(1, format->state_size + 1);
    struct mhcs_report report = {0};
    enum mhcs_exit code = mhcs_files_expand(&report.files, options->paths, options->path_count);
    int ret = -ENOMEM;

    if (code)
        goto out;
    report.scan = calloc(report.files.count + 1, sizeof(*report.scan));
    if (exporting && state && report.scan) {
        exporting->format = format;
        exporting->state = state;
        ret = export_files(exporting, &report, options->salvage);
        if (format->free)
            format->free(state);
    }
    if (ret == -ENOMEM)
        fprintf(stderr, "mhcshadow-report: %s\n", strerror(-ret));
    code = ret ? MHCS_EXIT_DAMAGED : conclude(&report); /* main() tells of a failed write */
out:
    free(report.scan);
    mhcs_files_free(&report.files);
    free(state);
    free(exporting);
    return code;
}

/* ---- formats of the whole report ---- */

static enum mhcs_exit export_report(const struct format *format, const struct mhcs_options *options)
{
    struct mhcs_report report;
    enum mhcs_exit code = mhcs_report_read(&report, options);

    if (code == MHCS_EXIT_FINE) {
        mhcs_report_troubles(stderr, &report);
        if (format->report(stdout, &report)) {
            fputs("mhcshadow-report: out of memory\n", stderr);
            code = MHCS_EXIT_DAMAGED;
        } else if (report.damaged > 0 || report.collect->rows == 0) {
            code = MHCS_EXIT_DAMAGED;
        }
    }
    mhcs_report_free(&report);
    return code;
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct export_options own = {.format = &formats[0]};
    struct mhcs_options options;

    mhcs_options_parse(&mhcs_verb_export, argc, argv, &options, &own);
    options.extras.samples = own.format->report != NULL;
    return own.format->rows ? export_rows(own.format->rows, &options)
                            : export_report(own.format, &options);
}

const struct mhcs_verb mhcs_verb_export = {
    .about = "write the report or the rows in a format for other programs",
    .notes = "What is wrong with traces goes to standard error. Rows are written as they are read: "
             "memory does not grow with them.",
    .exits = "Exit status: 0 exported, whatever the verdict, which is in json and openmetrics; 2 "
             "usage or unreadable path; 3 damaged trace, or no row.",
    .example = "--format=csv /var/tmp/mhc > rows.csv",
    .options = option_list,
    .parse = parse,
    .run = run,
};
