/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain thread writes down: records, sites, events and counters, into the trace and, where
 * a person should know now, into the log. One thread.
 *
 * The trace file is made at the first record, or at the first flush that has calls to tell of that
 * were not sampled. Where it can't be written the log says why and what to do, sampling stops, and
 * the application runs on.
 */
#ifndef MHCS_BOOK_H
#define MHCS_BOOK_H

#include "shadow/engine.h"
#include "shadow/json.h"
#include "shadow/reason.h"
#include "shadow/sites.h"
#include "shadow/trace/trace.h"

struct mhcs_book { /* zero-initialise */
    struct mhcs_trace_writer *writer;
    struct mhcs_sites *sites;
    struct mhcs_json new_sites, new_events; /* open arrays, or empty */
    uint64_t told[MHCS_COUNTERS];           /* counters as of the last counters frame */
    bool reason_told[MHCS_REASONS_COUNT];
    uint64_t checked;
    bool broken; /* the trace can't be written */
};

void mhcs_book_armed(struct mhcs_book *book, const struct mhcs_engine *engine);
void mhcs_book_disarmed(struct mhcs_book *book, const struct mhcs_engine *engine);

/* Records the rows of a finished sample. `checks`: per row, or NULL. */
void mhcs_book_sample(struct mhcs_book *book, const struct mhcs_engine *engine,
                      const struct mhcs_slot *slot, const float *checks);

void mhcs_book_flush(struct mhcs_book *book);
void mhcs_book_close(struct mhcs_book *book);

/* In a forked child: leaves the parent's file alone. */
void mhcs_book_forget(struct mhcs_book *book);

#endif
