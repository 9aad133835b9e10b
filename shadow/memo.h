/* SPDX-License-Identifier: Apache-2.0 */
/* A captured GEMM as the parameters of its snapshot node.
 *
 * The node copies nothing (parts 0), so that it does no harm wherever the graph ends up and whoever
 * launches it; the kernel looks at no other parameter then, and they hold what a later snapshot
 * needs to know. cuGraphKernelNodeGetParams() gives them back, of clones and child graphs too.
 */
#ifndef MHCS_MEMO_H
#define MHCS_MEMO_H

#include "shadow/shadow.h"

struct mhcs_memo {
    struct mhcs_gemm gemm; /* its alpha and beta are device addresses, or NULL */
    float alpha, beta;     /* valid unless gemm.scalars_on_device */
    uint32_t parts;        /* enum mhcs_part bits that this node is to copy, when enabled */
    uint32_t parts_early;  /* those of the node before the GEMM; 0: there is none */
    uint64_t pair;         /* the same number in the two nodes of one GEMM, and in no others */
    uint64_t engine;       /* key of the engine whose kernel the node runs */
};

void mhcs_memo_write(struct mhcs_snapshot_params *params, const struct mhcs_memo *memo);
void mhcs_memo_read(struct mhcs_memo *memo, const struct mhcs_snapshot_params *params);

#endif
