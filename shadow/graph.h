/* SPDX-License-Identifier: Apache-2.0 */
/* What interpose/ may ask of shadow/ about CUDA graphs, beside shadow.h.
 *
 * A mixing GEMM that is captured gets a node behind it: the snapshot kernel, told to copy nothing,
 * with the description of the GEMM for parameters (memo.h). Nothing is remembered on the side:
 * whatever becomes of the graph - discarded, cloned, put into another one - becomes of the node.
 * Where a graph is instantiated its nodes are found, disabled, and their GEMMs remembered for as
 * long as the executable graph lives (follow.h). Some of its launches have a few nodes point to
 * slots, enabled for that launch alone (replay.h).
 *
 * Handles are the driver's, which the runtime shares: stream, graph, exec are CUstream, CUgraph and
 * CUgraphExec. Any thread, unless CUDA itself wants calls for one object one after another. errno
 * is not kept.
 */
#ifndef MHCS_GRAPH_H
#define MHCS_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shadow/shadow.h"

/* ---- capture (capture.c) ---- */

/* Captures under way that were begun through the hooks; changed by the threads that begin and end
 * them, read (relaxed) at each mixing GEMM. */
extern atomic_int mhcs_captures;

static inline bool mhcs_capture_under_way(void)
{
    return __builtin_expect(atomic_load_explicit(&mhcs_captures, memory_order_relaxed) > 0, 0);
}

/* Before a capture is begun: arms the engine of the current context, which can't be done while the
 * thread captures. */
void mhcs_capture_begins(void);
/* It has begun on this stream. */
void mhcs_capture_began(void *stream);
/* The capture that a stream is in, 0: none. Unique in the life of the process. */
uint64_t mhcs_capture_id(void *stream);
/* After an attempt to end that capture of the stream, whatever came of it. */
void mhcs_capture_ended(void *stream, uint64_t id);

enum mhcs_capture {
    MHCS_CAPTURE_NONE,     /* the stream is not captured: an ordinary call */
    MHCS_CAPTURE_DECLINED, /* it is, and nothing was inserted; counted */
    MHCS_CAPTURE_TAKEN,    /* mhcs_shadow_after() must follow */
};

/* In place of mhcs_shadow_before(), for each mixing GEMM while a capture is under way. */
enum mhcs_capture mhcs_shadow_capture(struct mhcs_sample *sample, const struct mhcs_gemm *gemm);

/* ---- executable graphs (follow.c) ---- */

/* Snapshot nodes inserted so far; relaxed. While it is 0, no graph holds any. */
extern atomic_uint_fast64_t mhcs_graph_nodes;
/* Executable graphs that are followed; relaxed. */
extern atomic_int mhcs_graphs_followed;

/* `graph` was instantiated as, or has updated, `exec`. */
void mhcs_graph_instantiated(void *exec, void *graph);
void mhcs_graph_updated(void *exec, void *graph);

/* Before the application destroys a graph. True: an executable graph needs its nodes, so `destroy`
 * is called when the last one is destroyed, and the application must not. */
typedef int mhcs_graph_destroy(void *graph);
bool mhcs_graph_keep(void *graph, mhcs_graph_destroy *destroy);
/* Before the application destroys an executable graph; and after, with what that returned. */
struct mhcs_graph_left {
    void *graph; /* to be destroyed; NULL: none */
    mhcs_graph_destroy *destroy;
};
struct mhcs_graph_left mhcs_graph_exec_destroyed(void *exec);

/* ---- launches (replay.c) ---- */

#define MHCS_REPLAY_SITES 4 /* GEMMs of one launch that are sampled at most */

/* A launch between its two halves; on the caller's stack, opaque to it. */
struct mhcs_replay {
    struct mhcs_exec *exec; /* NULL: not followed */
    void *stream;
    uint32_t count;
    struct {
        uint32_t slot, site;
    } taken[MHCS_REPLAY_SITES];
};

void mhcs_replay_before(struct mhcs_replay *replay, void *exec, void *stream);
/* `launched` false: the launch returned an error. */
void mhcs_replay_after(struct mhcs_replay *replay, bool launched);

#endif
