/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated cublasLt keeps in its descriptors, which are the client's memory. */
#ifndef SIM_CUBLASLT_TYPES_H
#define SIM_CUBLASLT_TYPES_H

#include <cublasLt.h>
#include <stdbool.h>
#include <stdint.h>

struct sim_lt_layout {
    uint32_t type, batch_mode;
    int32_t order, count;
    uint64_t rows, columns;
    int64_t ld, stride;
};
_Static_assert(sizeof(struct sim_lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "no room");

struct sim_lt_operation {
    int32_t compute, scale_type, pointer_mode, transa, transb, transc;
    uint32_t epilogue;
    uint32_t unused;
    const void *bias, *a_scale, *b_scale, *c_scale, *d_scale;
};
_Static_assert(sizeof(struct sim_lt_operation) <= sizeof(cublasLtMatmulDescOpaque_t), "no room");

struct sim_lt_algorithm {
    int32_t id, splits;
    uint32_t reduction_scheme;
};
_Static_assert(sizeof(struct sim_lt_algorithm) <= sizeof(cublasLtMatmulAlgo_t), "no room");

#endif
