/* SPDX-License-Identifier: Apache-2.0 */
/* The dot products of the host back end in fp64: the loop over K, apart from the maths of a row. */
#ifndef MHCS_HOST_DOT_H
#define MHCS_HOST_DOT_H

#include "kernels/kernels.h"

struct mhcs_dots {
    double dot[MHCS_COEFFICIENTS];     /* sum x*fn */
    double abs_dot[MHCS_COEFFICIENTS]; /* sum |x*fn| */
    double square_sum;                 /* sum x^2 */
};

/* dots[R] of packed fn [M][K] and x [R][K]; products are exact in fp64. 0, or -ENOMEM. */
int mhcs_host_dots(const void *fn, uint32_t fn_dtype, const void *x, uint32_t x_dtype,
                   uint32_t coefficients, uint32_t k, uint32_t rows, struct mhcs_dots *dots);

#endif
