/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels share: typed element access and sums over a block in a fixed order. */
#ifndef MHCS_BLOCK_CUH
#define MHCS_BLOCK_CUH

#include <type_traits>

#include "kernels/dtype.h"

#define MHCS_WARPS 8 /* of every kernel that sums: 256 threads */

template <uint32_t dtype> static __device__ float mhcs_element_as(uint64_t base, size_t i)
{
    return mhcs_element((const void *)base, dtype, i);
}

/* Calls f with the dtype as a compile-time constant, so that loops hold no branch on it. */
template <typename F> static __device__ void mhcs_with_dtype(uint32_t dtype, F f)
{
    if (dtype == MHCS_F32)
        f(std::integral_constant<uint32_t, MHCS_F32>());
    else if (dtype == MHCS_BF16)
        f(std::integral_constant<uint32_t, MHCS_BF16>());
    else
        f(std::integral_constant<uint32_t, MHCS_F16>());
}

/* The order of every sum of eight. */
static __device__ float mhcs_sum8(const float *v)
{
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* Sum over the lanes of a warp, in every lane: halves are folded onto each other, 16 apart first.
 */
template <typename T> static __device__ T mhcs_warp_sum(T v)
{
    for (int apart = 16; apart > 0; apart /= 2)
        v += __shfl_xor_sync(0xffffffff, v, apart);
    return v;
}

/* First half of a sum over the block: value v of this thread goes to partial[MHCS_WARPS]. After a
 * barrier mhcs_sum8(partial) is the sum. */
static __device__ void mhcs_block_put(float *partial, float v)
{
    v = mhcs_warp_sum(v);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
}

#endif
