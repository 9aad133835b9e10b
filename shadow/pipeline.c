/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches and host calls that turn a snapshot into results. */
#include "shadow/pipeline.h"

#include <string.h>

#include "kernels/dtype.h"
#include "shadow/host_reference.h"
#include "shadow/own_cublas.h"

const struct mhcs_model_params mhcs_model_unknown = {
    .scale = {1, 1, 1},
    .hc_eps = 1e-6f,
    .norm_eps = 1e-6f,
    .iterations = 20,
};

static CUresult launch(const struct mhcs_engine *engine, CUfunction function, uint32_t blocks,
                       uint32_t threads, void *params)
{
    void *arguments[] = {params};

    return engine->driver->cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, engine->spare,
                                          arguments, NULL);
}

/* With the operands' weights. */
static struct mhcs_reference_params reference_params(const struct mhcs_slot *slot)
{
    const struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_gemm *gemm = &call->gemm;
    const struct mhcs_layout *at = &call->layout;

    return (struct mhcs_reference_params){
        .fn = slot->address + at->fn,
        .x = slot->address + at->x,
        .old_c = call->parts_early & MHCS_PART_OLD_C ? slot->address + at->old_c : 0,
        .scalars = gemm->scalars_on_device ? slot->address + at->scalars : 0,
        .alpha = call->alpha,
        .beta = call->beta,
        .fn_dtype = gemm->fn.dtype,
        .x_dtype = gemm->x.dtype,
        .c_dtype = gemm->c.dtype,
        .coefficients = gemm->coefficients,
        .k = gemm->k,
        .rows = call->rows,
        .raw = slot->address + at->raw,
        .abs_dot = slot->address + at->abs_dot,
        .square_sum = slot->address + at->square_sum,
    };
}

static CUresult launch_reference(const struct mhcs_engine *engine, struct mhcs_slot *slot,
                                 struct mhcs_reference_params *params)
{
    struct mhcs_own_cublas *const own = slot->call.own_cublas;

    slot->call.by_cublas = own && mhcs_own_cublas_gemm(own, engine, params);
    if (slot->call.by_cublas) {
        params->raw = 0;
    }
    return launch(engine, engine->reference, slot->call.rows, MHCS_REFERENCE_THREADS, params);
}

CUresult mhcs_pipeline_reference(const struct mhcs_engine *engine, struct mhcs_slot *slot)
{
    const struct mhcs_gemm *gemm = &slot->call.gemm;
    struct mhcs_reference_params reference = reference_params(slot);
    struct mhcs_fingerprint_params fingerprint = {
        .fn = reference.fn,
        .fn_dtype = gemm->fn.dtype,
        .coefficients = gemm->coefficients,
        .k = gemm->k,
        .out = slot->fingerprints_address,
    };
    const CUresult result = launch_reference(engine, slot, &reference);

    return result == CUDA_SUCCESS ? launch(engine, engine->fingerprint, gemm->coefficients,
                                           MHCS_FINGERPRINT_THREADS, &fingerprint)
                                  : result;
}

CUresult mhcs_pipeline_checkpoint(const struct mhcs_engine *engine, struct mhcs_slot *slot,
                                  uint32_t dtype)
{
    struct mhcs_reference_params reference = reference_params(slot);

    reference.fn = engine->weights_address;
    reference.fn_dtype = dtype;
    reference.raw = slot->address + slot->call.layout.checkpoint_raw;
    reference.abs_dot = slot->address + slot->call.layout.checkpoint_abs_dot;
    /* square_sum is of x alone: it is written again, with the same bits. */
    return launch_reference(engine, slot, &reference);
}

CUresult mhcs_pipeline_compare(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                               const struct mhcs_model_params *model)
{
    const struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_gemm *gemm = &call->gemm;
    const struct mhcs_layout *at = &call->layout;
    struct mhcs_compare_params compare = {
        .x = slot->address + at->x,
        .c = slot->address + at->c,
        .operands = slot->address + at->raw,
        .checkpoint = call->checkpoint ? slot->address + at->checkpoint_raw : 0,
        .abs_dot = slot->address + at->abs_dot,
        .checkpoint_abs_dot = call->checkpoint ? slot->address + at->checkpoint_abs_dot : 0,
        .square_sum = slot->address + at->square_sum,
        .results = slot->results_address,
        .model = *model,
        .x_dtype = gemm->x.dtype,
        .c_dtype = gemm->c.dtype,
        .coefficients = gemm->coefficients,
        .k = gemm->k,
        .rows = call->rows,
    };

    return launch(engine, engine->compare, call->rows, MHCS_COMPARE_THREADS, &compare);
}

CUresult mhcs_pipeline_stage(const struct mhcs_engine *engine, const struct mhcs_slot *slot)
{
    const struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_gemm *gemm = &call->gemm;
    const struct mhcs_layout *at = &call->layout;
    const uint64_t fn = (uint64_t)gemm->coefficients * gemm->k * mhcs_dtype_size(gemm->fn.dtype);
    const uint64_t x = (uint64_t)call->rows * gemm->k * mhcs_dtype_size(gemm->x.dtype);
    const uint64_t c = (uint64_t)call->rows * gemm->coefficients * mhcs_dtype_size(gemm->c.dtype);
    const struct {
        uint64_t at, bytes;
    } parts[] = {{at->fn, fn},
                 {at->x, x},
                 {at->old_c, call->parts_early & MHCS_PART_OLD_C ? c : 0},
                 {at->scalars, call->parts_early & MHCS_PART_SCALARS ? 2 * sizeof(float) : 0}};
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && result == CUDA_SUCCESS; i++) {
        if (parts[i].bytes > 0) {
            result = engine->driver->cuMemcpyDtoHAsync_v2(engine->staging + parts[i].at,
                                                          slot->address + parts[i].at,
                                                          parts[i].bytes, engine->spare);
        }
    }
    return result;
}

/* `scalar_dtype`: fp32 where the snapshot kernel wrote them, their own where they were copied. */
static struct mhcs_host_slot host_slot(const struct mhcs_slot *slot, const char *inputs,
                                       uint32_t scalar_dtype)
{
    const struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_gemm *gemm = &call->gemm;
    const char *scalars = inputs + call->layout.scalars;
    const bool on_device = gemm->scalars_on_device;

    return (struct mhcs_host_slot){
        .fn = inputs + call->layout.fn,
        .x = inputs + call->layout.x,
        .c = inputs + call->layout.c,
        .old_c = call->parts_early & MHCS_PART_OLD_C ? inputs + call->layout.old_c : NULL,
        .alpha = on_device ? mhcs_element(scalars, scalar_dtype, 0) : call->alpha,
        .beta = on_device ? mhcs_element(scalars + sizeof(float), scalar_dtype, 0) : call->beta,
        .fn_dtype = gemm->fn.dtype,
        .x_dtype = gemm->x.dtype,
        .c_dtype = gemm->c.dtype,
        .coefficients = gemm->coefficients,
        .k = gemm->k,
        .rows = call->rows,
    };
}

void mhcs_pipeline_host_fingerprint(const struct mhcs_slot *slot)
{
    const struct mhcs_gemm *gemm = &slot->call.gemm;

    mhcs_host_fingerprint(slot->host + slot->call.layout.fn, gemm->fn.dtype, gemm->coefficients,
                          gemm->k, slot->fingerprints);
}

int mhcs_pipeline_host_compare(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                               const struct mhcs_model_params *model, const void *weights,
                               uint32_t dtype)
{
    struct mhcs_host_slot host = host_slot(
        slot, slot->host, engine->mode == MHCS_MODE_COPY ? slot->call.gemm.scalar_dtype : MHCS_F32);

    host.checkpoint = weights;
    host.checkpoint_dtype = dtype;
    return mhcs_host_reference(&host, model, slot->results);
}

int mhcs_pipeline_check(const struct mhcs_engine *engine, const struct mhcs_slot *slot, float *rel)
{
    const struct mhcs_host_slot host = host_slot(slot, engine->staging, MHCS_F32);
    float raw[MHCS_ROWS_MAX][MHCS_COEFFICIENTS];

    for (uint32_t r = 0; r < slot->call.rows; r++) {
        memcpy(raw[r], slot->results[r].raw[MHCS_OPERANDS], sizeof(raw[r]));
    }
    return mhcs_host_check(&host, &raw[0][0], rel);
}
