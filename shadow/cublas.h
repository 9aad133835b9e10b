/* SPDX-License-Identifier: Apache-2.0 */
/* The prototypes of cuBLAS and cuBLASLt under their own names: cublas_v2.h renames functions by
 * macros. Some toolkits take cublas_api.h, which cublasLt.h includes too, only behind a definition
 * that cublas_v2.h makes. */
#ifndef MHCS_CUBLAS_H
#define MHCS_CUBLAS_H

#ifndef CUBLASAPI
#define CUBLASAPI
#endif
#include <cublasLt.h>
#include <cublas_api.h>

#endif
