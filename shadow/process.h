/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of shadow/ know about the process: its settings, whether sampling is off, what was
 * seen first. */
#ifndef MHCS_PROCESS_H
#define MHCS_PROCESS_H

#include "shadow/reason.h"
#include "shadow/shadow.h"

/* NULL before mhcs_shadow_configure(). */
const struct mhcs_settings *mhcs_process_settings(void);

/* NULL: none was given. */
mhcs_bypass_look *mhcs_process_bypass_look(void);

/* Why no call is sampled any more, or MHCS_REASONS_COUNT. Any thread. */
enum mhcs_reason mhcs_process_off(void);
void mhcs_process_turn_off(enum mhcs_reason why);

/* The first cuBLAS and the first device (-1) that a due call came with, for the process facts. */
void mhcs_process_note(const struct mhcs_cublas *cublas, int device);
const struct mhcs_cublas *mhcs_process_cublas(void);
int mhcs_process_device(void);

/* Time spent on application threads, all threads together. (sample.c) */
struct mhcs_budget;
extern struct mhcs_budget mhcs_hook_budget;

#endif
