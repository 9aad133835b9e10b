/* SPDX-License-Identifier: Apache-2.0 */
/* mhcs_widen: a packed matrix of any type as fp32, exactly. */
#ifndef MHCS_WIDEN_CUH
#define MHCS_WIDEN_CUH

#include "kernels/block.cuh"

extern "C" __global__ void __launch_bounds__(MHCS_WIDEN_THREADS)
    mhcs_widen(const struct mhcs_widen_params p)
{
    const uint32_t count = p.rows * p.columns;

    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        ((float *)p.to)[(size_t)(i / p.columns) * p.to_row + i % p.columns] =
            mhcs_element((const void *)p.from, p.dtype, i);
}

#endif
