/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of one cuBLAS library as a table of pointers: nothing of cuBLAS is linked, and a
 * process may have several. Taken from the library itself, never by a global name, so that a call
 * through them does not come by our own hooks.
 */
#ifndef MHCS_CUBLAS_FUNCTIONS_H
#define MHCS_CUBLAS_FUNCTIONS_H

#include "shadow/cublas.h"

#define MHCS_CUBLAS_ENTRIES(X)                                                                     \
    X(cublasCreate_v2)                                                                             \
    X(cublasDestroy_v2)                                                                            \
    X(cublasGetVersion_v2)                                                                         \
    X(cublasSetStream_v2)                                                                          \
    X(cublasSetWorkspace_v2)                                                                       \
    X(cublasSetPointerMode_v2)                                                                     \
    X(cublasSetMathMode)                                                                           \
    X(cublasGemmEx)

struct mhcs_cublas_functions {
#define MHCS_CUBLAS_FIELD(name) __typeof__(&name) name;
    MHCS_CUBLAS_ENTRIES(MHCS_CUBLAS_FIELD)
#undef MHCS_CUBLAS_FIELD
};

/* Fills the table from a library that dlopen() returned. NULL, or the name of a function that it
 * lacks. */
const char *mhcs_cublas_functions_find(struct mhcs_cublas_functions *ret_functions, void *library);

#endif
