/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain thread does for one engine. */
#ifndef MHCS_SERVE_H
#define MHCS_SERVE_H

#include "shadow/book.h"

/* Launches the pipeline behind each posted snapshot, polls what is in flight, books what is
 * through. True: something was finished. */
bool mhcs_serve(struct mhcs_book *book, struct mhcs_engine *engine);

/* Counts what is in flight as lost. The slots stay with the engine: nothing tells when a failed
 * context stops to write to them. */
void mhcs_serve_lose(struct mhcs_engine *engine, enum mhcs_reason why);

#endif
