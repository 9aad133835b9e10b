/* SPDX-License-Identifier: Apache-2.0 */
/* mhcs_fingerprint: identity and statistics of a weight matrix, one block a row. */
#ifndef MHCS_FINGERPRINT_CUH
#define MHCS_FINGERPRINT_CUH

#include "kernels/block.cuh"
#include "kernels/fingerprint.h"

extern "C" __global__ void __launch_bounds__(MHCS_FINGERPRINT_THREADS)
    mhcs_fingerprint(const struct mhcs_fingerprint_params p)
{
    static_assert(MHCS_FINGERPRINT_THREADS == 32 * MHCS_WARPS, "the sum over warps is a tree of 8");
    __shared__ float square[MHCS_WARPS];
    __shared__ uint64_t hash[MHCS_WARPS];
    __shared__ uint32_t nonfinite[MHCS_WARPS], top[MHCS_WARPS];
    struct mhcs_weight_sums sums = {};

    const uint32_t j = blockIdx.x;
    for (uint32_t k = threadIdx.x; k < p.k; k += blockDim.x) {
        const size_t i = (size_t)j * p.k + k;
        mhcs_weight_add(&sums, i, mhcs_element((const void *)p.fn, p.fn_dtype, i));
    }

    mhcs_block_put(square, sums.square);
    const uint64_t warp_hash = mhcs_warp_sum(sums.hash);
    const uint32_t warp_nonfinite = mhcs_warp_sum(sums.nonfinite);
    for (int apart = 16; apart > 0; apart /= 2)
        sums.absmax_bits =
            max(sums.absmax_bits, __shfl_xor_sync(0xffffffff, sums.absmax_bits, apart));
    if (threadIdx.x % 32 == 0) {
        hash[threadIdx.x / 32] = warp_hash;
        nonfinite[threadIdx.x / 32] = warp_nonfinite;
        top[threadIdx.x / 32] = sums.absmax_bits;
    }
    __syncthreads();

    if (threadIdx.x == 0) {
        struct mhcs_fingerprint_row row = {};
        uint32_t absmax_bits = 0;
        for (int w = 0; w < MHCS_WARPS; w++) {
            row.hash += hash[w];
            row.nonfinite += nonfinite[w];
            absmax_bits = max(absmax_bits, top[w]);
        }
        row.absmax = mhcs_f32_from_bits(absmax_bits);
        row.square_sum = mhcs_sum8(square);
        ((struct mhcs_fingerprint_row *)p.out)[j] = row;
    }
}

#endif
