/* SPDX-License-Identifier: Apache-2.0 */
/* The one thread that turns posted slots into records. */
#ifndef MHCS_DRAIN_H
#define MHCS_DRAIN_H

/* Starts the thread, once; any application thread, before it has work for it. An atomic load when
 * it runs already. */
void mhcs_drain_start(void);

/* Work was posted. Never waits: while the drain thread is busy an atomic exchange, else one
 * semaphore post. */
void mhcs_drain_wake(void);

/* In a forked child: there is no thread here, and the trace is the parent's. */
void mhcs_drain_forget(void);

#endif
