/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what a trace holds, and what is wrong with it. */
#include "tools/report/scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/report/input.h"

struct mhcs_trace_reader *mhcs_scan_open(struct mhcs_scan *scan, bool salvage, int *ret_error)
{
    struct mhcs_trace_reader *reader = NULL;
    const int error = strcmp(scan->name, MHCS_STDIN_NAME)
                          ? mhcs_trace_open(&reader, scan->name, salvage, scan->why)
                          : mhcs_trace_open_fd(&reader, STDIN_FILENO, salvage, scan->why);

    scan->unreadable = error < 0;
    *ret_error = error == -ENOMEM ? error : 0;
    return error < 0 ? NULL : reader;
}

static void note_damage(struct mhcs_scan *scan, const struct mhcs_trace_damage *damage)
{
    if (!scan->damaged)
        scan->damage = *damage;
    scan->damaged = true;
    scan->bytes_lost += damage->dropped;
    scan->batches_lost += damage->lost_batches;
}

bool mhcs_scan_item(struct mhcs_scan *scan, const struct mhcs_trace_item *item)
{
    switch (item->event) {
    case MHCS_TRACE_BATCH:
        scan->batches++;
        scan->rows += item->packed.rows;
        scan->dropped_samples = item->dropped_samples;
        return true;
    case MHCS_TRACE_FACTS:
        scan->facts++;
        return true;
    case MHCS_TRACE_CLOSED:
        scan->closed = true;
        scan->reason = item->reason;
        scan->dropped_samples = item->dropped_samples;
        return true;
    case MHCS_TRACE_GAP:
        note_damage(scan, &item->damage);
        scan->gaps++;
        return true;
    case MHCS_TRACE_DAMAGED:
        note_damage(scan, &item->damage);
        return false;
    case MHCS_TRACE_EOF:
        return false;
    }
    return false;
}

void mhcs_scan_fail(struct mhcs_scan *scan, int error)
{
    scan->unreadable = true;
    snprintf(scan->why, sizeof(scan->why), "%s", strerror(-error));
}

bool mhcs_scan_torn(const struct mhcs_scan *scan)
{
    return scan->damaged && scan->damage.kind == MHCS_DAMAGE_TORN;
}

bool mhcs_scan_bad(const struct mhcs_scan *scan)
{
    return scan->unreadable || (scan->damaged && !mhcs_scan_torn(scan));
}

static int call(const struct mhcs_scan_calls *calls, const struct mhcs_trace_item *item)
{
    if (item->event == MHCS_TRACE_BATCH && calls->batch)
        return calls->batch(calls->context, &item->batch);
    if (item->event == MHCS_TRACE_FACTS && calls->facts)
        return calls->facts(calls->context, item->facts);
    return 0;
}

int mhcs_scan_file(struct mhcs_scan *ret_scan, const char *name, bool salvage,
                   const struct mhcs_scan_calls *calls)
{
    struct mhcs_scan *scan = ret_scan;
    struct mhcs_trace_reader *reader;
    struct mhcs_trace_item item;
    bool more = true;
    int ret;

    *scan = (struct mhcs_scan){.name = name};
    reader = mhcs_scan_open(scan, salvage, &ret);
    while (reader && more && !ret) {
        ret = mhcs_trace_next(reader, &item);
        if (ret && ret != -ENOMEM) {
            mhcs_scan_fail(scan, ret);
            ret = 0;
            break;
        }
        if (!ret) {
            more = mhcs_scan_item(scan, &item);
            ret = call(calls, &item);
        }
    }
    mhcs_trace_reader_free(reader);
    return ret;
}

const char *mhcs_scan_end(const struct mhcs_scan *scan)
{
    if (!scan->closed)
        return "not closed: the process is running or was killed";
    switch (scan->reason) {
    case MHCS_END_EXIT:
        return "closed at exit";
    case MHCS_END_SIZE_CAP:
        return "closed at its size limit (MHCSHADOW_MAX_MB): later samples are missing";
    case MHCS_END_NO_SPACE:
        return "closed because the disk was full: later samples are missing";
    case MHCS_END_DISABLED:
        return "closed because tracing was switched off";
    case MHCS_END_IO_ERROR:
        return "closed after a write error: later samples are missing";
    }
    return "closed for a reason this version does not know";
}
