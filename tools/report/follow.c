/* SPDX-License-Identifier: Apache-2.0 */
/* A report that keeps up with traces that are being written. Looking once a second, as often as the
 * writer writes, also works where a network file system tells of no changes. */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "tools/report/report.h"

/* Grows with everything that is read. */
static uint64_t count_items(const struct mhcs_report *report)
{
    uint64_t items = report->files.count;

    for (size_t i = 0; i < report->files.count; i++) {
        const struct mhcs_scan *scan = &report->scan[i];

        items += scan->batches + scan->facts + scan->gaps + scan->closed + scan->damaged;
    }
    return items;
}

/* True if the user has had enough. */
static bool wait_a_second(const sigset_t *signals)
{
    const struct timespec second = {.tv_sec = 1};
    int signal;

    do
        signal = sigtimedwait(signals, NULL, &second);
    while (signal < 0 && errno == EINTR);
    return signal > 0;
}

static void start_page(bool first)
{
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    else if (!first)
        fputc('\n', stdout);
}

enum mhcs_exit mhcs_follow(const struct mhcs_options *options,
                           enum mhcs_exit (*print)(const struct mhcs_report *report))
{
    struct mhcs_loading loading;
    enum mhcs_exit code = mhcs_loading_begin(&loading, options, true), shown = code;
    uint64_t items = 0;
    bool first = true, last = false;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    while (code == MHCS_EXIT_FINE) {
        struct mhcs_report report;

        code = mhcs_loading_next(&loading, &report);
        /* While there is nothing to show the signals end the program as they always do. */
        sigprocmask(SIG_BLOCK, &signals, NULL);
        if (code == MHCS_EXIT_FINE && (first || count_items(&report) != items)) {
            items = count_items(&report);
            start_page(first);
            shown = print(&report);
            first = false;
        }
        mhcs_report_free(&report);
        if (last || fflush(stdout))
            break;
        last = code == MHCS_EXIT_FINE && wait_a_second(&signals);
    }
    mhcs_loading_end(&loading);
    return code == MHCS_EXIT_FINE ? shown : code;
}
