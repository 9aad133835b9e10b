/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "shadow/graph.h"
#include "simcuda.h"

/* ---- numbers ---- */

static size_t size_of(uint32_t dtype)
{
    return dtype == MHCS_F32 ? 4 : 2;
}

/* Towards zero: any rounding will do for a production result, and this needs no thought. */
static void encode(double value, uint32_t dtype, void *to)
{
    const float f = (float)value;
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &f, 4);
    if (dtype == MHCS_F32) {
        memcpy(to, &bits, 4);
        return;
    }
    half = (uint16_t)(bits >> 16);
    if (dtype == MHCS_F16) {
        const int exponent = (int)(bits >> 23 & 0xff) - 112;

        half = (uint16_t)((bits >> 16 & 0x8000) |
                          (exponent > 0 ? (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff) : 0));
    }
    memcpy(to, &half, 2);
}

static double decode(const void *from, uint32_t dtype)
{
    uint32_t bits = 0;
    uint16_t half;
    float f;

    if (dtype == MHCS_F16) {
        memcpy(&half, from, 2);
        f = ldexpf((float)((half & 0x3ff) + (half & 0x7c00 ? 0x400 : 0)),
                   (half >> 10 & 31) + (half & 0x7c00 ? 0 : 1) - 25);
        return half & 0x8000 ? -(double)f : (double)f;
    }
    memcpy((char *)&bits + (4 - size_of(dtype)), from, size_of(dtype)); /* little-endian */
    memcpy(&f, &bits, 4);
    return (double)f;
}

enum what { FN, X, OLD_C };

/* An integer of 8 bits, scaled. */
static double value(enum what what, uint32_t which, int64_t i, uint32_t j)
{
    static const double scale[] = {1.0 / 1024, 1.0 / 64, 1.0 / 16};
    uint64_t z = ((uint64_t)what << 60) ^ ((uint64_t)which << 44) ^ ((uint64_t)i << 20) ^ j;

    z = (z + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 29) * UINT64_C(0xD6E8FEB86659FD93);
    return ((double)(z >> 56) - 127.5 + 0.5) * scale[what];
}

static int64_t token(const struct work_shape *s, int64_t t)
{
    return s->distinct ? t % s->distinct : t;
}

double work_exact(const struct work_shape *s, uint32_t i, int64_t t, uint32_t j, double *ret_terms)
{
    const double alpha = (double)s->alpha, beta = (double)s->beta;
    double sum = 0, terms = 0;

    for (uint32_t k = 0; k < s->k; k++) {
        const double term = value(FN, i % s->sites, j, k) * value(X, i, token(s, t), k);

        sum += term;
        terms += fabs(term);
    }
    if (ret_terms) {
        *ret_terms = fabs(alpha) * terms + fabs(beta * value(OLD_C, i, t, j));
    }
    return alpha * sum + beta * value(OLD_C, i, t, j);
}

double work_production(const struct work_shape *s, uint32_t i, int64_t t, uint32_t j)
{
    char stored[4];

    encode(work_exact(s, i, t, j, NULL), s->c_dtype, stored);
    return decode(stored, s->c_dtype);
}

double work_rms(const struct work_shape *s, uint32_t i, int64_t t)
{
    double sum = 0;

    for (uint32_t k = 0; k < s->k; k++) {
        sum += value(X, i, token(s, t), k) * value(X, i, token(s, t), k);
    }
    return 1 / sqrt(sum / s->k + 1e-6);
}

/* ---- operations on the simulated device ---- */

struct op {
    struct mhcs_operand to, fn, x; /* fn, x: of a GEMM */
    int64_t rows, distinct;        /* rows from `distinct` on repeat those before */
    uint32_t columns, k, which;
    enum what what;
    double alpha, beta;
};

static char *element(struct sim_memory *memory, const struct sim_op *op,
                     const struct mhcs_operand *m, int64_t i, int64_t j, enum sim_access access,
                     struct sim_fault *fault)
{
    const struct sim_where where = {0};
    const size_t size = size_of(m->dtype);
    const uint64_t at = m->base + (uint64_t)(i * m->row + j * m->col) * size;

    return sim_memory_access(memory, op, &where, at, size, 1, access, fault);
}

static int fill_body(void *arg, struct sim_memory *memory, const struct sim_op *op,
                     struct sim_fault *fault)
{
    const struct op *o = arg;

    for (int64_t i = 0; i < o->rows; i++) {
        for (uint32_t j = 0; j < o->columns; j++) {
            char *to = element(memory, op, &o->to, i, j, SIM_WRITE, fault);

            if (!to || fault->set) {
                return -1;
            }
            encode(value(o->what, o->which, i % o->distinct, j), o->to.dtype, to);
        }
    }
    return 0;
}

/* An upload's source would have to outlive the graph that it is captured into. */
static int scalars_body(void *arg, struct sim_memory *memory, const struct sim_op *op,
                        struct sim_fault *fault)
{
    const struct op *o = arg;

    for (int i = 0; i < 2; i++) {
        char *to = element(memory, op, &o->to, 0, i, SIM_WRITE, fault);

        if (!to || fault->set) {
            return -1;
        }
        encode(i ? o->beta : o->alpha, o->to.dtype, to);
    }
    return 0;
}

static int gemm_body(void *arg, struct sim_memory *memory, const struct sim_op *op,
                     struct sim_fault *fault)
{
    const struct op *o = arg;
    double *x = malloc(o->k * sizeof(*x)), *fn = malloc(o->columns * o->k * sizeof(*fn));

    for (uint32_t j = 0; j < o->columns && !fault->set; j++) {
        for (uint32_t k = 0; k < o->k && !fault->set; k++) {
            const char *from = element(memory, op, &o->fn, j, k, SIM_READ, fault);

            fn[j * o->k + k] = from ? decode(from, o->fn.dtype) : 0;
        }
    }
    for (int64_t t = 0; t < o->rows && !fault->set; t++) {
        for (uint32_t k = 0; k < o->k && !fault->set; k++) {
            const char *from = element(memory, op, &o->x, t, k, SIM_READ, fault);

            x[k] = from ? decode(from, o->x.dtype) : 0;
        }
        for (uint32_t j = 0; j < o->columns && !fault->set; j++) {
            double sum = 0;
            char *to =
                element(memory, op, &o->to, t, j, o->beta != 0 ? SIM_READ : SIM_WRITE, fault);

            for (uint32_t k = 0; k < o->k; k++) {
                sum += fn[j * o->k + k] * x[k];
            }
            if (to && o->beta != 0) {
                sum = o->alpha * sum + o->beta * decode(to, o->to.dtype);
                to = element(memory, op, &o->to, t, j, SIM_WRITE, fault);
            } else {
                sum *= o->alpha;
            }
            if (to) {
                encode(sum, o->to.dtype, to);
            }
        }
    }
    free(x);
    free(fn);
    return fault->set ? -1 : 0;
}

static void must(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
        abort();
    }
}

static void enqueue(CUstream stream, const char *what, simcuda_body *body, struct op op)
{
    struct op *copy = malloc(sizeof(*copy));

    *copy = op;
    must(simcuda_enqueue(stream, what, body, copy), what);
}

/* ---- calls ---- */

static struct mhcs_operand operand(const struct work_shape *s, CUdeviceptr base, uint32_t dtype,
                                   int64_t rows, int64_t columns, uint64_t *ret_bytes)
{
    const int64_t ld = (s->transposed ? rows : columns) + s->pad;
    const struct mhcs_operand m = {.base = base + s->offset * size_of(dtype),
                                   .row = s->transposed ? 1 : ld,
                                   .col = s->transposed ? ld : 1,
                                   .dtype = dtype};

    if (ret_bytes) {
        *ret_bytes =
            (uint64_t)(s->offset + (rows - 1) * m.row + (columns - 1) * m.col + 1) * size_of(dtype);
    }
    return m;
}

/* Lives as long as the process, as the real ones do. */
static struct mhcs_cublas cublas[] = {{"libcublas.so.13", 130100}, {"libcublas.so.12", 120900}};

void work_init(struct work *w, const struct work_shape *s, CUstream stream, uint32_t calls)
{
    const int64_t tokens = WORK_TOKENS + calls;

    *w = (struct work){.shape = *s, .stream = stream};
    for (int i = 0; i < 2; i++) {
        if (s->cublas[i]) {
            cublas[i].path = s->cublas[i];
            CHILD_MUST(dlopen(s->cublas[i], RTLD_LAZY));
        }
    }
    operand(s, 0, s->fn_dtype, s->coefficients, s->k, &w->fn_bytes);
    operand(s, 0, s->x_dtype, tokens, s->k, &w->x_bytes);
    operand(s, 0, s->c_dtype, tokens, s->coefficients, &w->c_bytes);
    must(cuMemAlloc(&w->fn, w->fn_bytes), "cuMemAlloc");
    must(cuMemAlloc(&w->x, w->x_bytes), "cuMemAlloc");
    must(cuMemAlloc(&w->c, w->c_bytes), "cuMemAlloc");
    must(cuMemAlloc(&w->scalars, 8), "cuMemAlloc");
}

/* The scalars of the call that a thread has under way. */
static _Thread_local char host_scalars[8];

struct mhcs_gemm work_gemm(const struct work *w, uint32_t i)
{
    const struct work_shape *s = &w->shape;
    const int64_t tokens = WORK_TOKENS + i;
    const char *scalars = s->scalars_on_device ? (const char *)(uintptr_t)w->scalars : host_scalars;

    encode((double)s->alpha, s->scalar_dtype, host_scalars);
    encode((double)s->beta, s->scalar_dtype, host_scalars + 4);
    return (struct mhcs_gemm){
        .fn = operand(s, w->fn, s->fn_dtype, s->coefficients, s->k, NULL),
        .x = operand(s, w->x, s->x_dtype, tokens, s->k, NULL),
        .c = operand(s, w->c, s->c_dtype, tokens, s->coefficients, NULL),
        .old_c = operand(s, w->c, s->c_dtype, tokens, s->coefficients, NULL),
        .tokens = tokens,
        .k = s->k,
        .coefficients = s->coefficients,
        .alpha = scalars,
        .beta = scalars + 4,
        .scalar_dtype = s->scalar_dtype,
        .scalars_on_device = s->scalars_on_device,
        .stream = w->stream,
        .cublas = &cublas[s->cublas[0] == s->cublas[1] ? 0 : i % 2],
        .weight_order = (int32_t)(i % s->sites),
    };
}

/* As the hooks ask. */
static bool before(struct mhcs_sample *sample, const struct mhcs_gemm *gemm)
{
    const enum mhcs_capture capture =
        mhcs_capture_under_way() ? mhcs_shadow_capture(sample, gemm) : MHCS_CAPTURE_NONE;

    return capture == MHCS_CAPTURE_NONE ? mhcs_shadow_before(sample, gemm)
                                        : capture == MHCS_CAPTURE_TAKEN;
}

static bool call(struct work *w, uint32_t i, bool works)
{
    const struct mhcs_gemm gemm = work_gemm(w, i);
    const struct op op = {.to = gemm.c,
                          .fn = gemm.fn,
                          .x = gemm.x,
                          .rows = gemm.tokens,
                          .distinct = INT64_MAX,
                          .columns = gemm.coefficients,
                          .k = gemm.k,
                          .which = i,
                          .what = OLD_C,
                          .alpha = (double)w->shape.alpha,
                          .beta = (double)w->shape.beta};
    struct op fill = op;
    struct mhcs_sample sample;
    bool sampled;

    if (w->shape.beta != 0) {
        enqueue(w->stream, "fill c", fill_body, fill);
    } else { /* NaN: what beta = 0 must keep out */
        must(cuMemsetD8Async(w->c, 0xff, w->c_bytes, w->stream), "spoil c");
    }
    if (works) { /* else nobody looks at them */
        fill.to = gemm.fn;
        fill.rows = gemm.coefficients;
        fill.columns = gemm.k;
        fill.which = i % w->shape.sites;
        fill.what = FN;
        enqueue(w->stream, "fill fn", fill_body, fill);
        fill.to = gemm.x;
        fill.rows = gemm.tokens;
        fill.which = i;
        fill.what = X;
        fill.distinct = w->shape.distinct ? w->shape.distinct : INT64_MAX;
        enqueue(w->stream, "fill x", fill_body, fill);
    }
    if (w->shape.scalars_on_device) {
        fill.to = (struct mhcs_operand){
            .base = w->scalars,
            .col = (int64_t)(4 / size_of(w->shape.scalar_dtype)),
            .dtype = w->shape.scalar_dtype,
        };
        enqueue(w->stream, "scalars", scalars_body, fill);
    }

    sampled = before(&sample, &gemm);
    if (works) {
        enqueue(w->stream, "GEMM", gemm_body, op);
    }
    if (sampled) {
        mhcs_shadow_after(&sample, works);
    }

    must(cuMemsetD8Async(w->x, 0x7f, w->x_bytes, w->stream), "overwrite x");
    must(cuMemsetD8Async(w->c, 0x41, w->c_bytes, w->stream), "overwrite c");
    must(cuMemsetD8Async(w->fn, 0x3e, w->fn_bytes, w->stream), "overwrite fn");
    must(cuMemsetD8Async(w->scalars, 0x3f, 8, w->stream), "overwrite scalars");
    memset(host_scalars, 0x3f, sizeof(host_scalars));
    return sampled;
}

bool work_call(struct work *work, uint32_t i)
{
    return call(work, i, true);
}

bool work_failing_call(struct work *work, uint32_t i)
{
    return call(work, i, false);
}
