/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all traces into one state, and tells what is wrong with them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/report/rows.h"
#include "tools/report/text.h"

struct reading {
    struct mhcs_report *report;
    struct mhcs_row_reader rows;
    const char *missing; /* column that a batch lacks */
};

static int take_batch(void *context, const struct mhcs_batch *batch)
{
    struct reading *reading = context;
    int ret = 0;

    reading->missing = mhcs_rows_bind(&reading->rows, batch);
    if (reading->missing)
        return -EINVAL;
    for (uint32_t i = 0; i < batch->rows && !ret; i++)
        ret = mhcs_collect_row(reading->report->collect, mhcs_rows_get(&reading->rows, i));
    return ret;
}

static int take_facts(void *context, const char *json)
{
    struct reading *reading = context;

    return mhcs_facts_add(&reading->report->facts, json);
}

static int read_file(struct reading *reading, struct mhcs_scan *scan, const char *name,
                     bool salvage)
{
    const struct mhcs_scan_calls calls = {take_batch, take_facts, reading};
    int ret;

    reading->missing = NULL;
    ret = mhcs_scan_file(scan, name, salvage, &calls);
    mhcs_facts_end_file(&reading->report->facts);
    if (ret == -EINVAL && reading->missing) {
        scan->unreadable = true;
        snprintf(scan->why, sizeof(scan->why),
                 "not a trace that can be judged: it has no column %s", reading->missing);
        ret = 0;
    }
    return ret;
}

static int read_all(struct mhcs_report *report, bool salvage)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    int ret = reading ? 0 : -ENOMEM;

    for (size_t i = 0; i < report->files.count && !ret; i++) {
        struct mhcs_scan *scan = &report->scan[i];

        reading->report = report;
        ret = read_file(reading, scan, report->files.name[i], salvage);
        if (scan->damaged && scan->damage.kind == MHCS_DAMAGE_TORN)
            report->torn++;
        else
            report->damaged += scan->damaged || scan->unreadable;
    }
    free(reading);
    return ret;
}

enum mhcs_exit mhcs_report_load(struct mhcs_report *ret_report, const struct mhcs_options *options)
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
        ret = read_all(report, options->salvage);
    if (!ret) {
        mhcs_collect_sort(report->collect);
        mhcs_facts_sort(&report->facts);
        ret = mhcs_conclude(report->collect, report->facts.weights.count > 0, &report->conclusion);
    }
    if (ret) {
        fprintf(stderr, "mhcshadow-report: %s\n", strerror(-ret));
        return MHCS_EXIT_DAMAGED;
    }
    if (report->collect->rows > 0)
        return MHCS_EXIT_FINE;
    mhcs_report_troubles(stdout, report);
    mhcs_report_nothing(stdout, report);
    return MHCS_EXIT_DAMAGED;
}

void mhcs_report_free(struct mhcs_report *report)
{
    mhcs_conclusion_free(&report->conclusion);
    mhcs_facts_free(&report->facts);
    mhcs_collect_free(report->collect);
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
