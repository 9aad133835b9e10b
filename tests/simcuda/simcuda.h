/* SPDX-License-Identifier: Apache-2.0 */
/* Private door of the simulated libcuda.so.1 for its siblings (libcudart, libcublas) and for tests.
 *
 * The driver API is the public one (cuda.h). Set SIMCUDA_ORDER to lazy (default), random:SEED,
 * eager or threads; SIMCUDA_DEVICES (1), SIMCUDA_CC (9.0), SIMCUDA_MEM_MB (1024). Reports go to
 * stderr, one line each, and the context falls into the error as on a GPU.
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

/* Number of faults reported so far in this process (races included), for tests. */
SIMCUDA_EXPORT unsigned simcuda_fault_count(void);

#if defined(__cplusplus)
}
#endif
#endif
