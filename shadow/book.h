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
#include "shadow/places.h"
#include "shadow/reason.h"
#include "shadow/sites.h"
#include "shadow/trace/trace.h"

struct mhcs_book { /* zero-initialise */
    struct mhcs_trace_writer *writer;
    struct mhcs_model *model; /* MHCSHADOW_MODEL; NULL: none, or it can't be read */
    char *weights;            /* one fn of it, for the host back end; NULL: not yet needed */
    struct mhcs_sites *sites;
    struct mhcs_places *places;
    struct mhcs_json new_sites, new_events; /* open arrays, or empty */
    uint64_t told[MHCS_COUNTERS];           /* counters as of the last counters frame */
    bool reason_told[MHCS_REASONS_COUNT];
    struct mhcs_bypasses bypasses;
    uint32_t bypasses_told;
    uint64_t checked, checked_cublas; /* samples; of these with a reference by cuBLAS */
    bool broken;                      /* the trace can't be written */
    bool model_failed; /* the checkpoint can't be read any more, which has been said */
};

void mhcs_book_armed(struct mhcs_book *book, const struct mhcs_engine *engine);
void mhcs_book_fallback(struct mhcs_book *book, const struct mhcs_engine *engine,
                        enum mhcs_mode mode, const char *why);
void mhcs_book_disarmed(struct mhcs_book *book, const struct mhcs_engine *engine);

/* Reads MHCSHADOW_MODEL, if it is set. Before anything else. */
void mhcs_book_open(struct mhcs_book *book);

/* Whose weights a slot's fingerprints are of; notes them if they are new. NULL: no trace can be
 * written, or no memory. */
const struct mhcs_site *mhcs_book_site(struct mhcs_book *book, const struct mhcs_slot *slot);

/* fn of the checkpoint's site to `to`, or into memory of the book's own. NULL: it can't be read. */
const char *mhcs_book_weights(struct mhcs_book *book, const struct mhcs_model_site *site, char *to);

/* Records the rows of a finished sample, whose site is known. `checks`: per row, or NULL. */
void mhcs_book_sample(struct mhcs_book *book, const struct mhcs_engine *engine,
                      const struct mhcs_slot *slot, const float *checks);

void mhcs_book_flush(struct mhcs_book *book);
void mhcs_book_close(struct mhcs_book *book);

/* In a forked child: leaves the parent's file and memory alone. */
void mhcs_book_forget(struct mhcs_book *book);

/* For the files of the book: creates the trace if need be; opens an event, to be ended by
 * mhcs_json_end_object(), or a site. */
bool mhcs_book_trace(struct mhcs_book *book);
struct mhcs_json *mhcs_book_begin_event(struct mhcs_book *book, const char *event);
struct mhcs_json *mhcs_book_begin_item(struct mhcs_json *json, const char *kind);
/* book_sites.c: what flush and the end do. */
void mhcs_book_note_findings(struct mhcs_book *book);
void mhcs_book_free_sites(struct mhcs_book *book);

#endif
