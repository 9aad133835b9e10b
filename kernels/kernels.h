/* SPDX-License-Identifier: Apache-2.0 */
/* Contract between host code and the CUDA kernels: parameter blocks and result rows, plain C.
 *
 * Every kernel takes one of the parameter structs by value. All addresses are device-visible
 * (device memory, or pinned host memory mapped into the device) and are held as uint64_t so that
 * the layout is the same for host compiler and nvcc. The kernels never allocate, never wait and
 * keep no state; results depend on nothing but their parameters, bit for bit (fixed summation
 * order, no TF32, no fused multiply-add that the host build would not do as well).
 *
 * Notation: T = tokens of the GEMM (cuBLAS' n), R = sampled rows, M = coefficients (24, head: 4),
 * K = 4 * hidden.
 */
#ifndef MHCS_KERNELS_H
#define MHCS_KERNELS_H

#include <stdint.h>

#ifdef __CUDACC__
#define MHCS_HD __host__ __device__
#else
#define MHCS_HD
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MHCS_COEFFICIENTS      24 /* pre[4] post[4] comb[16]; comb[j][k] at 8 + 4*j + k */
#define MHCS_COEFFICIENTS_HEAD 4  /* pre[4] only */
#define MHCS_STREAMS           4  /* residual streams: K = MHCS_STREAMS * hidden */
#define MHCS_ROWS_MAX          256

enum mhcs_dtype { MHCS_F32 = 0, MHCS_BF16 = 1, MHCS_F16 = 2 };

static inline MHCS_HD uint32_t mhcs_dtype_size(uint32_t dtype)
{
    return dtype == MHCS_F32 ? 4 : 2;
}

/* A matrix in device memory: element (i, j) is element i*row + j*col counted from base. */
struct mhcs_operand {
    uint64_t base;
    int64_t row, col;  /* strides in elements */
    uint32_t dtype;    /* enum mhcs_dtype */
    uint32_t indirect; /* 1: the base itself stands in device memory, at the address `base` */
};

/* What mhcs_snapshot copies; OLD_C is taken before the GEMM (only if beta may be non-zero). */
enum mhcs_part {
    MHCS_PART_FN = 1,
    MHCS_PART_X = 2,
    MHCS_PART_C = 4,
    MHCS_PART_OLD_C = 8,
    MHCS_PART_SCALARS = 16
};

/* mhcs_snapshot: gathers the sampled rows into a slot, in the operand's own dtype, packed:
 * fn [M][K], x [R][K], c [R][M], old_c [R][M], scalars {alpha, beta} as float[2].
 * Sampled row r is token mhcs_row_index(seed, r, R, T). Any stride, any element alignment.
 * Grid: any number of blocks of MHCS_SNAPSHOT_THREADS threads (grid-stride). */
#define MHCS_SNAPSHOT_NAME "mhcs_snapshot"
struct mhcs_snapshot_params {
    struct mhcs_operand fn;    /* [M][K] */
    struct mhcs_operand x;     /* [T][K] */
    struct mhcs_operand c;     /* [T][M], the result */
    struct mhcs_operand old_c; /* [T][M], what beta scales: mostly the same memory as c */
    int64_t tokens;
    uint64_t seed;
    uint32_t coefficients, k, rows;
    uint32_t parts;        /* enum mhcs_part bits */
    uint64_t alpha, beta;  /* device scalars (device pointer mode); read if PART_SCALARS */
    uint32_t scalar_dtype; /* of alpha and beta */
    uint32_t pad;
    uint64_t to_fn, to_x, to_c, to_old_c, to_scalars;
};
#define MHCS_SNAPSHOT_THREADS 256

/* mhcs_reference: raw[r][j] = alpha * sum_k x[r][k]*fn[j][k] + beta*old_c[r][j] in fp32, fixed
 * order; abs_dot[r][j] = |alpha| * sum_k |x*fn|; square_sum[r] = sum_k x^2. Rows of raw and abs_dot
 * are MHCS_COEFFICIENTS apart. Grid: R blocks of MHCS_REFERENCE_THREADS threads. */
struct mhcs_reference_params {
    uint64_t fn;      /* packed [M][K], dtype fn_dtype */
    uint64_t x;       /* packed [R][K], dtype x_dtype */
    uint64_t old_c;   /* packed [R][M], dtype c_dtype; 0: none */
    uint64_t scalars; /* float[2] {alpha, beta}; 0: use the values below */
    float alpha, beta;
    uint32_t fn_dtype, x_dtype, c_dtype;
    uint32_t coefficients, k, rows;
    uint64_t raw;        /* out: float [R][24]; 0: not wanted */
    uint64_t abs_dot;    /* out: float [R][24] */
    uint64_t square_sum; /* out: float [R] */
};
#define MHCS_REFERENCE_THREADS 256

/* The model's own constants for one site (DeepSeek-V4 reference: hc_split_sinkhorn). Without a
 * checkpoint: scale 1, base 0. Head sites use scale[0] and base[0..3]. */
struct mhcs_model_params {
    float scale[3];
    float base[MHCS_COEFFICIENTS];
    float hc_eps, norm_eps;
    int32_t iterations; /* Sinkhorn sweeps, 20 */
};

/* Errors of production against one reference, METRICS in doc/metrics.md. All dimensionless but
 * max_abs (units of the raw GEMM output) and comb_max_abs (probability). NaN: not defined for this
 * row (zero reference, non-finite value, or a head site without post and comb). Against a zero
 * reference, max_abs alone is kept, and only if production is not zero too. */
struct mhcs_row_metrics {
    float rel, rel_pre, rel_post, rel_comb; /* relative 2-norm of raw c, all and per group */
    float max_abs;
    float backward, condition;         /* condition: over the coefficients that are not zero */
    float ulp;                         /* largest over the row */
    float bias;                        /* NaN also if there is no error */
    float pre_err, post_err, comb_err; /* relative 2-norm after the maps */
    float comb_max_abs, comb_tv;       /* comb_tv: largest total variation of a row of comb */
    float bound;                       /* 2 max p(1-p) * norm2(dz), p of the reference comb */
    float y_rel;
    float y_cosdist; /* 1 - cosine of y: a float near 1 could not tell 1e-9 from 0 */
};

enum mhcs_nonfinite {
    MHCS_NONFINITE_PRODUCTION = 1,
    MHCS_NONFINITE_REFERENCE = 2,
    MHCS_NONFINITE_X = 4
};

/* The three ways one row is computed. */
enum mhcs_path { MHCS_PRODUCTION = 0, MHCS_OPERANDS = 1, MHCS_CHECKPOINT = 2, MHCS_PATHS = 3 };

/* One sampled token row, as the comparator writes it. Lists are [M] long; the rest of [24] is NaN.
 */
struct mhcs_row_result {
    float rms; /* r = 1/sqrt(mean(x^2) + norm_eps); 1 if the sample's x is normalised already */
    float raw[MHCS_PATHS][MHCS_COEFFICIENTS];    /* GEMM output */
    float mapped[MHCS_PATHS][MHCS_COEFFICIENTS]; /* pre, post, comb after the maps */
    float y_norm[MHCS_PATHS];
    struct mhcs_row_metrics against[MHCS_PATHS]; /* [MHCS_PRODUCTION] unused */
    float defect[MHCS_PATHS];                    /* max |row sum - 1| of comb */
    uint32_t nonfinite;                          /* enum mhcs_nonfinite bits */
};

/* mhcs_compare: maps, Sinkhorn and errors of R rows. Grid: R blocks of MHCS_COMPARE_THREADS. */
struct mhcs_compare_params {
    uint64_t x;                  /* packed [R][K], dtype x_dtype */
    uint64_t c;                  /* production, packed [R][M], dtype c_dtype */
    uint64_t operands;           /* float [R][24] from mhcs_reference */
    uint64_t checkpoint;         /* float [R][24]; 0: no checkpoint */
    uint64_t abs_dot;            /* float [R][24] of the operands reference */
    uint64_t checkpoint_abs_dot; /* float [R][24]; 0: no checkpoint */
    uint64_t square_sum;         /* float [R] */
    uint64_t results;            /* out: struct mhcs_row_result [R] */
    uint64_t y;                  /* out: float [MHCS_PATHS][R][K/4]; 0: not kept */
    struct mhcs_model_params model;
    uint32_t x_dtype, c_dtype;
    uint32_t coefficients, k, rows;
    uint32_t pad;
};
#define MHCS_COMPARE_THREADS 256

/* mhcs_fingerprint: identity and statistics of a weight matrix. Element (j, k) with fp32 value v
 * adds mhcs_mix64(((uint64_t)(j * K + k) << 32) ^ bits(v)) to hash[j], mod 2^64: order-free and the
 * same for fp32, bf16 and fp16 storage of the same values. Grid: M blocks of
 * MHCS_FINGERPRINT_THREADS. */
struct mhcs_fingerprint_params {
    uint64_t fn; /* packed [M][K] */
    uint32_t fn_dtype, coefficients, k, pad;
    uint64_t out; /* struct mhcs_fingerprint_row [M] */
};
#define MHCS_FINGERPRINT_THREADS 256
struct mhcs_fingerprint_row {
    uint64_t hash;
    float absmax, square_sum; /* over the finite elements, fixed order */
    uint32_t nonfinite, pad;
};

/* mhcs_widen: a packed matrix as fp32, exactly, to rows `to_row` elements apart. cuBLAS multiplies
 * in fp32 what is stored in fp32 alone. Grid: any number of blocks of MHCS_WIDEN_THREADS threads
 * (grid-stride). */
struct mhcs_widen_params {
    uint64_t from; /* packed [rows][columns], dtype; fewer than 2^32 elements */
    uint64_t to;   /* out: float */
    uint32_t dtype, rows, columns, to_row;
};
#define MHCS_WIDEN_THREADS 256

/* splitmix64's output function. */
static inline MHCS_HD uint64_t mhcs_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Token of sampled row r of R out of T >= R: one drawn at random from each of R equal stretches, so
 * the rows are distinct, ascending and spread over the batch. Host and device agree by
 * construction. */
static inline MHCS_HD int64_t mhcs_row_index(uint64_t seed, uint32_t r, uint32_t rows,
                                             int64_t tokens)
{
    const int64_t begin = (int64_t)((uint64_t)tokens * r / rows);
    const int64_t end = (int64_t)((uint64_t)tokens * (r + 1) / rows);
    return begin + (int64_t)(mhcs_mix64(seed + r) % (uint64_t)(end - begin));
}

#ifdef __cplusplus
}
#endif
#endif
