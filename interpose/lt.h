/* SPDX-License-Identifier: Apache-2.0 */
/* What a cublasLtMatmul asks for, read from its descriptors with the getters of the library that
 * made them: their content is private to it. */
#ifndef MHCS_LT_H
#define MHCS_LT_H

#include "interpose/call.h"
#include "interpose/library.h"
#include "shadow/reason.h"

/* What matching and drawing need, and no more: m, n, k, a, b and the batch. False: certainly no
 * mixing GEMM. Two getters for almost every call. */
bool mhcs_lt_begin(const struct mhcs_library *library, const struct mhcs_lt *lt,
                   struct mhcs_call *call);

/* All of it; `state` is what a handle would say. MHCS_REASONS_COUNT, or why it can't be followed.
 */
enum mhcs_reason mhcs_lt_read(const struct mhcs_library *library, const struct mhcs_lt *lt,
                              struct mhcs_call *call, struct mhcs_handle_state *state);

#endif
