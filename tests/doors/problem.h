/* SPDX-License-Identifier: Apache-2.0 */
/* A mixing GEMM, or any other, made through any door of cuBLAS. */
#ifndef DOORS_PROBLEM_H
#define DOORS_PROBLEM_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/preload/arguments.h"

#define PROBLEM_ENTRIES 2 /* of batched calls; grouped ones have a group of one besides */

struct problem {
    enum mhcs_hook hook;
    int64_t m, n, k;
    bool ta, tb;   /* operands stored transposed */
    int64_t gap;   /* elements between columns */
    size_t offset; /* elements from the start of the allocation */
    float alpha, beta;
    bool device_scalars;
    bool a_row, b_row, d_row; /* cublasLt: told as row-major */
    bool pointers;            /* cublasLt: by arrays of addresses */
    bool in_place;            /* cublasLt: D is C */
    bool refused;             /* asks for arithmetic that cuBLAS has not for these types */
    uint64_t seed;            /* of the operands */
};

/* Handles are made in the current context. */
struct problem_handles {
    cublasHandle_t cublas;
    cublasLtHandle_t lt;
};
void problem_open(struct problem_handles *handles);
void problem_close(struct problem_handles *handles);

const char *problem_hook_name(enum mhcs_hook hook);

/* GEMMs that the call counts as, if it is a mixing one. */
unsigned problem_gemms(const struct problem *p);

/* Rounding of the result relative to its size: how far from fp32 a sample may be. */
double problem_tolerance(const struct problem *p);

/* The call in steps, to be made any number of times: operands on the device; the call, through
 * handles that are set to the stream and to scalars on the host; a checksum of the result, by way
 * of a synchronised stream, with the operands overwritten behind it or not. */
struct problem_call;
struct problem_call *problem_prepare(const struct problem *p, CUstream stream);
cublasStatus_t problem_make(const struct problem_call *call, const struct problem_handles *handles,
                            CUstream stream);
uint64_t problem_result(struct problem_call *call, bool overwrite, CUstream stream);
void problem_drop(struct problem_call *call);

/* All of it: makes the call on `stream`, reads the result in stream order, and then overwrites all
 * operands, as an allocator does that hands them to someone else. *ret_sum is a checksum of the
 * result, by way of a synchronised stream. Returns what cuBLAS said: NVIDIA's has not every form
 * for every type. */
cublasStatus_t problem_try(const struct problem *p, const struct problem_handles *handles,
                           CUstream stream, uint64_t *ret_sum);

/* The same, where cuBLAS must not refuse. */
uint64_t problem_run(const struct problem *p, const struct problem_handles *handles,
                     CUstream stream);

#endif
