/* SPDX-License-Identifier: Apache-2.0 */
/* The cuBLAS and cuBLASLt libraries of the process: one entry per library that a real function was
 * found in. */
#ifndef MHCS_LIBRARY_H
#define MHCS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "shadow/cublas.h"
#include "shadow/shadow.h"

/* What the shadow needs of a handle besides the GEMM; read with the getters of the very library
 * that runs the call, since a handle means nothing to another one. */
struct mhcs_handle_state {
    void *stream; /* CUstream */
    cublasMath_t math_mode;
    bool scalars_on_device;
};

/* Never freed and, but for `cublas`, constant once published. */
struct mhcs_library;

/* The library that holds the code at `function`, pinned into the process for good. NULL: not in any
 * library, or out of memory. Takes the dynamic linker's locks. */
struct mhcs_library *mhcs_library_of(const void *function);

/* False if a getter is missing or fails. Only reads the handle. */
bool mhcs_library_handle_state(const struct mhcs_library *library, cublasHandle_t handle,
                               struct mhcs_handle_state *state);

/* Attributes of cublasLt's descriptors, of `bytes` bytes. False: the library doesn't know the
 * attribute, or is no cublasLt. */
bool mhcs_library_layout(const struct mhcs_library *library, cublasLtMatrixLayout_t layout,
                         cublasLtMatrixLayoutAttribute_t attribute, void *value, size_t bytes);
bool mhcs_library_operation(const struct mhcs_library *library, cublasLtMatmulDesc_t operation,
                            cublasLtMatmulDescAttributes_t attribute, void *value, size_t bytes);
bool mhcs_library_algorithm(const struct mhcs_library *library, const cublasLtMatmulAlgo_t *algo,
                            cublasLtMatmulAlgoConfigAttributes_t attribute, void *value,
                            size_t bytes);

/* Path and version; allocates at the first call for a library. `handle` is of no account to a
 * cublasLt. NULL: out of memory. */
const struct mhcs_cublas *mhcs_library_cublas(struct mhcs_library *library, cublasHandle_t handle);

#endif
