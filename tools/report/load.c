/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all traces into one state, and tells what is wrong with them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/read.h"
#include "tools/report/report.h"
#include "tools/report/text.h"

/* What became of each file. */
static void note_scans(struct mhcs_report *report, const struct mhcs_reading *reading)
{
    report->damaged = report->torn = 0;
    for (size_t i = 0; i < report->files.count; i++) {
        struct mhcs_scan *scan = &report->scan[i];

        *scan = *mhcs_reading_scan(reading, i);
        if (scan->missing) {
            scan->unreadable = true;
            snprintf(scan->why, sizeof(scan->why),
                     "not a trace that can be judged: it has no column %s", scan->missing);
        }
        report->damaged += mhcs_scan_bad(scan);
        report->torn += mhcs_scan_torn(scan);
    }
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

static int note_processes(struct mhcs_report *report, const struct mhcs_reading *reading)
{
    report->process = calloc(report->files.count + 1, sizeof(*report->process));
    if (!report->process)
        return -ENOMEM;
    for (size_t i = 0; i < report->files.count; i++) {
        const struct mhcs_facts *facts = mhcs_reading_own_facts(reading, i);
        struct mhcs_process *process = &report->process[i];

        process->origin = *mhcs_reading_origin(reading, i);
        process->rows = mhcs_reading_scan(reading, i)->rows;
        process->counted = facts->counted;
        memcpy(process->counter, facts->counter, sizeof(process->counter));
    }
    qsort(report->process, report->files.count, sizeof(*report->process), compare_processes);
    return 0;
}

static int read_all(struct mhcs_report *report, const struct mhcs_options *options)
{
    struct mhcs_reading *reading =
        mhcs_reading_new(options->threads, options->salvage, true, false);
    int ret = reading ? mhcs_reading_extras(reading, &options->extras) : -ENOMEM;

    for (size_t i = 0; i < report->files.count && !ret; i++)
        ret = mhcs_reading_add(reading, report->files.name[i]);
    if (!ret)
        ret = mhcs_reading_run(reading);
    if (!ret)
        ret = mhcs_reading_collect(reading, report->collect);
    if (!ret)
        ret = mhcs_reading_facts(reading, &report->facts);
    if (!ret)
        ret = note_processes(report, reading);
    if (!ret)
        note_scans(report, reading);
    mhcs_reading_free(reading);
    return ret;
}

enum mhcs_exit mhcs_report_read(struct mhcs_report *ret_report, const struct mhcs_options *options)
{
    struct mhcs_report *report = ret_report;
    enum mhcs_exit code;
    int ret = -ENOMEM;

    *report = (struct mhcs_report){0};
    code = mhcs_files_expand(&report->files, options->paths, options->path_count);
    if (code)
        return code;
    report->scan = calloc(report->files.count + 1, sizeof(*report->scan));
    report->collect = mhcs_collect_new();
    if (report->scan && report->collect)
        ret = mhcs_collect_extras(report->collect, &options->extras);
    if (!ret)
        ret = read_all(report, options);
    if (!ret) {
        mhcs_collect_sort(report->collect);
        mhcs_facts_sort(&report->facts);
        ret = mhcs_conclude(report->collect, mhcs_facts_weights_differ(&report->facts),
                            &report->conclusion);
    }
    if (ret) {
        fprintf(stderr, "mhcshadow-report: %s\n", strerror(-ret));
        return MHCS_EXIT_DAMAGED;
    }
    return MHCS_EXIT_FINE;
}

enum mhcs_exit mhcs_report_load(struct mhcs_report *ret_report, const struct mhcs_options *options)
{
    struct mhcs_report *report = ret_report;
    const enum mhcs_exit code = mhcs_report_read(report, options);

    if (code || report->collect->rows > 0)
        return code;
    mhcs_report_troubles(stdout, report);
    mhcs_report_nothing(stdout, report);
    return MHCS_EXIT_DAMAGED;
}

void mhcs_report_free(struct mhcs_report *report)
{
    mhcs_conclusion_free(&report->conclusion);
    mhcs_facts_free(&report->facts);
    mhcs_collect_free(report->collect);
    free(report->process);
    free(report->scan);
    mhcs_files_free(&report->files);
}

enum mhcs_exit mhcs_report_exit(const struct mhcs_report *report)
{
    if (report->conclusion.status == MHCS_FAIL)
        return MHCS_EXIT_OVER;
    if (report->conclusion.status == MHCS_INSUFFICIENT || report->damaged > 0)
        return MHCS_EXIT_DAMAGED;
    return MHCS_EXIT_FINE;
}
