/* SPDX-License-Identifier: Apache-2.0 */
/* From a snapshot to results: reference, comparator and fingerprint on the spare stream, or on the
 * CPU. The drain thread's, and once the arming thread's. */
#ifndef MHCS_PIPELINE_H
#define MHCS_PIPELINE_H

#include "shadow/engine.h"

/* The model's constants where no checkpoint tells them. */
extern const struct mhcs_model_params mhcs_model_unknown;

/* Launches the reference and the fingerprint of a slot on the spare stream; the reference by
 * slot->call.own_cublas, if that works. */
CUresult mhcs_pipeline_reference(const struct mhcs_engine *engine, struct mhcs_slot *slot);

/* Launches the reference with the weights that stand at engine->weights_address, of `dtype`. */
CUresult mhcs_pipeline_checkpoint(const struct mhcs_engine *engine, struct mhcs_slot *slot,
                                  uint32_t dtype);

/* Launches the comparator, with the checkpoint's reference if slot->call.checkpoint says so. */
CUresult mhcs_pipeline_compare(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                               const struct mhcs_model_params *model);

/* The same on the CPU, in fp64, from a slot in host memory: first the fingerprint, then reference
 * and comparator. `weights`: the checkpoint's fn of `dtype`; NULL: none. 0 or -ENOMEM. */
void mhcs_pipeline_host_fingerprint(const struct mhcs_slot *slot);
int mhcs_pipeline_host_compare(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                               const struct mhcs_model_params *model, const void *weights,
                               uint32_t dtype);

/* Copies what the reference of a slot reads to engine->staging, on the spare stream. */
CUresult mhcs_pipeline_stage(const struct mhcs_engine *engine, const struct mhcs_slot *slot);

/* rel[R] of the staged slot's fp32 reference against fp64. 0 or -ENOMEM. */
int mhcs_pipeline_check(const struct mhcs_engine *engine, const struct mhcs_slot *slot, float *rel);

#endif
