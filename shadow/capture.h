/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of a captured GEMM, for mhcs_shadow_after(). */
#ifndef MHCS_CAPTURE_H
#define MHCS_CAPTURE_H

#include "shadow/engine.h"
#include "shadow/graph.h"
#include "shadow/reason.h"

/* Inserts the node behind the GEMM, and counts it. */
enum mhcs_reason mhcs_capture_after(struct mhcs_engine *engine, const struct mhcs_sample *sample,
                                    bool launched);

/* In a forked child: the parent's captures are not ours. */
void mhcs_captures_forget(void);

#endif
