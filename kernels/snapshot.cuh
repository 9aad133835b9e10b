/* SPDX-License-Identifier: Apache-2.0 */
/* mhcs_snapshot: the only kernel that runs on the application's stream. It reads no byte that the
 * GEMM itself does not touch: pages beside the operands may be unmapped, or another stream's to
 * write.
 */
#ifndef MHCS_SNAPSHOT_CUH
#define MHCS_SNAPSHOT_CUH

#include "kernels/block.cuh"

/* Copies one operand's rows, packed. A thread moves 16 bytes of the destination at a time: as one
 * vector where both sides allow it, else element by element, which takes any stride. sampled: row r
 * is token[r], else r. */
static __device__ void mhcs_gather(const struct mhcs_operand &from, uint64_t to, uint32_t rows,
                                   uint32_t length, bool sampled, const int64_t *token)
{
    const uint64_t base = from.indirect ? *(const uint64_t *)from.base : from.base;
    const uint32_t size = mhcs_dtype_size(from.dtype);
    const uint32_t per_group = 16 / size;
    const uint32_t groups = (length + per_group - 1) / per_group;
    /* Neighbouring threads read neighbouring addresses in either orientation. */
    const bool rows_first = llabs(from.row) < llabs(from.col);

    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * groups;
         i += gridDim.x * blockDim.x) {
        const uint32_t r = rows_first ? i % rows : i / groups;
        const uint32_t begin = (rows_first ? i / rows : i % groups) * per_group;
        const uint32_t count = min(per_group, length - begin);
        const int64_t row = sampled ? token[r] : r;
        const uint64_t source = base + (row * from.row + begin * from.col) * size;
        const uint64_t target = to + ((uint64_t)r * length + begin) * size;
        const uint64_t step = from.col * size;

        if (count == per_group && from.col == 1 && (source | target) % 16 == 0)
            *(uint4 *)target = *(const uint4 *)source;
        else if (size == 4)
            for (uint32_t e = 0; e < count; e++)
                ((uint32_t *)target)[e] = *(const uint32_t *)(source + e * step);
        else
            for (uint32_t e = 0; e < count; e++)
                ((uint16_t *)target)[e] = *(const uint16_t *)(source + e * step);
    }
}

extern "C" __global__ void __launch_bounds__(MHCS_SNAPSHOT_THREADS)
    mhcs_snapshot(const struct mhcs_snapshot_params p)
{
    static_assert(MHCS_SNAPSHOT_THREADS >= MHCS_ROWS_MAX, "one thread finds the token of one row");
    __shared__ int64_t token[MHCS_ROWS_MAX];
    if (threadIdx.x < p.rows)
        token[threadIdx.x] = mhcs_row_index(p.seed, threadIdx.x, p.rows, p.tokens);
    __syncthreads();

    if (p.parts & MHCS_PART_FN)
        mhcs_gather(p.fn, p.to_fn, p.coefficients, p.k, false, token);
    if (p.parts & MHCS_PART_X)
        mhcs_gather(p.x, p.to_x, p.rows, p.k, true, token);
    if (p.parts & MHCS_PART_C)
        mhcs_gather(p.c, p.to_c, p.rows, p.coefficients, true, token);
    if (p.parts & MHCS_PART_OLD_C)
        mhcs_gather(p.old_c, p.to_old_c, p.rows, p.coefficients, true, token);
    if (p.parts & MHCS_PART_SCALARS && blockIdx.x == 0 && threadIdx.x < 2)
        ((float *)p.to_scalars)[threadIdx.x] =
            mhcs_element((const void *)(threadIdx.x ? p.beta : p.alpha), p.scalar_dtype, 0);
}

#endif
