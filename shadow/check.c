/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/check.h"

#include "kernels/dtype.h"
#include "shadow/process.h"
#include "shadow/snapshot.h"

enum mhcs_reason mhcs_check_gemm(const struct mhcs_gemm *gemm)
{
    if (!gemm->alpha || !gemm->beta || gemm->scalar_dtype > MHCS_F16 || gemm->fn.dtype > MHCS_F16 ||
        gemm->x.dtype > MHCS_F16 || gemm->c.dtype > MHCS_F16 ||
        gemm->old_c.dtype != gemm->c.dtype) {
        return MHCS_REASON_TYPES;
    }
    if (gemm->tokens < 1 || gemm->tokens > INT32_MAX || gemm->k % MHCS_STREAMS != 0 ||
        (gemm->coefficients != MHCS_COEFFICIENTS && gemm->coefficients != MHCS_COEFFICIENTS_HEAD)) {
        return MHCS_REASON_SHAPE;
    }
    return MHCS_REASON_NONE;
}

uint32_t mhcs_check_early_parts(const struct mhcs_gemm *gemm)
{
    if (gemm->scalars_on_device) {
        return MHCS_PART_SCALARS | MHCS_PART_OLD_C;
    }
    return mhcs_element(gemm->beta, gemm->scalar_dtype, 0) != 0 ? MHCS_PART_OLD_C : 0;
}

enum mhcs_reason mhcs_check_operands(const struct mhcs_engine *engine, const struct mhcs_gemm *gemm,
                                     uint32_t parts_early)
{
    const bool with_old_c = parts_early & MHCS_PART_OLD_C;
    const uint32_t most = mhcs_process_settings()->rows;
    struct mhcs_layout layout;

    mhcs_layout_set(&layout, gemm, gemm->tokens < most ? (uint32_t)gemm->tokens : most);
    if (layout.bytes > engine->largest) {
        return MHCS_REASON_SHAPE;
    }
    /* The snapshot kernel follows an operand's address that stands on the device; copies can't. */
    if (engine->mode == MHCS_MODE_COPY &&
        (gemm->fn.indirect || gemm->x.indirect || gemm->c.indirect || gemm->old_c.indirect)) {
        return MHCS_REASON_POINTERS;
    }
    return mhcs_snapshot_in_bounds(engine->driver, gemm, with_old_c) ? MHCS_REASON_NONE
                                                                     : MHCS_REASON_OPERAND;
}
