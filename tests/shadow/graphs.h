/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs of known GEMMs (work.h), as an application makes them under the hooks. Aborts the
 * child where CUDA fails. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include <cuda.h>

#include "work.h"

void graphs_begin(CUstream stream, CUstreamCaptureMode mode);
CUgraph graphs_end(CUstream stream);
CUgraphExec graphs_instantiate(CUgraph graph);
CUresult graphs_update(CUgraphExec exec, CUgraph graph);
void graphs_destroy(CUgraph graph);
void graphs_destroy_exec(CUgraphExec exec);
void graphs_launch(CUgraphExec exec, CUstream stream);

/* Calls `first` to `first` + count - 1 of the work, captured on its stream. */
CUgraph graphs_of_calls(struct work *work, uint32_t first, uint32_t count);

/* Launches, and waits until the device is through and every slot is free again. */
void graphs_launch_and_wait(CUgraphExec exec, CUstream stream);

/* Graphs that graphs_destroy() and graphs_destroy_exec() have really destroyed. */
unsigned graphs_destroyed(void);

#endif
