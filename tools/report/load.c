/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all traces into one state, and tells what is wrong with them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/read.h"
#include "tools/report/report.h"
#include "tools/report/text.h"

/* ---- reading, perhaps more than once ---- */

static bool is_known(const struct mhcs_loading *loading, const char *name)
{
    for (size_t i = 0; i < loading->files.count; i++)
        if (!strcmp(loading->files.name[i], name))
            return true;
    return false;
}

/* Files that were not there before. Those that are gone stay: their rows have been read. */
static int add_files(struct mhcs_loading *loading, const struct mhcs_files *files)
{
    int ret = 0;

    for (size_t i = 0; i < files->count && !ret; i++) {
        if (is_known(loading, files->name[i]))
            continue;
        ret = mhcs_files_add(&loading->files, files->name[i]);
        if (!ret)
            ret = mhcs_reading_add(loading->reading, loading->files.name[loading->files.count - 1]);
    }
    return ret;
}

static int compare_scans(const void *left, const void *right)
{
    return strcmp(((const struct mhcs_scan *)left)->name, ((const struct mhcs_scan *)right)->name);
}

/* What became of each file, by name. */
static int note_scans(struct mhcs_report *report, const struct mhcs_loading *loading)
{
    int ret = 0;

    report->scan = calloc(loading->files.count + 1, sizeof(*report->scan));
    if (!report->scan)
        return -ENOMEM;
    for (size_t i = 0; i < loading->files.count; i++)
        report->scan[i] = *mhcs_reading_scan(loading->reading, i);
    qsort(report->scan, loading->files.count, sizeof(*report->scan), compare_scans);
    for (size_t i = 0; i < loading->files.count && !ret; i++) {
        struct mhcs_scan *scan = &report->scan[i];

        ret = mhcs_files_add(&report->files, scan->name);
        if (scan->missing) {
            scan->unreadable = true;
            snprintf(scan->why, sizeof(scan->why),
                     "not a trace that can be judged: it has no column %s", scan->missing);
        }
        report->damaged += mhcs_scan_bad(scan);
        report->torn += mhcs_scan_torn(scan);
    }
    for (size_t i = 0; i < report->files.count; i++)
        report->scan[i].name = report->files.name[i];
    return ret;
}

/* By all that a process says, so that names of files don't matter. */
static int compare_processes(const void *left, const void *right)
{
    const struct mhcs_process *a = left, *b = right;
    int order = strverscmp(a->origin.host, b->origin.host);

    if (!order)
        order = (a->origin.pid > b->origin.pid) - (a->origin.pid < b->origin.pid);
    if (!order)
        order = strcmp(a->origin.label, b->origin.label);
    if (!order)
        order = (a->rows > b->rows) - (a->rows < b->rows);
    return order ? order : memcmp(a->counter, b->counter, sizeof(a->counter));
}

static int note_processes(struct mhcs_report *report, const struct mhcs_loading *loading)
{
    const struct mhcs_reading *reading = loading->reading;

    report->process = calloc(loading->files.count + 1, sizeof(*report->process));
    if (!report->process)
        return -ENOMEM;
    for (size_t i = 0; i < loading->files.count; i++) {
        const struct mhcs_facts *facts = mhcs_reading_own_facts(reading, i);
        struct mhcs_process *process = &report->process[i];

        process->origin = *mhcs_reading_origin(reading, i);
        process->rows = mhcs_reading_scan(reading, i)->rows;
        process->counted = facts->counted;
        memcpy(process->counter, facts->counter, sizeof(process->counter));
    }
    qsort(report->process, loading->files.count, sizeof(*report->process), compare_processes);
    return 0;
}

static int read_report(struct mhcs_loading *loading, struct mhcs_report *report)
{
    int ret = mhcs_reading_run(loading->reading);

    report->collect = mhcs_collect_new();
    if (!report->collect)
        return -ENOMEM;
    if (!ret)
        ret = mhcs_collect_extras(report->collect, &loading->options->extras);
    if (!ret)
        ret = mhcs_reading_collect(loading->reading, report->collect);
    if (!ret)
        ret = mhcs_reading_facts(loading->reading, &report->facts);
    if (!ret)
        ret = note_processes(report, loading);
    if (!ret)
        ret = note_scans(report, loading);
    if (ret)
        return ret;
    mhcs_collect_sort(report->collect);
    mhcs_facts_sort(&report->facts);
    return mhcs_conclude(report->collect, mhcs_facts_weights_differ(&report->facts),
                         &report->conclusion);
}

enum mhcs_exit mhcs_loading_begin(struct mhcs_loading *ret_loading,
                                  const struct mhcs_options *options, bool again)
{
    *ret_loading = (struct mhcs_loading){
        .options = options,
        .reading = mhcs_reading_new(options->threads, options->salvage, true, again),
    };
    if (ret_loading->reading && !mhcs_reading_extras(ret_loading->reading, &options->extras))
        return MHCS_EXIT_FINE;
    fputs("mhcshadow-report: out of memory\n", stderr);
    return MHCS_EXIT_DAMAGED;
}

enum mhcs_exit mhcs_loading_next(struct mhcs_loading *loading, struct mhcs_report *ret_report)
{
    const struct mhcs_options *options = loading->options;
    struct mhcs_files files;
    enum mhcs_exit code;
    int ret;

    *ret_report = (struct mhcs_report){0};
    code = mhcs_files_expand(&files, options->paths, options->path_count);
    if (code)
        return code;
    ret = add_files(loading, &files);
    mhcs_files_free(&files);
    if (!ret)
        ret = read_report(loading, ret_report);
    if (!ret)
        return MHCS_EXIT_FINE;
    fprintf(stderr, "mhcshadow-report: %s\n", strerror(-ret));
    return MHCS_EXIT_DAMAGED;
}

void mhcs_loading_end(struct mhcs_loading *loading)
{
    mhcs_reading_free(loading->reading);
    mhcs_files_free(&loading->files);
}

/* ---- reports ---- */

enum mhcs_exit mhcs_report_read(struct mhcs_report *ret_report, const struct mhcs_options *options)
{
    struct mhcs_loading loading;
    enum mhcs_exit code = mhcs_loading_begin(&loading, options, false);

    *ret_report = (struct mhcs_report){0};
    if (code == MHCS_EXIT_FINE)
        code = mhcs_loading_next(&loading, ret_report);
    ret_report->read = loading.files; /* what the worst rows say of their trace */
    loading.files = (struct mhcs_files){0};
    mhcs_loading_end(&loading);
    return code;
}

enum mhcs_exit mhcs_report_load(struct mhcs_report *ret_report, const struct mhcs_options *options)
{
    const enum mhcs_exit code = mhcs_report_read(ret_report, options);

    return code == MHCS_EXIT_FINE && ret_report->collect->rows == 0
               ? mhcs_report_nothing(stdout, ret_report)
               : code;
}

void mhcs_report_free(struct mhcs_report *report)
{
    mhcs_conclusion_free(&report->conclusion);
    mhcs_facts_free(&report->facts);
    mhcs_collect_free(report->collect);
    free(report->process);
    free(report->scan);
    mhcs_files_free(&report->files);
    mhcs_files_free(&report->read);
}

enum mhcs_exit mhcs_report_exit(const struct mhcs_report *report)
{
    if (report->conclusion.status == MHCS_FAIL)
        return MHCS_EXIT_OVER;
    if (report->conclusion.status == MHCS_INSUFFICIENT || report->damaged > 0)
        return MHCS_EXIT_DAMAGED;
    return MHCS_EXIT_FINE;
}
