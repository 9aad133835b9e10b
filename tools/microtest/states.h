/* SPDX-License-Identifier: Apache-2.0 */
/* Hidden states, the GEMM's x: rows of 4 * hidden numbers, normal with outlier channels, or read
 * from a file of real activations. */
#ifndef MHCS_STATES_H
#define MHCS_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/model/tensors.h"

struct mhcs_states_plan {
    const char *file;   /* safetensors; NULL: drawn */
    const char *tensor; /* its name in `file`; NULL: the only one there */
    uint32_t rows;      /* drawn, or at most read */
    uint32_t k;
    double outlier_share, outlier_gain; /* of the channels; times the others */
    bool f32;                           /* drawn as fp32 numbers, not bf16 ones */
    uint64_t seed;
};

/* *ret_x [rows][k], to be freed; *ret_rows may be fewer than planned, from a file. 0; -errno with
 * `error` set. */
int mhcs_states_make(const struct mhcs_states_plan *plan, float **ret_x, uint32_t *ret_rows,
                     char error[MHCS_MODEL_ERROR]);

#endif
