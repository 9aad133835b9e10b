/* SPDX-License-Identifier: Apache-2.0 */
/* mhcs_reference: the GEMM again in fp32, one block a row.
 *
 * Order of every sum over k, the same for any alignment and storage type: K is cut into groups of
 * eight; a thread takes groups t, t + 256, ..., sums the eight products as a tree and adds that to
 * its accumulator; then the warp's lanes and the eight warps as trees. A group past the end counts
 * as zeros. Rounding grows with the depth, K/2048 + 11 additions, not with K: 1e-7 of the result's
 * norm at K = 16384, a tenth of what a sequential fp32 GEMM shows.
 */
#ifndef MHCS_REFERENCE_CUH
#define MHCS_REFERENCE_CUH

#include "kernels/block.cuh"

#define MHCS_GROUP 8 /* elements of k a thread takes at a time */
#define MHCS_TILE  4 /* coefficients in flight: M is a multiple */

/* How groups of an operand are read: vectors of the two usual types, or element by element, which
 * takes any type, alignment and length. */
enum mhcs_load { MHCS_LOAD_F32, MHCS_LOAD_BF16, MHCS_LOAD_ELEMENTS };

/* Elements k .. k+7 of a row as fp32; zeros from `end` on. */
template <enum mhcs_load load>
static __device__ void mhcs_load_group(float *v, uint64_t row, uint32_t dtype, uint32_t k,
                                       uint32_t end)
{
    if (load == MHCS_LOAD_F32) {
        const float4 *from = (const float4 *)(row + (uint64_t)k * 4);
        const float4 a = from[0], b = from[1];
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
    } else if (load == MHCS_LOAD_BF16) {
        const uint4 pairs = *(const uint4 *)(row + (uint64_t)k * 2);
        const uint32_t word[] = {pairs.x, pairs.y, pairs.z, pairs.w};
        for (int e = 0; e < MHCS_GROUP; e += 2) {
            v[e] = mhcs_f32_from_bits(word[e / 2] << 16);
            v[e + 1] = mhcs_f32_from_bits(word[e / 2] & 0xffff0000);
        }
    } else {
        for (uint32_t e = 0; e < MHCS_GROUP; e++)
            v[e] = k + e < end ? mhcs_element((const void *)row, dtype, k + e) : 0;
    }
}

/* Calls f with the way to read as a compile-time constant, so that the inner loop has no branch. */
template <typename F>
static __device__ void mhcs_with_load(uint64_t base, uint32_t dtype, uint32_t length, F f)
{
    const bool whole = base % 16 == 0 && length % MHCS_GROUP == 0;
    if (whole && dtype == MHCS_F32)
        f(std::integral_constant<enum mhcs_load, MHCS_LOAD_F32>());
    else if (whole && dtype == MHCS_BF16)
        f(std::integral_constant<enum mhcs_load, MHCS_LOAD_BF16>());
    else
        f(std::integral_constant<enum mhcs_load, MHCS_LOAD_ELEMENTS>());
}

/* One tile of coefficients: this thread's share of dot, abs_dot and, if asked, sum x^2. */
struct mhcs_tile_sums {
    float dot[MHCS_TILE], abs_dot[MHCS_TILE], square;
};

template <enum mhcs_load load>
static __device__ void mhcs_tile_add(struct mhcs_tile_sums &sums, const float *x, uint64_t fn,
                                     const struct mhcs_reference_params &p, uint32_t k)
{
    const uint64_t fn_row = (uint64_t)p.k * mhcs_dtype_size(p.fn_dtype);
#pragma unroll /* or the sums would live in memory */
    for (uint32_t j = 0; j < MHCS_TILE; j++) {
        float product[MHCS_GROUP], size[MHCS_GROUP];
        mhcs_load_group<load>(product, fn + j * fn_row, p.fn_dtype, k, p.k);
        for (int e = 0; e < MHCS_GROUP; e++) {
            product[e] *= x[e];
            size[e] = fabsf(product[e]);
        }
        sums.dot[j] += mhcs_sum8(product);
        sums.abs_dot[j] += mhcs_sum8(size);
    }
}

template <enum mhcs_load load>
static __device__ void mhcs_dot_row(const struct mhcs_reference_params &p, uint64_t x_row,
                                    float (*partial)[MHCS_WARPS])
{
    for (uint32_t tile = 0; tile < p.coefficients; tile += MHCS_TILE) {
        const uint64_t fn = p.fn + (uint64_t)tile * p.k * mhcs_dtype_size(p.fn_dtype);
        struct mhcs_tile_sums sums = {};
        for (uint32_t k = threadIdx.x * MHCS_GROUP; k < p.k; k += blockDim.x * MHCS_GROUP) {
            float x[MHCS_GROUP];
            mhcs_with_load(p.x, p.x_dtype, p.k, [&](auto x_load) {
                mhcs_load_group<x_load.value>(x, x_row, p.x_dtype, k, p.k);
            });
            mhcs_tile_add<load>(sums, x, fn, p, k);
            if (tile == 0) {
                for (int e = 0; e < MHCS_GROUP; e++)
                    x[e] *= x[e];
                sums.square += mhcs_sum8(x);
            }
        }
#pragma unroll
        for (uint32_t j = 0; j < MHCS_TILE; j++) {
            mhcs_block_put(partial[tile + j], sums.dot[j]);
            mhcs_block_put(partial[MHCS_COEFFICIENTS + tile + j], sums.abs_dot[j]);
        }
        if (tile == 0)
            mhcs_block_put(partial[2 * MHCS_COEFFICIENTS], sums.square);
    }
}

extern "C" __global__ void __launch_bounds__(MHCS_REFERENCE_THREADS, 1)
    mhcs_reference(const struct mhcs_reference_params p)
{
    static_assert(MHCS_REFERENCE_THREADS == 32 * MHCS_WARPS, "the sum over warps is a tree of 8");
    __shared__ float partial[2 * MHCS_COEFFICIENTS + 1][MHCS_WARPS];
    const uint32_t r = blockIdx.x;
    const uint64_t x_row = p.x + (uint64_t)r * p.k * mhcs_dtype_size(p.x_dtype);

    mhcs_with_load(p.fn, p.fn_dtype, p.k,
                   [&](auto load) { mhcs_dot_row<load.value>(p, x_row, partial); });
    __syncthreads();

    const uint32_t j = threadIdx.x;
    if (j < p.coefficients) {
        const float *scalars = (const float *)p.scalars;
        const float alpha = scalars ? scalars[0] : p.alpha;
        const float beta = scalars ? scalars[1] : p.beta;
        float raw = alpha * mhcs_sum8(partial[j]);
        if (p.old_c && beta != 0) /* as in cuBLAS, beta 0 lets no NaN of the old C through */
            raw += beta *
                   mhcs_element((const void *)p.old_c, p.c_dtype, (size_t)r * p.coefficients + j);
        if (p.raw)
            ((float *)p.raw)[r * MHCS_COEFFICIENTS + j] = raw;
        ((float *)p.abs_dot)[r * MHCS_COEFFICIENTS + j] =
            fabsf(alpha) * mhcs_sum8(partial[MHCS_COEFFICIENTS + j]);
    }
    if (j == MHCS_COEFFICIENTS)
        ((float *)p.square_sum)[r] = mhcs_sum8(partial[2 * MHCS_COEFFICIENTS]);
}

#endif
