/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a snapshot that copies nothing, put to another use. */
#include "shadow/memo.h"

#include <string.h>

/* The arithmetic that the call declared, in `pad`. */
#define ON_DEVICE    1
#define REDUCED      2
#define COMPUTE_BITS 2

static uint64_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;

    memcpy(&value, &low, sizeof(value));
    return value;
}

void mhcs_memo_write(struct mhcs_snapshot_params *params, const struct mhcs_memo *memo)
{
    const struct mhcs_gemm *gemm = &memo->gemm;
    const bool on_device = gemm->scalars_on_device;

    *params = (struct mhcs_snapshot_params){
        .fn = gemm->fn,
        .x = gemm->x,
        .c = gemm->c,
        .old_c = gemm->old_c,
        .tokens = gemm->tokens,
        .coefficients = gemm->coefficients,
        .k = gemm->k,
        .parts = 0,
        .rows = 0,
        .alpha = on_device ? (uint64_t)(uintptr_t)gemm->alpha : bits_of(memo->alpha),
        .beta = on_device ? (uint64_t)(uintptr_t)gemm->beta : bits_of(memo->beta),
        .scalar_dtype = gemm->scalar_dtype,
        .pad = (on_device ? ON_DEVICE : 0) | (gemm->reduced_precision_reduction ? REDUCED : 0) |
               (uint32_t)gemm->compute << COMPUTE_BITS,
        .seed = memo->pair,
        .to_fn = (uint64_t)(uintptr_t)gemm->cublas,
        .to_x = (uint64_t)(uint32_t)gemm->weight_order,
        .to_c = memo->parts,
        .to_old_c = memo->parts_early,
        .to_scalars = memo->engine,
    };
}

void mhcs_memo_read(struct mhcs_memo *memo, const struct mhcs_snapshot_params *params)
{
    const bool on_device = params->pad & ON_DEVICE;

    *memo = (struct mhcs_memo){
        .gemm = {.fn = params->fn,
                 .x = params->x,
                 .c = params->c,
                 .old_c = params->old_c,
                 .tokens = params->tokens,
                 .coefficients = params->coefficients,
                 .k = params->k,
                 .alpha = on_device ? (const void *)(uintptr_t)params->alpha : NULL,
                 .beta = on_device ? (const void *)(uintptr_t)params->beta : NULL,
                 .scalar_dtype = params->scalar_dtype,
                 .scalars_on_device = on_device,
                 .reduced_precision_reduction = params->pad & REDUCED,
                 .compute = (enum mhcs_compute)(params->pad >> COMPUTE_BITS),
                 .cublas = (const struct mhcs_cublas *)(uintptr_t)params->to_fn,
                 .weight_order = (int32_t)(uint32_t)params->to_x},
        .alpha = on_device ? 0 : float_of(params->alpha),
        .beta = on_device ? 0 : float_of(params->beta),
        .parts = (uint32_t)params->to_c,
        .parts_early = (uint32_t)params->to_old_c,
        .pair = params->seed,
        .engine = params->to_scalars,
    };
}
