/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot of a call: one kernel launch, or copies where the driver refused our module. */
#include "shadow/snapshot.h"

#include <stddef.h>
#include <string.h>

/* A share of the device small enough to leave the GEMMs of other streams alone, large enough to
 * copy a slot in a few microseconds. */
#define ELEMENTS_PER_BLOCK 2048
#define BLOCKS_PER_SM      2

static bool operand_in_bounds(const struct mhcs_driver *driver, const struct mhcs_operand *operand,
                              int64_t rows, int64_t columns)
{
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    CUdeviceptr start = 0;
    size_t size = 0;
    void *values[] = {&start, &size};
    int64_t down, across, elements;
    uint64_t bytes;

    /* The plural form reports an unknown pointer by zeros, the singular one by an error. */
    if (driver->cuPointerGetAttributes(2, attributes, values, operand->base) != CUDA_SUCCESS) {
        return false;
    }
    if (operand->indirect) {
        /* Where it leads is known on the device alone, as it is to cuBLAS. */
        return operand->base >= start && operand->base - start <= size &&
               sizeof(uint64_t) <= size - (operand->base - start);
    }
    if (operand->row < 0 || operand->col < 0 ||
        __builtin_mul_overflow(rows - 1, operand->row, &down) ||
        __builtin_mul_overflow(columns - 1, operand->col, &across) ||
        __builtin_add_overflow(down, across, &elements) || elements > INT64_MAX / 8) {
        return false;
    }
    bytes = (uint64_t)(elements + 1) * mhcs_dtype_size(operand->dtype);
    return operand->base >= start && operand->base - start <= size &&
           bytes <= size - (operand->base - start);
}

bool mhcs_snapshot_in_bounds(const struct mhcs_driver *driver, const struct mhcs_gemm *gemm,
                             bool with_old_c)
{
    const bool apart = with_old_c && memcmp(&gemm->old_c, &gemm->c, sizeof(gemm->c)) != 0;

    return !driver->cuPointerGetAttributes ||
           (operand_in_bounds(driver, &gemm->fn, gemm->coefficients, gemm->k) &&
            operand_in_bounds(driver, &gemm->x, gemm->tokens, gemm->k) &&
            operand_in_bounds(driver, &gemm->c, gemm->tokens, gemm->coefficients) &&
            (!apart || operand_in_bounds(driver, &gemm->old_c, gemm->tokens, gemm->coefficients)));
}

uint32_t mhcs_snapshot_params(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                              uint32_t parts, struct mhcs_snapshot_params *params)
{
    const struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_gemm *gemm = &call->gemm;
    uint64_t elements = (uint64_t)call->rows * gemm->coefficients;
    const uint32_t blocks = BLOCKS_PER_SM * (uint32_t)engine->sm_count;

    *params = (struct mhcs_snapshot_params){
        .fn = gemm->fn,
        .x = gemm->x,
        .c = gemm->c,
        .old_c = gemm->old_c,
        .tokens = gemm->tokens,
        .seed = call->seed,
        .coefficients = gemm->coefficients,
        .k = gemm->k,
        .rows = call->rows,
        .parts = parts,
        .alpha = parts & MHCS_PART_SCALARS ? (uint64_t)(uintptr_t)gemm->alpha : 0,
        .beta = parts & MHCS_PART_SCALARS ? (uint64_t)(uintptr_t)gemm->beta : 0,
        .scalar_dtype = gemm->scalar_dtype,
        .to_fn = slot->address + call->layout.fn,
        .to_x = slot->address + call->layout.x,
        .to_c = slot->address + call->layout.c,
        .to_old_c = slot->address + call->layout.old_c,
        .to_scalars = slot->address + call->layout.scalars,
    };
    if (parts & MHCS_PART_FN) {
        elements += (uint64_t)(gemm->coefficients + call->rows) * gemm->k;
    }
    return elements / ELEMENTS_PER_BLOCK + 1 < blocks
               ? (uint32_t)(elements / ELEMENTS_PER_BLOCK + 1)
               : blocks;
}

static CUresult launch(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                       uint32_t parts, CUstream stream)
{
    struct mhcs_snapshot_params params;
    const uint32_t blocks = mhcs_snapshot_params(engine, slot, parts, &params);
    void *arguments[] = {&params};

    return engine->driver->cuLaunchKernel(engine->snapshot, blocks, 1, 1, MHCS_SNAPSHOT_THREADS, 1,
                                          1, 0, stream, arguments, NULL);
}

/* Row i of an operand, `columns` elements, packed to `to`. */
static CUresult copy_row(const struct mhcs_driver *driver, const struct mhcs_operand *from,
                         int64_t i, uint32_t columns, char *to, CUstream stream)
{
    const size_t size = mhcs_dtype_size(from->dtype);
    const bool dense = from->col == 1;
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = from->base + (uint64_t)(i * from->row) * size,
        .srcPitch = (dense ? columns : (size_t)from->col) * size,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = to,
        .dstPitch = (dense ? columns : 1) * size,
        .WidthInBytes = (dense ? columns : 1) * size,
        .Height = dense ? 1 : columns,
    };

    return driver->cuMemcpy2DAsync_v2(&copy, stream);
}

static CUresult copy_sampled(const struct mhcs_driver *driver, const struct mhcs_slot_call *call,
                             const struct mhcs_operand *from, uint32_t columns, char *to,
                             CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    for (uint32_t r = 0; r < call->rows && result == CUDA_SUCCESS; r++) {
        const int64_t token = mhcs_row_index(call->seed, r, call->rows, call->gemm.tokens);

        result = copy_row(driver, from, token, columns,
                          to + (size_t)r * columns * mhcs_dtype_size(from->dtype), stream);
    }
    return result;
}

/* What the snapshot kernel does, by copies. The scalars keep their own type here: alpha at 0, beta
 * at 4. */
static CUresult copy(const struct mhcs_engine *engine, const struct mhcs_slot *slot, uint32_t parts,
                     CUstream stream)
{
    const struct mhcs_driver *driver = engine->driver;
    const struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_gemm *gemm = &call->gemm;
    const size_t fn_row = (size_t)gemm->k * mhcs_dtype_size(gemm->fn.dtype);
    CUresult result = CUDA_SUCCESS;

    if (parts & MHCS_PART_SCALARS) {
        const size_t size = mhcs_dtype_size(gemm->scalar_dtype);
        char *const to = slot->host + call->layout.scalars;

        result =
            driver->cuMemcpyDtoHAsync_v2(to, (CUdeviceptr)(uintptr_t)gemm->alpha, size, stream);
        if (result == CUDA_SUCCESS) {
            result = driver->cuMemcpyDtoHAsync_v2(to + sizeof(float),
                                                  (CUdeviceptr)(uintptr_t)gemm->beta, size, stream);
        }
    }
    for (uint32_t j = 0; parts & MHCS_PART_FN && j < gemm->coefficients && result == CUDA_SUCCESS;
         j++) {
        result = copy_row(driver, &gemm->fn, j, gemm->k, slot->host + call->layout.fn + j * fn_row,
                          stream);
    }
    if (parts & MHCS_PART_X && result == CUDA_SUCCESS) {
        result = copy_sampled(driver, call, &gemm->x, gemm->k, slot->host + call->layout.x, stream);
    }
    if (parts & MHCS_PART_C && result == CUDA_SUCCESS) {
        result = copy_sampled(driver, call, &gemm->c, gemm->coefficients,
                              slot->host + call->layout.c, stream);
    }
    if (parts & MHCS_PART_OLD_C && result == CUDA_SUCCESS) {
        result = copy_sampled(driver, call, &gemm->old_c, gemm->coefficients,
                              slot->host + call->layout.old_c, stream);
    }
    return result;
}

static CUresult snapshot_on(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                            uint32_t parts, CUstream stream)
{
    return engine->mode == MHCS_MODE_COPY ? copy(engine, slot, parts, stream)
                                          : launch(engine, slot, parts, stream);
}

CUresult mhcs_snapshot(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                       uint32_t parts)
{
    return snapshot_on(engine, slot, parts, slot->call.gemm.stream);
}

CUresult mhcs_snapshot_last(const struct mhcs_engine *engine, const struct mhcs_slot *slot,
                            uint32_t parts)
{
    const struct mhcs_driver *driver = engine->driver;
    CUstream stream = slot->call.gemm.stream;
    CUresult result;

    if (MHCS_TEST_LATE_SNAPSHOT) {
        driver->cuEventRecord(slot->ready, stream);
        stream = engine->spare;
        driver->cuStreamWaitEvent(stream, slot->ready, 0);
    }
    result = snapshot_on(engine, slot, parts, stream);
    return result == CUDA_SUCCESS ? driver->cuEventRecord(slot->ready, stream) : result;
}
