/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of a hooked call, around the real function. Any thread; errno is kept. */
#ifndef MHCS_GATE_H
#define MHCS_GATE_H

#include <stdbool.h>

#include "interpose/hooks.h"
#include "interpose/library.h"
#include "shadow/shadow.h"

/* A call on its way; lives on the caller's stack. */
struct mhcs_pass {
    bool outermost; /* not made by cuBLAS itself within a call that is on its way already */
    bool sampled;
    struct mhcs_gemm gemm;
    struct mhcs_sample sample;
};

/* For calls that mhcs_filter_candidate() lets through. Reads the environment at the first one. */
void mhcs_gate_before(struct mhcs_pass *pass, struct mhcs_library *library,
                      const struct mhcs_call *call);

/* Follows every mhcs_gate_before(). */
void mhcs_gate_after(struct mhcs_pass *pass, cublasStatus_t status);

#endif
