/* SPDX-License-Identifier: Apache-2.0 */
/* From a snapshot to results: reference, comparator and fingerprint on the spare stream, or on the
 * CPU. The drain thread's, and once the arming thread's. */
#ifndef MHCS_PIPELINE_H
#define MHCS_PIPELINE_H

#include "shadow/engine.h"

/* The model's constants where no checkpoint tells them. */
extern const struct mhcs_model_params mhcs_model_unknown;

/* Launches reference, comparator and fingerprint of a slot on the spare stream. */
CUresult mhcs_pipeline_launch(const struct mhcs_engine *engine, const struct mhcs_slot *slot);

/* The same on the CPU, from a slot in host memory, in fp64. 0 or -ENOMEM. */
int mhcs_pipeline_host(const struct mhcs_engine *engine, const struct mhcs_slot *slot);

/* Copies what the reference of a slot reads to engine->staging, on the spare stream. */
CUresult mhcs_pipeline_stage(const struct mhcs_engine *engine, const struct mhcs_slot *slot);

/* rel[R] of the staged slot's fp32 reference against fp64. 0 or -ENOMEM. */
int mhcs_pipeline_check(const struct mhcs_engine *engine, const struct mhcs_slot *slot, float *rel);

#endif
