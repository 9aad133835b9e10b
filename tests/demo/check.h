/* SPDX-License-Identifier: Apache-2.0 */
/* The demo has nothing to recover: a CUDA or cuBLAS error ends it with a line that names the call.
 */
#ifndef DEMO_CHECK_H
#define DEMO_CHECK_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK_CUDA(call)                                                                           \
    do {                                                                                           \
        cudaError_t check_error = (call);                                                          \
        if (check_error != cudaSuccess) {                                                          \
            fprintf(stderr, "mhcshadow-demo: %s: %s (%d)\n", #call,                                \
                    cudaGetErrorString(check_error), (int)check_error);                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CHECK_CUBLAS(call)                                                                         \
    do {                                                                                           \
        cublasStatus_t check_status = (call);                                                      \
        if (check_status != CUBLAS_STATUS_SUCCESS) {                                               \
            fprintf(stderr, "mhcshadow-demo: %s: %s\n", #call, cublasGetStatusName(check_status)); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* malloc() that ends the program instead of returning NULL. */
static inline void *check_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (memory == NULL) {
        fprintf(stderr, "mhcshadow-demo: out of memory\n");
        exit(1);
    }
    return memory;
}

#endif
