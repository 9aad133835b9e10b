/* SPDX-License-Identifier: Apache-2.0 */
/* How errors of the mixing GEMM add up over a model's layers.
 *
 * Residual streams X go through both sites of every layer, in fp32 and in each other precision side
 * by side. What the sublayer gets is y = sum_i pre[i] X[i]; a stream's next value is
 * post[k] s + sum_j comb[j][k] X[j], rounded to bf16. The sublayer between (attention, MoE) is
 * stubbed: s is y divided by its rms, rounded to bf16, which is what its norm hands to it. So this
 * is the linear path alone: no error is made or amplified by attention or routing. All streams are
 * bf16, as servers keep them, in fp32's run too.
 */
#ifndef MHCS_COMPOUND_H
#define MHCS_COMPOUND_H

#include "tools/microtest/errors.h"

#define MHCS_COMPOUND_ROWS_MAX 64 /* of the hidden states; the others are not used here */

struct mhcs_compound;
/* NULL: out of memory. */
struct mhcs_compound *mhcs_compound_new(const struct mhcs_states *states,
                                        const struct mhcs_machine *machine);
void mhcs_compound_free(struct mhcs_compound *compound);

/* Takes the streams through one site of 24 coefficients. 0; -errno with `error` set. */
int mhcs_compound_site(struct mhcs_compound *compound, const struct mhcs_model_site *site,
                       const struct mhcs_prepared *prepared, char error[MHCS_MODEL_ERROR]);

/* How far the streams are from fp32's. */
struct mhcs_drift {
    double rel;    /* rms over rows of the relative 2-norm */
    double cosine; /* 1 - cosine, the largest */
};
void mhcs_compound_drift(const struct mhcs_compound *compound,
                         struct mhcs_drift ret_drift[MHCS_ARITHMETIC_COUNT]);

#endif
