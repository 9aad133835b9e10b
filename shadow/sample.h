/* SPDX-License-Identifier: Apache-2.0 */
/* What a sampled call and a sampled replay have in common. */
#ifndef MHCS_SHADOW_SAMPLE_H
#define MHCS_SHADOW_SAMPLE_H

#include "shadow/check.h"
#include "shadow/engine.h"

/* The driver and the context that is current. Notes its device and the cuBLAS of `gemm`, which may
 * be NULL, if they are the first. */
enum mhcs_reason mhcs_sample_context(const struct mhcs_gemm *gemm,
                                     const struct mhcs_driver **ret_driver, CUcontext *ret_context);

/* The engine of `context`, which is current. *to_arm: it is to be armed if there is none; then
 * whether it was. *ret_engine, unless NULL, is held, and armed if there is no reason. */
enum mhcs_reason mhcs_sample_engine(const struct mhcs_driver *driver, CUcontext context,
                                    bool *to_arm, struct mhcs_engine **ret_engine);

/* Takes a slot for the GEMM and fills its call, all but graph and alpha, beta. Nothing is
 * launched. */
enum mhcs_reason mhcs_sample_slot(struct mhcs_engine *engine, const struct mhcs_gemm *gemm,
                                  uint32_t parts_early, uint32_t *ret_slot);

#endif
