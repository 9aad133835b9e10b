/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the declared precision path; the grammar stands in path.h. */
#include "shadow/path.h"

#include <stdio.h>

static const char *compute_name(enum mhcs_compute compute)
{
    switch (compute) {
    case MHCS_COMPUTE_F32:
        return "f32";
    case MHCS_COMPUTE_F32_PEDANTIC:
        return "f32-pedantic";
    case MHCS_COMPUTE_TF32:
        return "tf32";
    case MHCS_COMPUTE_BF16:
        return "bf16";
    case MHCS_COMPUTE_F16:
        return "f16";
    case MHCS_COMPUTE_BF16X9:
        return "bf16x9";
    case MHCS_COMPUTE_F16_ACCUMULATE:
        return "f16acc";
    case MHCS_COMPUTE_OTHER:
        break;
    }
    return "other";
}

const char *mhcs_dtype_name(uint32_t dtype)
{
    switch (dtype) {
    case MHCS_F32:
        return "f32";
    case MHCS_BF16:
        return "bf16";
    case MHCS_F16:
        return "f16";
    default:
        return "other";
    }
}

const char *mhcs_path_format(const struct mhcs_gemm *gemm, char text[MHCS_PATH_BYTES])
{
    const bool reduced = gemm->reduced_precision_reduction && gemm->c.dtype != MHCS_F32;

    snprintf(text, MHCS_PATH_BYTES, "%s*%s->%s/%s%s", mhcs_dtype_name(gemm->fn.dtype),
             mhcs_dtype_name(gemm->x.dtype), mhcs_dtype_name(gemm->c.dtype),
             compute_name(gemm->compute), reduced ? "+reduced" : "");
    return text;
}
