/* SPDX-License-Identifier: Apache-2.0 */
/* MHCSHADOW_REFERENCE=cublas: the fp32 GEMM by the very cuBLAS that the application uses, with a
 * handle, a stream and a workspace of our own and CUBLAS_COMPUTE_32F_PEDANTIC.
 *
 * cuBLAS gives the coefficients alone. What else the comparator needs (sum |x fn|, sum x^2) comes
 * from mhcs_reference, which runs as ever and leaves the coefficients to cuBLAS.
 *
 * Operands, workspace and result stand in the engine's arena; what a handle allocates for itself is
 * cuBLAS' own affair. All of it is the drain thread's, which is in RELAXED capture mode: making a
 * handle allocates, and must not break a capture of another thread. Handles are never destroyed:
 * cublasDestroy waits for the device.
 */
#ifndef MHCS_OWN_CUBLAS_H
#define MHCS_OWN_CUBLAS_H

#include "shadow/engine.h"

struct mhcs_own_cublas;

/* Bytes of the arena that it needs. */
uint64_t mhcs_own_cublas_scratch(const struct mhcs_settings *settings);

/* The handle for calls that came through `cublas`, made now if there was none; works only on this
 * engine. NULL: not asked for, or no memory. */
struct mhcs_own_cublas *mhcs_own_cublas_of(struct mhcs_engine *engine,
                                           const struct mhcs_cublas *cublas);

/* Puts the GEMM of `params` on the spare stream; it writes params->raw. False: it does not, and
 * from now on never will. */
bool mhcs_own_cublas_gemm(struct mhcs_own_cublas *own, const struct mhcs_engine *engine,
                          const struct mhcs_reference_params *params);

/* Why it does not work, in words; NULL: it does, or that was told before. */
const char *mhcs_own_cublas_trouble(struct mhcs_own_cublas *own);

/* Where the handles are out of reach: with a context that is gone, or the parent's in a forked
 * child. */
void mhcs_own_cublas_forget(struct mhcs_engine *engine);

#endif
