/* SPDX-License-Identifier: Apache-2.0 */
/* What a cuBLAS handle is in the simulation. One host thread uses a handle at a time, as with
 * NVIDIA's.
 */
#ifndef SIM_CUBLAS_HANDLE_H
#define SIM_CUBLAS_HANDLE_H

/* The names as exported: cublas_v2.h would map cublasCreate to cublasCreate_v2. */
#include <cublas_v2.h>
#include <cuda.h>
#include <stdbool.h>

struct cublasContext {
    CUcontext context;
    CUstream stream;
    cublasPointerMode_t pointer_mode;
    cublasMath_t math_mode;
    cublasAtomicsMode_t atomics_mode;
    int sm_count, sm_target; /* 0: no target */
    bool tf32_forbidden;     /* NVIDIA_TF32_OVERRIDE=0 when the handle was created */
};

#endif
