/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: what is submitted to a captured stream becomes a node of a graph.
 *
 * The rules are those of the programming guide ("Prohibited and Unhandled Operations") and of
 * cuThreadExchangeStreamCaptureMode. A call that breaks one is a counted fault: a line on stderr
 * that names the call, the error it returns (900 to 908) and the captures it has invalidated. So a
 * test knows from simcuda_fault_count(), or from silence on stderr, that none was made;
 * SIMCUDA_ABORT stops in the call. Asking whether a stream is captured breaks no rule.
 *
 * Potentially unsafe, so forbidden as the thread's and the captures' modes say: allocating and
 * freeing device and pinned memory, loading and unloading modules, waiting for and querying
 * streams, events and contexts, synchronous copies. The real driver may be more lenient.
 */
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "graph.h"

struct sim_capture {
    struct sim_capture *next; /* in sim.captures */
    uint64_t id;
    struct sim_graph *graph;
    bool into_given; /* cuStreamBeginCaptureToGraph: the graph is the application's */
    CUstreamCaptureMode mode;
    uint64_t thread;
    CUstream origin;
    bool invalid;
};

CUresult sim_capture_begin(CUstream stream, struct sim_graph *graph, const struct sim_nodes *after,
                           CUstreamCaptureMode mode);
CUresult sim_capture_end(CUstream stream, struct sim_graph **ret_graph);

/* Puts the work on the stream: into its graph if it is captured, else into its queue. Takes over
 * the argument, also on failure. *ret_task stays NULL for a node. */
CUresult sim_submit(CUstream stream, const struct sim_work *work, struct sim_task **ret_task);
CUresult sim_submit_record(CUstream stream, CUevent event, bool external);
CUresult sim_submit_wait(CUstream stream, CUevent event, bool external);
/* Adds a node behind the stream's tips and makes it the only one. */
CUresult sim_capture_node(CUstream stream, CUgraphNodeType type, struct sim_node **ret_node);

/* Success, or the error that `call` returns because of a capture, complained about. */
CUresult sim_capture_permits_unsafe(const char *call);
/* ... that puts work on the stream. */
CUresult sim_capture_permits_use(const char *call, CUstream stream);
/* ... that waits for the stream, or asks how far it is. */
CUresult sim_capture_permits_wait(const char *call, CUstream stream);
CUresult sim_capture_permits_event_wait(const char *call, CUevent event);
CUresult sim_capture_permits_context_wait(const char *call, CUcontext context);

/* Is a blocking stream of the context captured, so that the legacy stream can't be used? */
bool sim_capture_blocks_legacy(CUcontext context);
/* The stream, or all of the context's, is going away. */
void sim_capture_leave(CUstream stream);

#endif
