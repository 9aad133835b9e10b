/* SPDX-License-Identifier: Apache-2.0 */
/* Runs independent tasks on all threads. */
#ifndef MHCS_PARALLEL_H
#define MHCS_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#define MHCS_THREADS_MAX 256

/* How many cores this process may use, at most MHCS_THREADS_MAX. */
uint32_t mhcs_parallel_cores(void);

/* Calls task(context, i, thread) for each i below `count`, in any order, `thread` below `threads`
 * and never the same at the same time. Returns when all are done. The caller's thread works too;
 * where a thread can't be started the others do its share. */
void mhcs_parallel(uint32_t threads, size_t count,
                   void (*task)(void *context, size_t i, uint32_t thread), void *context);

#endif
