/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that does nothing but answer and remember: for what the simulation does not do (a
 * capture in progress) and for failures at any chosen call. */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stdbool.h>

/* Answers of cuStreamIsCapturing: the result and the status. */
void fakecuda_capturing(int result, int status);
/* The n-th call of this thread from now (from 1) fails with `error`; 0: none. */
void fakecuda_fail(int n, int error);
/* Whether it has happened. */
bool fakecuda_failed(void);
/* Calls of the calling thread since the last time it asked, as "name name ..." */
const char *fakecuda_calls(void);
/* Things made less things unmade: streams, events, memory, modules, registrations. */
int fakecuda_balance(void);
/* The capture mode that the calling thread is in (enum CUstreamCaptureMode_enum). */
int fakecuda_capture_mode(void);
/* The context that is current from now on, to all threads, has this id. */
void fakecuda_context(unsigned long long id);

#endif
