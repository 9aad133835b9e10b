/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of hooked cuBLAS functions. Exports, thunks, resolution, the version script's test
 * and the whole-process tests are generated from it.
 *
 *     HOOK(name, family, index)
 *
 * families.h says what a family is. thunks.S includes this header too.
 */
#ifndef MHCS_HOOKS_H
#define MHCS_HOOKS_H

#include "interpose/families.h"

/* clang-format off */
#define MHCS_HOOKS(HOOK)                                                                           \
    HOOK(cublasGemmEx, GEMM_EX, int)                                                               \
    HOOK(cublasGemmEx_64, GEMM_EX, int64_t)                                                        \
    HOOK(cublasSgemm_v2, SGEMM, int)                                                               \
    HOOK(cublasSgemm_v2_64, SGEMM, int64_t)                                                        \
    HOOK(cublasSgemmEx, SGEMM_EX, int)                                                             \
    HOOK(cublasSgemmEx_64, SGEMM_EX, int64_t)                                                      \
    HOOK(cublasHgemm, HGEMM, int)                                                                  \
    HOOK(cublasHgemm_64, HGEMM, int64_t)                                                           \
    HOOK(cublasGemmStridedBatchedEx, STRIDED_EX, int)                                              \
    HOOK(cublasGemmStridedBatchedEx_64, STRIDED_EX, int64_t)                                       \
    HOOK(cublasSgemmStridedBatched, SSTRIDED, int)                                                 \
    HOOK(cublasSgemmStridedBatched_64, SSTRIDED, int64_t)                                          \
    HOOK(cublasHgemmStridedBatched, HSTRIDED, int)                                                 \
    HOOK(cublasHgemmStridedBatched_64, HSTRIDED, int64_t)                                          \
    HOOK(cublasGemmBatchedEx, BATCHED_EX, int)                                                     \
    HOOK(cublasGemmBatchedEx_64, BATCHED_EX, int64_t)                                              \
    HOOK(cublasSgemmBatched, SBATCHED, int)                                                        \
    HOOK(cublasSgemmBatched_64, SBATCHED, int64_t)                                                 \
    HOOK(cublasHgemmBatched, HBATCHED, int)                                                        \
    HOOK(cublasHgemmBatched_64, HBATCHED, int64_t)                                                 \
    HOOK(cublasGemmGroupedBatchedEx, GROUPED_EX, int)                                              \
    HOOK(cublasGemmGroupedBatchedEx_64, GROUPED_EX, int64_t)                                       \
    HOOK(cublasSgemmGroupedBatched, SGROUPED, int)                                                 \
    HOOK(cublasSgemmGroupedBatched_64, SGROUPED, int64_t)                                          \
    HOOK(cublasLtMatmul, LT, void)
/* clang-format on */

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stdint.h>

#include "shadow/cublas.h"

struct __half; /* defined by cuda_fp16.h, for C++ alone */

enum mhcs_hook {
#define HOOK(name, family, index) MHCS_HOOK_##name,
    MHCS_HOOKS(HOOK)
#undef HOOK
        MHCS_HOOK_COUNT
};

#define HOOK(name, family, index)                                                                  \
    typedef cublasStatus_t mhcs_type_##name(MHCS_PARAMS(family, index));
MHCS_HOOKS(HOOK)
#undef HOOK

/* The toolkit declares these for C++ alone. */
#ifndef __cplusplus
mhcs_type_cublasHgemm cublasHgemm;
mhcs_type_cublasHgemm_64 cublasHgemm_64;
mhcs_type_cublasHgemmBatched cublasHgemmBatched;
mhcs_type_cublasHgemmBatched_64 cublasHgemmBatched_64;
mhcs_type_cublasHgemmStridedBatched cublasHgemmStridedBatched;
mhcs_type_cublasHgemmStridedBatched_64 cublasHgemmStridedBatched_64;

/* A wrong parameter would shift every argument behind it in silence: the toolkit's own prototypes
 * must agree with the list. (A test compares those above with it, in C++.) */
#define HOOK(name, family, index)                                                                  \
    _Static_assert(__builtin_types_compatible_p(mhcs_type_##name, __typeof__(name)),               \
                   #name " differs from the toolkit's header");
MHCS_HOOKS(HOOK)
#undef HOOK
#endif

#endif
#endif
