/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one warp. */
#ifndef PTX_SCHEDULE_H
#define PTX_SCHEDULE_H

#include "ptx_run.h"

/* Until the warp waits at a block barrier (w->waits) or ends (w->top == NULL). False: fault. */
bool ptx_warp_run(struct ptx_warp *w);

/* Adds the PTX line to a fault's text. */
void ptx_append_line(struct sim_fault *fault, const struct ptx_insn *insn);

#endif
