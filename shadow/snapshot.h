/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what a sampled GEMM touches into its slot, in stream order on the application's stream. */
#ifndef MHCS_SNAPSHOT_H
#define MHCS_SNAPSHOT_H

#include "shadow/engine.h"

/* False if an operand reaches beyond its CUDA allocation: a wrong guess of ours about a call must
 * not become an illegal address in the application's context. Three driver look-ups, or four. */
bool mhcs_snapshot_in_bounds(const struct mhcs_driver *driver, const struct mhcs_gemm *gemm,
                             bool with_old_c);

/* Tests build the library once with this set, to see that operands read later instead of in stream
 * order are caught. */
#ifndef MHCS_TEST_LATE_SNAPSHOT
#define MHCS_TEST_LATE_SNAPSHOT 0
#endif

/* The parameters of a snapshot of `parts` (enum mhcs_part bits) of slot->call; returns its number
 * of blocks, of MHCS_SNAPSHOT_THREADS. */
uint32_t mhcs_snapshot_params(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                              uint32_t parts, struct mhcs_snapshot_params *params);

/* Snapshots `parts` (enum mhcs_part bits) of slot->call on the stream of its GEMM. */
CUresult mhcs_snapshot(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                       uint32_t parts);

/* The last snapshot of a call: as above, and records slot->ready behind it. */
CUresult mhcs_snapshot_last(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                            uint32_t parts);

#endif
