/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report/progress.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/report/text.h"

/* Before the first line, and from one to the next. */
#define PERIOD_NS INT64_C(200000000)

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void mhcs_progress_expect(struct mhcs_progress *progress, const char *file)
{
    struct stat status;

    if (!stat(file, &status) && S_ISREG(status.st_mode))
        progress->total += (uint64_t)status.st_size;
}

void mhcs_progress_begin(struct mhcs_progress *progress)
{
    progress->begun = now();
    progress->shown = 0;
}

void mhcs_progress_add(struct mhcs_progress *progress, uint64_t bytes, uint64_t records)
{
    atomic_fetch_add_explicit(&progress->done, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&progress->records, records, memory_order_relaxed);
}

void mhcs_progress_show(struct mhcs_progress *progress)
{
    const int64_t time = now();
    const double done = (double)atomic_load_explicit(&progress->done, memory_order_relaxed);
    const double records = (double)atomic_load_explicit(&progress->records, memory_order_relaxed);
    char bytes[MHCS_NUMBER_BYTES], rows[MHCS_NUMBER_BYTES], rate[MHCS_NUMBER_BYTES];

    if (time - (progress->shown ? progress->shown : progress->begun) < PERIOD_NS ||
        !isatty(STDERR_FILENO))
        return;
    progress->shown = time;
    fprintf(stderr, "\rread %sB", mhcs_text_scaled(done, bytes));
    if (progress->total > 0 && done <= (double)progress->total)
        fprintf(stderr, " (%.0f %%)", 100 * done / (double)progress->total);
    fprintf(stderr, ", %s rows, %s rows/s\033[K", mhcs_text_scaled(records, rows),
            mhcs_text_scaled(records / ((double)(time - progress->begun) / 1e9), rate));
}

void mhcs_progress_end(struct mhcs_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
}
