/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the trace share: scratch files, a small trace, and reading one to its end. */
#ifndef MHCS_TEST_TRACE_TEST_H
#define MHCS_TEST_TRACE_TEST_H

#include <limits.h>

#include "shadow/trace/trace.h"

struct bytes {
    uint8_t *data;
    size_t size;
};

/* A directory of its own below $TMPDIR; removed with all its files by scratch_remove(). */
void scratch_make(char dir[PATH_MAX]);
void scratch_remove(const char *dir);
struct bytes slurp(const char *path);
/* A file in memory with these bytes, open at its start. */
int memory_file(const uint8_t *data, size_t size);

/* Number of the one trace file in a directory of traces, its path in `path`; false: there is none.
 */
bool find_trace(const char *dir, char path[PATH_MAX]);

/* Row i of a series: call and row are i, the rest follows from it. The record's pointers stay valid
 * until the next call. */
const struct mhcs_record *series_record(int64_t i);

/* A trace of 5 rows in three batches with facts after the first, and where each frame of it ended:
 * edges[0] behind H and J, edges[SMALL_EDGES - 1] behind E. */
enum { SMALL_EDGES = 6, SMALL_ROWS = 5 };
struct bytes small_trace(size_t edges[SMALL_EDGES]);

/* Depends on every value and every null of the batch, and on nothing else. */
uint64_t digest_batch(const struct mhcs_batch *batch);

/* All events of a reading. */
enum { OUTCOME_EVENTS = 256 };
struct outcome {
    uint32_t events; /* EOF or DAMAGED is not counted */
    uint64_t rows;
    bool closed;
    struct mhcs_trace_item
        end; /* EOF or DAMAGED; .reason, .lost_rows, .dropped_samples of CLOSED */
    uint64_t digest[OUTCOME_EVENTS];              /* of what each event gave */
    struct mhcs_trace_damage gap[OUTCOME_EVENTS]; /* where it was a GAP */
    char why[160];
};
/* 0, or the error of opening. Looks at every value on the way. */
int read_bytes(const uint8_t *data, size_t size, bool salvage, struct outcome *ret);
int read_file(const char *path, bool salvage, struct outcome *ret);
int read_fd(int fd, bool salvage, struct outcome *ret);

#endif
