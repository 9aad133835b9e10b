/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/microtest/compound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mhc_math.h"
#include "shadow/model/round.h"
#include "tools/microtest/gpu.h"
#include "tools/parallel.h"

/* One for each arithmetic of the machine, and one more, by which the others are judged: in fp32, on
 * the CPU. */
#define RUNS (MHCS_ARITHMETIC_COUNT + 1)

struct mhcs_compound {
    const struct mhcs_machine *machine;
    uint32_t rows, k;
    int runs, judge;      /* the last run */
    float *streams[RUNS]; /* [rows][k] */
    float *scratch;       /* per thread: a chunk of rounded streams; for a GPU: all rows */
    float *products;      /* [run][rows][24] by the GPU */
    /* Of the site being worked on. */
    const struct mhcs_model_site *site;
    const struct mhcs_prepared *weights;
};

struct mhcs_compound *mhcs_compound_new(const struct mhcs_states *states,
                                        const struct mhcs_machine *machine)
{
    struct mhcs_compound *compound = calloc(1, sizeof(*compound));
    size_t count, chunks;

    if (!compound)
        return NULL;
    compound->machine = machine;
    compound->rows = states->rows < MHCS_COMPOUND_ROWS_MAX ? states->rows : MHCS_COMPOUND_ROWS_MAX;
    compound->k = states->k;
    compound->judge = mhcs_arithmetics_of(machine);
    compound->runs = compound->judge + 1;
    count = (size_t)compound->rows * states->k;
    chunks = (size_t)machine->threads * MHCS_CHUNK_ROWS * states->k;
    compound->scratch = malloc((count > chunks ? count : chunks) * sizeof(float));
    compound->products = malloc(RUNS * sizeof(float) * compound->rows * MHCS_COEFFICIENTS);
    for (int run = 0; run < compound->runs; run++) {
        compound->streams[run] = malloc(count * sizeof(float));
        if (!compound->streams[run] || !compound->scratch || !compound->products) {
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
    free(compound->products);
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

/* c of some rows of a run. */
static void multiply(const struct mhcs_compound *compound, int run, uint32_t first, uint32_t rows,
                     float *rounded, float *c)
{
    const float *x = compound->streams[run] + (size_t)first * compound->k;

    if (run == compound->judge) {
        mhcs_gemm_f32(x, compound->weights->form[MHCS_AS_F32], c, rows, MHCS_COEFFICIENTS,
                      compound->k);
    } else if (compound->machine->gpu) {
        memcpy(c, compound->products + ((size_t)run * compound->rows + first) * MHCS_COEFFICIENTS,
               (size_t)rows * MHCS_COEFFICIENTS * sizeof(*c));
    } else {
        const struct mhcs_arithmetic *as = &mhcs_arithmetic[run];

        mhcs_round_to(as->operands, x, rounded, (size_t)rows * compound->k);
        mhcs_gemm_as(as, compound->machine->pieces, rounded, compound->weights->form[as->operands],
                     c, rows, MHCS_COEFFICIENTS, compound->k);
    }
}

static void work_chunk(void *context, size_t task, uint32_t thread)
{
    const struct mhcs_compound *compound = context;
    const uint32_t k = compound->k;
    const int run = (int)(task % (size_t)compound->runs);
    const uint32_t first = (uint32_t)(task / (size_t)compound->runs) * MHCS_CHUNK_ROWS;
    const uint32_t left = compound->rows - first;
    const uint32_t rows = left < MHCS_CHUNK_ROWS ? left : MHCS_CHUNK_ROWS;
    float *x = compound->streams[run] + (size_t)first * k;
    float c[MHCS_CHUNK_ROWS * MHCS_COEFFICIENTS];

    multiply(compound, run, first, rows, compound->scratch + (size_t)thread * MHCS_CHUNK_ROWS * k,
             c);
    for (uint32_t r = 0; r < rows; r++)
        step(&compound->site->params, c + r * MHCS_COEFFICIENTS, x + (size_t)r * k, k);
}

/* The products of all runs but the judge's, before the threads take the rows on. */
static int multiply_on_gpu(struct mhcs_compound *compound, char *error)
{
    const size_t count = (size_t)compound->rows * compound->k;
    int ret = 0;

    for (int run = 0; run < compound->judge && !ret; run++) {
        const enum mhcs_arithmetic_kind kind = (enum mhcs_arithmetic_kind)run;
        const enum mhcs_operand_form form = mhcs_gpu_operands(kind);

        mhcs_round_to(form, compound->streams[run], compound->scratch, count);
        ret = mhcs_gpu_gemm(compound->machine->gpu, kind, compound->scratch,
                            compound->weights->form[form],
                            compound->products + (size_t)run * compound->rows * MHCS_COEFFICIENTS,
                            compound->rows, MHCS_COEFFICIENTS, compound->k, error);
    }
    return ret;
}

int mhcs_compound_site(struct mhcs_compound *compound, const struct mhcs_model_site *site,
                       const struct mhcs_prepared *prepared, char error[MHCS_MODEL_ERROR])
{
    const size_t chunks = (compound->rows + MHCS_CHUNK_ROWS - 1) / MHCS_CHUNK_ROWS;
    int ret = 0;

    compound->site = site;
    compound->weights = prepared;
    if (compound->machine->gpu)
        ret = multiply_on_gpu(compound, error);
    if (!ret)
        mhcs_parallel(compound->machine->threads, chunks * (size_t)compound->runs, work_chunk,
                      compound);
    return ret;
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
    for (int run = 0; run < compound->judge; run++) {
        double squares = 0, cosine = 0;

        for (uint32_t r = 0; r < compound->rows; r++) {
            const size_t at = (size_t)r * compound->k;
            double rel;

            cosine = fmax(cosine, cosine_distance(compound->streams[run] + at,
                                                  compound->streams[compound->judge] + at,
                                                  compound->k, &rel));
            squares += rel * rel;
        }
        ret_drift[run] =
            (struct mhcs_drift){.rel = sqrt(squares / compound->rows), .cosine = cosine};
    }
}
