/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/microtest/compound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mhc_math.h"
#include "shadow/model/round.h"
#include "tools/parallel.h"

#define RUNS (MHCS_ARITHMETIC_COUNT + 1) /* the last one is fp32's */
#define FP32 MHCS_ARITHMETIC_COUNT

struct mhcs_compound {
    uint32_t rows, k, pieces, threads;
    float *streams[RUNS]; /* [rows][k] */
    float *scratch;       /* per thread: a chunk of rounded streams */
    /* Of the site being worked on. */
    const struct mhcs_model_site *site;
    const struct mhcs_prepared *weights;
};

struct mhcs_compound *mhcs_compound_new(const struct mhcs_states *states, uint32_t pieces,
                                        uint32_t threads)
{
    struct mhcs_compound *compound = calloc(1, sizeof(*compound));
    size_t count;

    if (!compound)
        return NULL;
    compound->rows = states->rows < MHCS_COMPOUND_ROWS_MAX ? states->rows : MHCS_COMPOUND_ROWS_MAX;
    compound->k = states->k;
    compound->pieces = pieces;
    compound->threads = threads;
    compound->scratch = malloc((size_t)threads * MHCS_CHUNK_ROWS * states->k * sizeof(float));
    count = (size_t)compound->rows * states->k;
    for (int run = 0; run < RUNS; run++) {
        compound->streams[run] = malloc(count * sizeof(float));
        if (!compound->streams[run] || !compound->scratch) {
            mhcs_compound_free(compound);
            return NULL;
        }
        mhcs_round_to(MHCS_AS_BF16, states->x, compound->streams[run], count);
    }
    return compound;
}

void mhcs_compound_free(struct mhcs_compound *compound)
{
    if (!compound)
        return;
    for (int run = 0; run < RUNS; run++)
        free(compound->streams[run]);
    free(compound->scratch);
    free(compound);
}

static double square_sum(const float *x, uint32_t count)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

/* One row through maps, stub and mixing; `raw` is its GEMM's result. */
static void step(const struct mhcs_model_params *params, const float *raw, float *x, uint32_t k)
{
    const float rms = mhcs_rms_factor_f32((float)square_sum(x, k), k, params->norm_eps);
    const uint32_t hidden = k / MHCS_STREAMS;
    float mapped[MHCS_COEFFICIENTS], norm;
    const float *pre = mapped, *post = mapped + 4, *comb = mapped + 8;
    double squares = 0;

    mhcs_map_f32(params, MHCS_COEFFICIENTS, rms, raw, mapped);
    for (uint32_t d = 0; d < hidden; d++) {
        const float y = pre[0] * x[d] + pre[1] * x[hidden + d] + pre[2] * x[2 * hidden + d] +
                        pre[3] * x[3 * hidden + d];

        squares += (double)y * y;
    }
    norm = (float)(1 / sqrt(squares / hidden + (double)params->norm_eps));
    for (uint32_t d = 0; d < hidden; d++) {
        float *at = x + d;
        const float old[] = {at[0], at[hidden], at[2 * (size_t)hidden], at[3 * (size_t)hidden]};
        const float y = pre[0] * old[0] + pre[1] * old[1] + pre[2] * old[2] + pre[3] * old[3];
        const float s = mhcs_round_bf16(y * norm);

        for (uint32_t i = 0; i < MHCS_STREAMS; i++)
            at[i * (size_t)hidden] =
                mhcs_round_bf16(post[i] * s + (comb[i] * old[0] + comb[4 + i] * old[1] +
                                               comb[8 + i] * old[2] + comb[12 + i] * old[3]));
    }
}

static void work_chunk(void *context, size_t task, uint32_t thread)
{
    const struct mhcs_compound *compound = context;
    const uint32_t k = compound->k, run = (uint32_t)(task % RUNS);
    const uint32_t first = (uint32_t)(task / RUNS) * MHCS_CHUNK_ROWS;
    const uint32_t left = compound->rows - first;
    const uint32_t rows = left < MHCS_CHUNK_ROWS ? left : MHCS_CHUNK_ROWS;
    float *x = compound->streams[run] + (size_t)first * k;
    float *rounded = compound->scratch + (size_t)thread * MHCS_CHUNK_ROWS * k;
    float c[MHCS_CHUNK_ROWS * MHCS_COEFFICIENTS];

    if (run == FP32) {
        mhcs_gemm_f32(x, compound->weights->form[MHCS_AS_F32], c, rows, MHCS_COEFFICIENTS, k);
    } else {
        const struct mhcs_arithmetic *as = &mhcs_arithmetic[run];

        mhcs_round_to(as->operands, x, rounded, (size_t)rows * k);
        mhcs_gemm_as(as, compound->pieces, rounded, compound->weights->form[as->operands], c, rows,
                     MHCS_COEFFICIENTS, k);
    }
    for (uint32_t r = 0; r < rows; r++)
        step(&compound->site->params, c + r * MHCS_COEFFICIENTS, x + (size_t)r * k, k);
}

void mhcs_compound_site(struct mhcs_compound *compound, const struct mhcs_model_site *site,
                        const struct mhcs_prepared *prepared)
{
    const uint32_t chunks = (compound->rows + MHCS_CHUNK_ROWS - 1) / MHCS_CHUNK_ROWS;

    compound->site = site;
    compound->weights = prepared;
    mhcs_parallel(compound->threads, (size_t)chunks * RUNS, work_chunk, compound);
}

/* 1 - a.b / (|a||b|) by way of d = a - b: near 0 the product would say nothing. */
static double cosine_distance(const float *a, const float *b, uint32_t k, double *ret_rel)
{
    double aa = 0, bb = 0, dd = 0, gap;

    for (uint32_t i = 0; i < k; i++) {
        const double d = (double)a[i] - b[i];

        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
        dd += d * d;
    }
    gap = sqrt(aa) - sqrt(bb);
    *ret_rel = sqrt(dd / bb);
    return fmax(0, (dd - gap * gap) / (2 * sqrt(aa) * sqrt(bb)));
}

void mhcs_compound_drift(const struct mhcs_compound *compound,
                         struct mhcs_drift ret_drift[MHCS_ARITHMETIC_COUNT])
{
    for (int run = 0; run < MHCS_ARITHMETIC_COUNT; run++) {
        double squares = 0, cosine = 0;

        for (uint32_t r = 0; r < compound->rows; r++) {
            const size_t at = (size_t)r * compound->k;
            double rel;

            cosine = fmax(cosine, cosine_distance(compound->streams[run] + at,
                                                  compound->streams[FP32] + at, compound->k, &rel));
            squares += rel * rel;
        }
        ret_drift[run] =
            (struct mhcs_drift){.rel = sqrt(squares / compound->rows), .cosine = cosine};
    }
}
