/* SPDX-License-Identifier: Apache-2.0 */
/* Decode passes, as sglang runs them with CUDA graphs.
 *
 * A pass reads buffers that never move, to which its rows of x are brought before, and has every x
 * and C in one place that the next call reuses at once, behind the call and inside of the graph.
 * Router gates run beside, on a forked stream. One graph serves each number of rows of a list, and
 * a pass takes the smallest that holds its tokens: the rest is zero, or repeats one row, or is what
 * an earlier pass left there. A graph is destroyed as soon as it is instantiated, as PyTorch does.
 */
#ifndef DEMO_DECODE_H
#define DEMO_DECODE_H

#include "pass.h"

/* Of one lane. In graphs: runs each size once and captures it, the largest first. */
struct demo_decode *demo_decode_new(struct demo_forward *f, struct demo_lane *lane, int tokens_max);
void demo_decode_free(struct demo_decode *d); /* NULL is fine */

/* Rows of a pass over so many tokens. */
int demo_decode_rows(const struct demo_forward *f, int tokens);

/* Queues one pass; the lane's last one must have been collected. */
void demo_decode_pass(struct demo_decode *d, int tokens);

#endif
