/* SPDX-License-Identifier: Apache-2.0 */
/* One input of the kernels for tests: the values as fp32, exactly representable in the types they
 * are stored in, and beside them the stored bytes as a snapshot slot holds them.
 */
#ifndef TEST_CASE_H
#define TEST_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/kernels.h"
#include "shadow/host_reference.h"

struct kernel_case {
    uint32_t coefficients, k, rows;
    uint32_t fn_dtype, x_dtype, c_dtype;
    float alpha, beta;
    struct mhcs_model_params model;
    float *fn, *x, *c;         /* [M][K], [R][K], [R][M] */
    float *old_c, *checkpoint; /* [R][M], [M][K]; NULL: none */
    void *fn_bytes, *x_bytes, *c_bytes, *old_c_bytes;
};

/* Rounds to nearest even, in place. */
void case_round(float *values, size_t count, uint32_t dtype);

/* Fills the bytes, afresh, from the values, which case_round() has made representable. */
void case_encode(struct kernel_case *c);

void case_free(struct kernel_case *c);

/* The case as the host back end takes it. */
struct mhcs_host_slot case_host_slot(const struct kernel_case *c);

/* What random_case() chooses from; everything else follows from the seed. */
struct case_shape {
    uint32_t coefficients, k, rows;
    uint32_t fn_dtype, x_dtype, c_dtype;
    float alpha, beta;
    bool checkpoint;
    double noise; /* relative, of c before it is rounded to c_dtype */
};

/* Gaussian-like x and fn of about the checkpoint's size. */
struct kernel_case random_case(const struct case_shape *shape, uint64_t seed);

#endif
