/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing GEMMs with known content, and the oracle that knows what their records must hold.
 *
 * Every element is a function of (what, which, i, j), exact in all three storage types. A call is
 * identified by its number of tokens, so a record tells which call it is of. Buffers are reused: as
 * soon as a call is through, in stream order, its x, c, fn and device scalars are overwritten, as a
 * caching allocator does.
 */
#ifndef WORK_H
#define WORK_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "shadow/shadow.h"

#define WORK_TOKENS 33 /* tokens of call 0; call i has i more */

struct work_shape {
    uint32_t fn_dtype, x_dtype, c_dtype;
    uint32_t coefficients, k;
    bool transposed;   /* operands lie the other way: element (i, j) at j * ld + i */
    uint32_t pad;      /* elements between rows */
    uint32_t offset;   /* elements before the first one, so that bases are unaligned */
    float alpha, beta; /* exact in bf16 */
    uint32_t scalar_dtype;
    bool scalars_on_device;
    uint32_t sites;        /* call i uses weights i % sites */
    uint32_t distinct;     /* tokens from this one on repeat those before; 0: none does */
    const char *cublas[2]; /* files that even and odd calls come through; NULL: not loaded */
};

/* One stream's buffers. */
struct work {
    struct work_shape shape;
    CUstream stream;
    CUdeviceptr fn, x, c, scalars;
    uint64_t fn_bytes, x_bytes, c_bytes; /* for up to `calls` calls */
};

/* Aborts the process with a message where CUDA fails. */
void work_init(struct work *work, const struct work_shape *shape, CUstream stream, uint32_t calls);

/* Call number i: fill, before, GEMM, after, overwrite. Returns whether it was sampled. While the
 * stream is captured: whether it got a node; all of it happens again at each replay. */
bool work_call(struct work *work, uint32_t i);
/* The same with a GEMM that does not run and fails. */
bool work_failing_call(struct work *work, uint32_t i);

/* The GEMM as handed to the library; tests may spoil it. */
struct mhcs_gemm work_gemm(const struct work *work, uint32_t i);

/* What the record of call i, token t must hold: the value that the GEMM wrote, and the exact
 * result with the size of its terms. */
double work_production(const struct work_shape *shape, uint32_t i, int64_t t, uint32_t j);
double work_exact(const struct work_shape *shape, uint32_t i, int64_t t, uint32_t j,
                  double *ret_terms);
/* 1/sqrt(mean(x^2) + 1e-6). */
double work_rms(const struct work_shape *shape, uint32_t i, int64_t t);

#endif
