/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are spread over the threads in chunks; what they add up to is added in their order. */
#include "tools/microtest/errors.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/host_reference.h"
#include "tools/microtest/gpu.h"
#include "tools/parallel.h"

/* ---- weights ---- */

int mhcs_prepared_init(struct mhcs_prepared *prepared, uint32_t k)
{
    const size_t bytes = (size_t)MHCS_COEFFICIENTS * k * sizeof(float);

    *prepared = (struct mhcs_prepared){0};
    prepared->magnitude = malloc(bytes);
    for (int f = 0; f < MHCS_AS_COUNT; f++)
        prepared->form[f] = malloc(bytes);
    for (int f = 0; f < MHCS_AS_COUNT; f++)
        if (!prepared->form[f] || !prepared->magnitude) {
            mhcs_prepared_free(prepared);
            return -ENOMEM;
        }
    return 0;
}

void mhcs_prepared_free(struct mhcs_prepared *prepared)
{
    for (int f = 0; f < MHCS_AS_COUNT; f++)
        free(prepared->form[f]);
    free(prepared->magnitude);
}

struct preparing {
    struct mhcs_prepared *to;
    uint32_t k;
    float absmax[MHCS_COEFFICIENTS];
    double squares[MHCS_COEFFICIENTS];
};

static void prepare_row(void *context, size_t j, uint32_t thread)
{
    struct preparing *p = context;
    const float *row = p->to->form[MHCS_AS_F32] + j * p->k;
    float *magnitude = p->to->magnitude + j * p->k;

    for (int f = MHCS_AS_F32 + 1; f < MHCS_AS_COUNT; f++)
        mhcs_round_to((enum mhcs_operand_form)f, row, p->to->form[f] + j * p->k, p->k);
    for (uint32_t i = 0; i < p->k; i++) {
        magnitude[i] = fabsf(row[i]);
        p->absmax[j] = fmaxf(p->absmax[j], magnitude[i]);
        p->squares[j] += (double)row[i] * row[i];
    }
}

int mhcs_prepare(struct mhcs_prepared *prepared, const struct mhcs_source *source,
                 const struct mhcs_model_site *site, uint32_t threads, char error[MHCS_MODEL_ERROR])
{
    struct preparing p = {.to = prepared, .k = source->k};
    double squares = 0;
    const int ret = mhcs_source_fn(source, site, prepared->form[MHCS_AS_F32], error);

    if (ret)
        return ret;
    mhcs_parallel(threads, site->coefficients, prepare_row, &p);
    prepared->absmax = 0;
    for (uint32_t j = 0; j < site->coefficients; j++) {
        prepared->absmax = fmaxf(prepared->absmax, p.absmax[j]);
        squares += p.squares[j];
    }
    prepared->rms = (float)sqrt(squares / ((double)site->coefficients * source->k));
    return 0;
}

/* ---- rows ---- */

struct measuring {
    const struct mhcs_model_site *site;
    const struct mhcs_prepared *weights;
    const struct mhcs_states *states;
    const struct mhcs_machine *machine;
    float *scratch;                  /* per thread: two chunks of x */
    float *products;                 /* [arithmetic][rows][coefficients] by the GPU, or NULL */
    struct mhcs_row_result *results; /* [arithmetic][rows] */
};

/* One thread's chunk. */
struct chunk {
    const float *x;
    float *rounded; /* x in the form of some arithmetic, or |x| */
    uint32_t first, rows;
    float c[MHCS_CHUNK_ROWS * MHCS_COEFFICIENTS];
    struct mhcs_dots fp32[MHCS_CHUNK_ROWS], operands[MHCS_CHUNK_ROWS];
};

/* dot of each row to dots[].dot. */
static void multiply(const struct measuring *m, struct chunk *chunk, const float *x,
                     const float *fn, struct mhcs_dots *dots)
{
    const uint32_t n = m->site->coefficients;

    mhcs_gemm_f32(x, fn, chunk->c, chunk->rows, n, m->states->k);
    for (uint32_t r = 0; r < chunk->rows; r++)
        for (uint32_t j = 0; j < n; j++)
            dots[r].dot[j] = (double)chunk->c[r * n + j];
}

/* The fp32 result, the sizes of its terms, and x's own size. */
static void reference(const struct measuring *m, struct chunk *chunk)
{
    const uint32_t n = m->site->coefficients, k = m->states->k;

    for (size_t i = 0; i < (size_t)chunk->rows * k; i++)
        chunk->rounded[i] = fabsf(chunk->x[i]);
    mhcs_gemm_f32(chunk->rounded, m->weights->magnitude, chunk->c, chunk->rows, n, k);
    for (uint32_t r = 0; r < chunk->rows; r++) {
        struct mhcs_dots *dots = &chunk->fp32[r];

        for (uint32_t j = 0; j < n; j++)
            dots->abs_dot[j] = (double)chunk->c[r * n + j];
        dots->square_sum = 0;
        for (uint32_t i = 0; i < k; i++)
            dots->square_sum += (double)chunk->x[(size_t)r * k + i] * chunk->x[(size_t)r * k + i];
    }
    multiply(m, chunk, chunk->x, m->weights->form[MHCS_AS_F32], chunk->fp32);
}

static void measure(const struct measuring *m, struct chunk *chunk, enum mhcs_arithmetic_kind kind)
{
    const struct mhcs_arithmetic *as = &mhcs_arithmetic[kind];
    const uint32_t n = m->site->coefficients, k = m->states->k;
    const struct mhcs_host_slot slot = {.x = chunk->x,
                                        .c = chunk->c,
                                        .x_dtype = MHCS_F32,
                                        .c_dtype = MHCS_F32,
                                        .coefficients = n,
                                        .k = k,
                                        .rows = chunk->rows};

    memcpy(chunk->operands, chunk->fp32, sizeof(chunk->operands));
    mhcs_round_to(as->operands, chunk->x, chunk->rounded, (size_t)chunk->rows * k);
    /* TF32 is what the arithmetic makes of fp32 operands; the 16-bit types are the operands'. */
    if (as->operands != MHCS_AS_TF32)
        multiply(m, chunk, chunk->rounded, m->weights->form[as->operands], chunk->operands);
    if (m->products)
        memcpy(chunk->c, m->products + ((size_t)kind * m->states->rows + chunk->first) * n,
               (size_t)chunk->rows * n * sizeof(*chunk->c));
    else
        mhcs_gemm_as(as, m->machine->pieces, chunk->rounded, m->weights->form[as->operands],
                     chunk->c, chunk->rows, n, k);
    mhcs_host_compare(&slot, &m->site->params, chunk->operands, chunk->fp32,
                      m->results + (size_t)kind * m->states->rows + chunk->first);
}

static void measure_chunk(void *context, size_t i, uint32_t thread)
{
    const struct measuring *m = context;
    const uint32_t first = (uint32_t)i * MHCS_CHUNK_ROWS, left = m->states->rows - first;
    struct chunk chunk = {
        .x = m->states->x + (size_t)first * m->states->k,
        .rounded = m->scratch + (size_t)thread * MHCS_CHUNK_ROWS * m->states->k,
        .first = first,
        .rows = left < MHCS_CHUNK_ROWS ? left : MHCS_CHUNK_ROWS,
    };

    reference(m, &chunk);
    for (int kind = 0; kind < mhcs_arithmetics_of(m->machine); kind++)
        measure(m, &chunk, (enum mhcs_arithmetic_kind)kind);
}

/* All rows in one GEMM, as a server would. */
static int multiply_on_gpu(const struct measuring *m, char *error)
{
    const uint32_t n = m->site->coefficients, rows = m->states->rows, k = m->states->k;
    const size_t count = (size_t)rows * k;
    float *rounded = malloc(count * sizeof(*rounded));
    int ret = 0;

    if (!rounded) {
        snprintf(error, MHCS_MODEL_ERROR, "out of memory");
        return -ENOMEM;
    }
    for (int kind = 0; kind < MHCS_ARITHMETIC_COUNT && !ret; kind++) {
        const enum mhcs_operand_form form = mhcs_gpu_operands((enum mhcs_arithmetic_kind)kind);

        mhcs_round_to(form, m->states->x, rounded, count);
        ret = mhcs_gpu_gemm(m->machine->gpu, (enum mhcs_arithmetic_kind)kind, rounded,
                            m->weights->form[form], m->products + (size_t)kind * rows * n, rows, n,
                            k, error);
    }
    free(rounded);
    return ret;
}

/* ---- what they add up to ---- */

enum norm { MHCS_NORM_ONE, MHCS_NORM_PRE, MHCS_NORM_POST, MHCS_NORM_COMB, MHCS_NORM_Y };

static double square_norm(const struct mhcs_row_result *result, enum mhcs_path path, enum norm norm)
{
    static const uint32_t first[] = {
        [MHCS_NORM_PRE] = 0, [MHCS_NORM_POST] = 4, [MHCS_NORM_COMB] = 8, [MHCS_NORM_Y] = 24};
    double sum = 0;

    if (norm == MHCS_NORM_ONE)
        return 1;
    if (norm == MHCS_NORM_Y)
        return (double)result->y_norm[path] * result->y_norm[path];
    for (uint32_t i = first[norm]; i < first[norm + 1]; i++)
        sum += (double)result->mapped[path][i] * result->mapped[path][i];
    return sum;
}

static void add(double *errors, double *norms, float error, double square_norm)
{
    if (!isfinite(error) || !isfinite(square_norm))
        return;
    *errors += (double)error * error * square_norm;
    *norms += square_norm;
}

static struct mhcs_error sum_up(const struct mhcs_row_result *results, uint32_t rows,
                                enum mhcs_path reference)
{
    struct mhcs_error error = {.cosine = NAN};

#define SUM_UP(member, metric, norm, label)                                                        \
    {                                                                                              \
        double errors = 0, norms = 0;                                                              \
                                                                                                   \
        for (uint32_t r = 0; r < rows; r++)                                                        \
            add(&errors, &norms, results[r].against[reference].metric,                             \
                square_norm(&results[r], reference, norm));                                        \
        error.member = sqrt(errors / norms); /* NaN where there is none: a head has no comb */     \
    }
    MHCS_ERROR_COLUMNS(SUM_UP)
#undef SUM_UP
    for (uint32_t r = 0; r < rows; r++) {
        const double distance = (double)results[r].against[reference].y_cosdist;

        /* Not fmax(): gcc 12 for aarch64 fails to compile the loop it makes of it. */
        if (distance > error.cosine || isnan(error.cosine))
            error.cosine = distance;
    }
    return error;
}

/* "The judge is judged": row 0 of the fp32 reference against fp64; -1: no memory. */
static double check(const struct measuring *m)
{
    const struct mhcs_row_result *result = m->results;
    struct mhcs_dots exact;
    double off = 0, size = 0;

    if (mhcs_host_dots(m->weights->form[MHCS_AS_F32], MHCS_F32, m->states->x, MHCS_F32,
                       m->site->coefficients, m->states->k, 1, &exact) < 0)
        return -1;
    for (uint32_t j = 0; j < m->site->coefficients; j++) {
        off += pow((double)result->raw[MHCS_CHECKPOINT][j] - exact.dot[j], 2);
        size += exact.dot[j] * exact.dot[j];
    }
    return sqrt(off / size);
}

int mhcs_site_errors(struct mhcs_site_errors *ret_errors, const struct mhcs_model_site *site,
                     const struct mhcs_prepared *prepared, const struct mhcs_states *states,
                     const struct mhcs_machine *machine, char error[MHCS_MODEL_ERROR])
{
    const int kinds = mhcs_arithmetics_of(machine);
    const size_t rows = states->rows;
    struct measuring m = {.site = site, .weights = prepared, .states = states, .machine = machine};
    int ret = -ENOMEM;

    snprintf(error, MHCS_MODEL_ERROR, "out of memory");
    m.scratch = malloc((size_t)machine->threads * MHCS_CHUNK_ROWS * states->k * sizeof(float));
    m.results = calloc((size_t)kinds * rows, sizeof(*m.results));
    if (machine->gpu)
        m.products = malloc((size_t)kinds * rows * site->coefficients * sizeof(float));
    if (!m.scratch || !m.results || (machine->gpu && !m.products))
        goto out;
    if (machine->gpu) {
        ret = multiply_on_gpu(&m, error);
        if (ret)
            goto out;
    }
    mhcs_parallel(machine->threads, (rows + MHCS_CHUNK_ROWS - 1) / MHCS_CHUNK_ROWS, measure_chunk,
                  &m);
    *ret_errors = (struct mhcs_site_errors){
        .site = site, .absmax = prepared->absmax, .rms = prepared->rms, .check = check(&m)};
    for (int kind = 0; kind < kinds; kind++) {
        const struct mhcs_row_result *results = m.results + (size_t)kind * rows;

        ret_errors->error[kind][MHCS_AGAINST_OPERANDS] =
            sum_up(results, states->rows, MHCS_OPERANDS);
        ret_errors->error[kind][MHCS_AGAINST_FP32] = sum_up(results, states->rows, MHCS_CHECKPOINT);
    }
    ret = ret_errors->check < 0 ? -ENOMEM : 0;
out:
    free(m.scratch);
    free(m.products);
    free(m.results);
    return ret;
}
