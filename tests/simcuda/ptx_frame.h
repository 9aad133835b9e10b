/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a warp: made at a kernel's start and at calls, given back at the last return. */
#ifndef PTX_FRAME_H
#define PTX_FRAME_H

#include "ptx_run.h"

/* Enters the function with the lanes of `mask`. The .param variables are the caller's to fill. */
struct ptx_frame *ptx_frame_push(struct ptx_warp *w, const struct ptx_kernel *function,
                                 uint32_t mask);
/* Leaves the top frame, which goes to the module's spare ones. */
void ptx_frame_pop(struct ptx_warp *w);
void ptx_frames_free(struct ptx_module *module);

#endif
