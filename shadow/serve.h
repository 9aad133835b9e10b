/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain thread does for one engine. */
#ifndef MHCS_SERVE_H
#define MHCS_SERVE_H

#include "shadow/book.h"

/* Launches the pipeline behind each posted snapshot, polls what is in flight, books what is
 * through; gives the engine back if its context is gone, which it finds out where there is work, or
 * if it is to look. True: something was finished. */
bool mhcs_serve(struct mhcs_book *book, struct mhcs_engine *engine, bool look);

/* Counts what is in flight as lost; returns how much. The slots stay with the engine: nothing tells
 * when a failed context stops to write to them. */
uint32_t mhcs_serve_lose(struct mhcs_engine *engine, enum mhcs_reason why);

#endif
