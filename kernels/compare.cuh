/* SPDX-License-Identifier: Apache-2.0 */
/* mhcs_compare: one block a row. The three paths, and their changes, are mapped by three lanes side
 * by side, y is
 * summed by all threads, the two comparisons are measured by two lanes; the result is gathered in
 * shared memory and written once, since it goes over the bus to pinned host memory.
 */
#ifndef MHCS_COMPARE_CUH
#define MHCS_COMPARE_CUH

#include "kernels/block.cuh"
#include "kernels/mhc_metrics.h"

/* Sums over y that a block keeps; all floats, so that one routine adds them up. */
struct mhcs_compare_sums {
    float aa;                             /* production: |y|^2 */
    float bb[2], dd[2], ds[2], ab[2];     /* against operands, checkpoint: struct mhcs_y_sums_f32 */
    float x_nonfinite;                    /* number of elements */
    float votes_normalised, rows_nonzero; /* of the sample */
};
#define MHCS_COMPARE_SUMS (sizeof(struct mhcs_compare_sums) / sizeof(float))

struct mhcs_compare_shared {
    struct mhcs_row_result result;
    float raw_change[MHCS_PATHS][MHCS_COEFFICIENTS]; /* production less that path */
    float change[MHCS_PATHS][MHCS_COEFFICIENTS];     /* the same, of mapped */
    float abs_dot[MHCS_PATHS][MHCS_COEFFICIENTS];
    float partial[MHCS_COMPARE_SUMS][MHCS_WARPS];
    float sum[MHCS_COMPARE_SUMS];
};

static __device__ void mhcs_sum_block(struct mhcs_compare_shared &s, uint32_t first, uint32_t count,
                                      const float *values)
{
    for (uint32_t i = 0; i < count; i++)
        mhcs_block_put(s.partial[first + i], values[i]);
    __syncthreads();
    if (threadIdx.x < count)
        s.sum[first + threadIdx.x] = mhcs_sum8(s.partial[first + threadIdx.x]);
    __syncthreads();
}

/* r of this block's row; every block counts the votes of all rows again rather than wait for
 * another kernel. */
static __device__ float mhcs_row_rms(const struct mhcs_compare_params &p,
                                     struct mhcs_compare_shared &s)
{
    const float *square_sum = (const float *)p.square_sum;
    float count[2] = {0, 0};
    if (threadIdx.x < p.rows) {
        count[0] = mhcs_votes_normalised_f32(square_sum[threadIdx.x], p.k);
        count[1] = square_sum[threadIdx.x] != 0;
    }
    const uint32_t first = offsetof(struct mhcs_compare_sums, votes_normalised) / sizeof(float);
    mhcs_sum_block(s, first, 2, count);
    return mhcs_is_normalised_f32(s.sum[first], s.sum[first + 1])
               ? 1.0f
               : mhcs_rms_factor_f32(square_sum[blockIdx.x], p.k, p.model.norm_eps);
}

static __device__ float mhcs_raw(const struct mhcs_compare_params &p, uint32_t path, uint32_t j)
{
    if (path == MHCS_PRODUCTION)
        return mhcs_element((const void *)p.c, p.c_dtype, (size_t)blockIdx.x * p.coefficients + j);
    const float *raw = (const float *)(path == MHCS_OPERANDS ? p.operands : p.checkpoint);
    return raw[blockIdx.x * MHCS_COEFFICIENTS + j];
}

static __device__ float mhcs_raw_abs_dot(const struct mhcs_compare_params &p, uint32_t path,
                                         uint32_t j)
{
    const uint64_t from = path == MHCS_CHECKPOINT ? p.checkpoint_abs_dot : p.abs_dot;
    return ((const float *)from)[blockIdx.x * MHCS_COEFFICIENTS + j];
}

static __device__ bool mhcs_path_present(const struct mhcs_compare_params &p, uint32_t path)
{
    return path != MHCS_CHECKPOINT || p.checkpoint;
}

/* Thread t loads coefficient t % 24 of path t / 24; what is not there is NaN. */
static __device__ void mhcs_load_paths(const struct mhcs_compare_params &p,
                                       struct mhcs_compare_shared &s)
{
    const uint32_t path = threadIdx.x / MHCS_COEFFICIENTS, j = threadIdx.x % MHCS_COEFFICIENTS;
    if (path >= MHCS_PATHS)
        return;
    const bool there = j < p.coefficients && mhcs_path_present(p, path);
    const float raw = there ? mhcs_raw(p, path, j) : mhcs_nan();
    s.result.raw[path][j] = raw;
    s.result.mapped[path][j] = s.change[path][j] = mhcs_nan();
    s.raw_change[path][j] = there ? mhcs_raw(p, MHCS_PRODUCTION, j) - raw : mhcs_nan();
    s.abs_dot[path][j] = there ? mhcs_raw_abs_dot(p, path, j) : mhcs_nan();
}

/* Lanes 0..2 map one path each. */
static __device__ void mhcs_map_paths(const struct mhcs_compare_params &p,
                                      struct mhcs_compare_shared &s, float rms)
{
    const uint32_t path = threadIdx.x;
    const bool mine = path < MHCS_PATHS && mhcs_path_present(p, path);
    if (mine)
        mhcs_map_change_f32(&p.model, p.coefficients, rms, s.result.raw[path], s.raw_change[path],
                            s.result.mapped[path], s.change[path]);
    __syncthreads();
    if (mine)
        mhcs_settle_change_f32(&p.model, p.coefficients, rms, s.raw_change[path],
                               s.result.mapped[path], s.result.mapped[MHCS_PRODUCTION],
                               s.change[path]);
    __syncthreads();
}

/* y = sum_i pre[i] x[i] of all paths and the sums over it. A reference's y comes from production's
 * by way of the difference, d = sum_i (pre^ - pre)[i] x[i], which is thereby free of the rounding
 * of the two. */
template <uint32_t x_dtype>
static __device__ void mhcs_sum_y(const struct mhcs_compare_params &p,
                                  const struct mhcs_compare_shared &s, uint64_t x, float scale,
                                  struct mhcs_compare_sums &sums)
{
    const uint32_t hidden = p.k / MHCS_STREAMS;
    float *y = (float *)p.y + (size_t)blockIdx.x * hidden;
    const size_t path_step = (size_t)p.rows * hidden;
    float pre[MHCS_PATHS][MHCS_STREAMS];
    for (uint32_t path = 0; path < MHCS_PATHS; path++)
        for (uint32_t i = 0; i < MHCS_STREAMS; i++)
            pre[path][i] =
                scale * (path == MHCS_PRODUCTION ? s.result.mapped[path][i] : s.change[path][i]);

    for (uint32_t d = threadIdx.x; d < hidden; d += blockDim.x) {
        float v[MHCS_STREAMS], out[MHCS_PATHS];
        for (uint32_t i = 0; i < MHCS_STREAMS; i++) {
            v[i] = mhcs_element_as<x_dtype>(x, i * hidden + d);
            sums.x_nonfinite += mhcs_bits_finite(mhcs_f32_bits(v[i])) ? 0 : 1;
        }
        for (uint32_t path = 0; path < MHCS_PATHS; path++)
            out[path] = (pre[path][0] * v[0] + pre[path][1] * v[1]) +
                        (pre[path][2] * v[2] + pre[path][3] * v[3]);
        const float a = out[MHCS_PRODUCTION];
        sums.aa += a * a;
        for (uint32_t i = 0; i < 2; i++) {
            const float difference = out[1 + i], b = a - difference;
            sums.bb[i] += b * b;
            sums.dd[i] += difference * difference;
            sums.ds[i] += difference * (a + b);
            sums.ab[i] += a * b;
            out[1 + i] = b;
        }
        if (p.y)
            for (uint32_t path = 0; path < MHCS_PATHS; path++)
                y[path * path_step + d] = out[path] / scale;
    }
}

/* Lane i measures production against reference 1 + i and fills what belongs to that reference. */
static __device__ void mhcs_measure_reference(const struct mhcs_compare_params &p,
                                              struct mhcs_compare_shared &s, uint32_t i,
                                              const struct mhcs_compare_sums &sums, float scale)
{
    struct mhcs_row_result &result = s.result;
    const uint32_t path = 1 + i;
    const struct mhcs_comparison_f32 of = {result.raw[path], s.raw_change[path], s.abs_dot[path],
                                           result.mapped[path], s.change[path]};
    struct mhcs_y_sums_f32 y = {sums.aa, sums.bb[0], sums.dd[0], sums.ds[0], sums.ab[0]};
    if (i == 1)
        y = {sums.aa, sums.bb[1], sums.dd[1], sums.ds[1], sums.ab[1]};

    mhcs_metrics_clear(&result.against[path]);
    result.y_norm[path] = sqrtf(y.bb) / scale;
    if (mhcs_all_finite_f32(result.raw[MHCS_PRODUCTION], p.coefficients) &&
        mhcs_all_finite_f32(of.raw, p.coefficients) && sums.x_nonfinite == 0)
        mhcs_measure_f32(&result.against[path], p.coefficients, &of, result.rms * p.model.scale[2],
                         &y);
}

static __device__ uint32_t mhcs_nonfinite_bits(const struct mhcs_compare_params &p,
                                               const struct mhcs_row_result &result, bool x)
{
    uint32_t bits = x ? MHCS_NONFINITE_X : 0;
    if (!mhcs_all_finite_f32(result.raw[MHCS_PRODUCTION], p.coefficients))
        bits |= MHCS_NONFINITE_PRODUCTION;
    for (uint32_t path = MHCS_OPERANDS; path < MHCS_PATHS; path++)
        if (mhcs_path_present(p, path) && !mhcs_all_finite_f32(result.raw[path], p.coefficients))
            bits |= MHCS_NONFINITE_REFERENCE;
    return bits;
}

extern "C" __global__ void __launch_bounds__(MHCS_COMPARE_THREADS, 1)
    mhcs_compare(const struct mhcs_compare_params p)
{
    static_assert(MHCS_COMPARE_THREADS == 32 * MHCS_WARPS, "the sum over warps is a tree of 8");
    static_assert(MHCS_COMPARE_THREADS >= MHCS_ROWS_MAX, "one thread counts the vote of one row");
    __shared__ struct mhcs_compare_shared s;
    const uint32_t t = threadIdx.x;

    mhcs_load_paths(p, s);
    const float rms = mhcs_row_rms(p, s); /* its barriers also end the loading */
    mhcs_map_paths(p, s, rms);

    /* y is summed as that of the normalised row, near enough: its squares stay in range whatever
     * the size of x. A power of two, so nothing is rounded. */
    const float scale = rms > 0 ? mhcs_power_f32(rms) : 1.0f;
    struct mhcs_compare_sums sums = {};
    const uint64_t x = p.x + (uint64_t)blockIdx.x * p.k * mhcs_dtype_size(p.x_dtype);
    mhcs_with_dtype(p.x_dtype,
                    [&](auto x_dtype) { mhcs_sum_y<x_dtype.value>(p, s, x, scale, sums); });
    const float values[] = {sums.aa,    sums.bb[0], sums.bb[1], sums.dd[0], sums.dd[1],
                            sums.ds[0], sums.ds[1], sums.ab[0], sums.ab[1], sums.x_nonfinite};
    mhcs_sum_block(s, 0, sizeof(values) / sizeof(*values), values);
    memcpy(&sums, s.sum, sizeof(sums));

    if (t < MHCS_PATHS)
        s.result.defect[t] = p.coefficients == MHCS_COEFFICIENTS
                                 ? mhcs_defect_f32(s.result.mapped[t] + 8)
                                 : mhcs_nan();
    if (t == 0) {
        s.result.rms = rms;
        s.result.y_norm[MHCS_PRODUCTION] = sqrtf(sums.aa) / scale;
        mhcs_metrics_clear(&s.result.against[MHCS_PRODUCTION]);
        s.result.nonfinite = mhcs_nonfinite_bits(p, s.result, sums.x_nonfinite != 0);
    }
    __syncwarp();
    if (t < 2)
        mhcs_measure_reference(p, s, t, sums, scale);
    __syncthreads();

    uint32_t *to = (uint32_t *)((struct mhcs_row_result *)p.results + blockIdx.x);
    for (uint32_t i = t; i < sizeof(s.result) / 4; i += blockDim.x)
        to[i] = ((const uint32_t *)&s.result)[i];
}

#endif
