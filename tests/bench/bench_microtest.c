/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the microtest's GEMMs are next to what this machine's OpenBLAS can do, on all threads:
 * square matrices that fit the cache give its rate. All alternate in one run, so that a ratio
 * compares like with like on a busy machine; each figure is the median of many rounds.
 *
 *     bench_microtest
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "tools/microtest/arithmetic.h"
#include "tools/microtest/errors.h"
#include "tools/parallel.h"

#define ROUNDS 31
#define SQUARE 512
#define ROWS   MHCS_CHUNK_ROWS
#define K      16384
#define PIECES 16

enum work { SGEMM, MIXING_F32, MIXING_SPLIT, WORKS };
static const struct {
    const char *name;
    double flops; /* of one task */
} works[WORKS] = {
    [SGEMM] = {"sgemm, 512 x 512 x 512", 2.0 * SQUARE *SQUARE *SQUARE},
    [MIXING_F32] = {"mixing GEMM, fp32", 2.0 * ROWS *MHCS_COEFFICIENTS *K},
    [MIXING_SPLIT] = {"mixing GEMM, bf16 split-K", 2.0 * ROWS *MHCS_COEFFICIENTS *K},
};

struct buffers {
    enum work work;
    float *x, *fn, *c; /* x, c: per thread */
};

#define X_FLOATS ((size_t)ROWS * K)
#define C_FLOATS ((size_t)SQUARE * SQUARE)

static void do_task(void *context, size_t task, uint32_t thread)
{
    const struct buffers *b = context;
    float *const x = b->x + thread * X_FLOATS, *const c = b->c + thread * C_FLOATS;

    if (b->work == SGEMM)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, SQUARE, SQUARE, SQUARE, 1, x, SQUARE,
                    b->fn, SQUARE, 0, c, SQUARE);
    else if (b->work == MIXING_F32)
        mhcs_gemm_f32(x, b->fn, c, ROWS, MHCS_COEFFICIENTS, K);
    else
        mhcs_gemm_as(&mhcs_arithmetic[MHCS_ARITHMETIC_BF16_SPLIT], PIECES, x, b->fn, c, ROWS,
                     MHCS_COEFFICIENTS, K);
}

/* GFLOP/s of one round: about as much work whichever it is. */
static double round_of(struct buffers *b, enum work work, uint32_t threads)
{
    const size_t tasks = threads * (size_t)(4 * works[SGEMM].flops / works[work].flops);
    const double begin = bench_now();

    b->work = work;
    mhcs_parallel(threads, tasks, do_task, b);
    return works[work].flops * (double)tasks / (bench_now() - begin) / 1e9;
}

int main(void)
{
    const uint32_t threads = mhcs_parallel_cores();
    struct buffers b = {.x = calloc(threads * X_FLOATS, sizeof(float)),
                        .fn = calloc((size_t)MHCS_COEFFICIENTS * K, sizeof(float)),
                        .c = calloc(threads * C_FLOATS, sizeof(float))};
    double rate[WORKS][ROUNDS], sgemm = 1;
    char blas[128];

    if (!b.x || !b.fn || !b.c)
        return 1;
    for (size_t i = 0; i < threads * X_FLOATS; i++)
        b.x[i] = (float)(i % 255) - 127;
    for (size_t i = 0; i < (size_t)MHCS_COEFFICIENTS * K; i++)
        b.fn[i] = (float)(i % 251) - 125;
    mhcs_arithmetic_init(blas, sizeof(blas));
    for (int r = 0; r < ROUNDS; r++)
        for (int work = 0; work < WORKS; work++)
            rate[work][r] = round_of(&b, (enum work)work, threads);
    printf("%s, %u threads\n%-28s %10s %8s\n", blas, threads, "", "GFLOP/s", "ratio");
    for (int work = 0; work < WORKS; work++) {
        const double median = bench_spread(rate[work], ROUNDS).median;

        sgemm = work == SGEMM ? median : sgemm;
        printf("%-28s %10.1f %8.2f\n", works[work].name, median, median / sgemm);
    }
    free(b.x);
    free(b.fn);
    free(b.c);
    return 0;
}
