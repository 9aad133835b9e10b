/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a GEMM can be sampled at all, and what of it has to be copied before it runs. */
#ifndef MHCS_CHECK_H
#define MHCS_CHECK_H

#include "shadow/engine.h"
#include "shadow/reason.h"

enum mhcs_reason mhcs_check_gemm(const struct mhcs_gemm *gemm);

/* Bits of what the GEMM will overwrite or the application may change: the old C, and scalars on
 * the device. */
uint32_t mhcs_check_early_parts(const struct mhcs_gemm *gemm);

/* Whether it fits a slot of the engine, and its operands lie in their allocations. Three or four
 * driver look-ups. */
enum mhcs_reason mhcs_check_operands(const struct mhcs_engine *engine, const struct mhcs_gemm *gemm,
                                     uint32_t parts_early);

#endif
