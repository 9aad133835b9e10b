/* SPDX-License-Identifier: Apache-2.0 */
/* Private door of the simulated libcuda.so.1 for its siblings (libcudart, libcublas) and for tests.
 *
 * The driver API is the public one (cuda.h); api_list.h says which functions there are.
 * Environment:
 *
 *   SIMCUDA_ORDER    lazy (default), random:SEED, eager, threads, threads:SEED: see order.c
 *   SIMCUDA_DEVICES  number of devices (1)
 *   SIMCUDA_MEM_MB   memory of each (8192); pages that nobody touches cost nothing
 *   SIMCUDA_CC       compute capability (9.0); the fatbin's best PTX for it is taken
 *   SIMCUDA_DRIVER   driver version (13000), to see an older one
 *   SIMCUDA_DEFECT   a planted defect of the simulated cuBLAS, by its name in defect.h
 *   SIMCUDA_ABORT    1: abort() at the first fault
 *   SIMCUDA_TRACE    1: say each name that cuGetProcAddress was asked for in vain
 *   SIMCUDA_QUIET    1: don't say at the start that this is a simulation
 *
 * A fault (a bad access, a race, a missing wait, a barrier misused) is one line on stderr that
 * begins with "simcuda:", and its context stays in that error, as on a GPU. A call that the rules
 * of stream capture forbid (capture.h), or with the handle of a graph, a node or an executable
 * graph that is gone (graph.h), is a fault without a context: it fails, and that is said.
 */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <cuda.h>

#include "memory.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define SIMCUDA_EXPORT __attribute__((visibility("default")))

/* Runs when the stream reaches it, under the engine's lock; must not call CUDA. Accesses go through
 * sim_memory_access(). Returns 0, or -1 with *fault set. `arg` is freed with free() afterwards. */
typedef int simcuda_body(void *arg, struct sim_memory *memory, const struct sim_op *op,
                         struct sim_fault *fault);

/* Enqueues `body` on the stream of the current context, as a kernel launch would. `what` must stay
 * valid for the life of the process: reports name operations long done. Takes over `arg` also when
 * it fails. */
SIMCUDA_EXPORT CUresult simcuda_enqueue(CUstream stream, const char *what, simcuda_body *body,
                                        void *arg);

/* Number of faults reported so far in this process (races and forbidden calls included). */
SIMCUDA_EXPORT unsigned simcuda_fault_count(void);

#if defined(__cplusplus)
}
#endif
#endif
