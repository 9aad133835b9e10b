/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <stdlib.h>
#include <string.h>

#include "tools/microtest/bell.h"
#include "tests/simcuda/rounding.h"

static void *allocate(size_t count, size_t size)
{
    void *const p = calloc(count, size);
    if (!p)
        abort();
    return p;
}

void case_round(float *values, size_t count, uint32_t dtype)
{
    for (size_t i = 0; i < count; i++)
        if (dtype == MHCS_BF16)
            values[i] = sim_float_of_bf16(sim_bf16_of(values[i]));
        else if (dtype == MHCS_F16)
            values[i] = sim_float_of_f16(sim_f16_of(values[i]));
}

/* Replaces old. */
static void *encode(void *old, const float *values, size_t count, uint32_t dtype)
{
    free(old);
    if (!values)
        return NULL;
    if (dtype == MHCS_F32)
        return memcpy(allocate(count, 4), values, count * 4);
    uint16_t *const bytes = allocate(count, 2);
    for (size_t i = 0; i < count; i++)
        bytes[i] = dtype == MHCS_BF16 ? sim_bf16_of(values[i]) : sim_f16_of(values[i]);
    return bytes;
}

void case_encode(struct kernel_case *c)
{
    const size_t m = c->coefficients;
    c->fn_bytes = encode(c->fn_bytes, c->fn, m * c->k, c->fn_dtype);
    c->x_bytes = encode(c->x_bytes, c->x, (size_t)c->rows * c->k, c->x_dtype);
    c->c_bytes = encode(c->c_bytes, c->c, c->rows * m, c->c_dtype);
    c->old_c_bytes = encode(c->old_c_bytes, c->old_c, c->rows * m, c->c_dtype);
}

void case_free(struct kernel_case *c)
{
    void *const all[] = {c->fn,       c->x,       c->c,       c->old_c,      c->checkpoint,
                         c->fn_bytes, c->x_bytes, c->c_bytes, c->old_c_bytes};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]);
}

struct mhcs_host_slot case_host_slot(const struct kernel_case *c)
{
    return (struct mhcs_host_slot){.fn = c->fn_bytes,
                                   .x = c->x_bytes,
                                   .c = c->c_bytes,
                                   .old_c = c->old_c_bytes,
                                   .checkpoint = c->checkpoint,
                                   .alpha = c->alpha,
                                   .beta = c->beta,
                                   .fn_dtype = c->fn_dtype,
                                   .x_dtype = c->x_dtype,
                                   .c_dtype = c->c_dtype,
                                   .checkpoint_dtype = MHCS_F32,
                                   .coefficients = c->coefficients,
                                   .k = c->k,
                                   .rows = c->rows};
}

static float *bells(size_t count, double deviation, uint64_t *state)
{
    float *const values = allocate(count, sizeof(*values));
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(bell_next(state) * (deviation / BELL_DEVIATION));
    return values;
}

static void fill_production(struct kernel_case *c, double noise, uint64_t *state)
{
    const uint32_t m = c->coefficients;
    for (uint32_t r = 0; r < c->rows; r++)
        for (uint32_t j = 0; j < m; j++) {
            double sum = 0;
            for (uint32_t i = 0; i < c->k; i++)
                sum += (double)c->fn[(size_t)j * c->k + i] * (double)c->x[(size_t)r * c->k + i];
            sum *= (double)c->alpha;
            if (c->old_c && c->beta != 0)
                sum += (double)c->beta * (double)c->old_c[r * m + j];
            c->c[r * m + j] = (float)(sum * (1 + noise * bell_next(state) / BELL_DEVIATION));
        }
    case_round(c->c, (size_t)c->rows * m, c->c_dtype);
}

struct kernel_case random_case(const struct case_shape *shape, uint64_t seed)
{
    uint64_t state = seed;
    const size_t m = shape->coefficients, k = shape->k, rows = shape->rows;
    struct kernel_case c = {.coefficients = shape->coefficients,
                            .k = shape->k,
                            .rows = shape->rows,
                            .fn_dtype = shape->fn_dtype,
                            .x_dtype = shape->x_dtype,
                            .c_dtype = shape->c_dtype,
                            .alpha = shape->alpha,
                            .beta = shape->beta};

    c.model = (struct mhcs_model_params){.hc_eps = 1e-6f, .norm_eps = 1e-6f, .iterations = 20};
    for (int i = 0; i < 3; i++)
        c.model.scale[i] = (float)(0.1 + random_unit(&state));
    for (int j = 0; j < MHCS_COEFFICIENTS; j++)
        c.model.base[j] = (float)(bell_next(&state) / BELL_DEVIATION);

    /* Away from an rms of 1, which says that x is normalised. */
    const double deviation = (seed & 1 ? 0.1 : 3) * (1 + random_unit(&state));
    c.x = bells(rows * k, deviation, &state);
    case_round(c.x, rows * k, c.x_dtype);
    c.checkpoint = bells(m * k, 0.04, &state);
    c.fn = memcpy(allocate(m * k, sizeof(float)), c.checkpoint, m * k * sizeof(float));
    case_round(c.fn, m * k, c.fn_dtype);
    if (shape->beta != 0) {
        c.old_c = bells(rows * m, deviation, &state);
        case_round(c.old_c, rows * m, c.c_dtype);
    }
    c.c = allocate(rows * m, sizeof(float));
    fill_production(&c, shape->noise, &state);
    if (!shape->checkpoint) {
        free(c.checkpoint);
        c.checkpoint = NULL;
    }
    case_encode(&c);
    return c;
}
