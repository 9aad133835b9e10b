/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic traces; see make_trace.h. */
#include "tests/trace/make_trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double uniform(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return ((double)(mhcs_mix64(*state) >> 11) + 0.5) * 0x1p-53;
}

static double gaussian(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));

    return radius * cos(2 * 3.14159265358979323846 * uniform(state));
}

struct make_trace_plan make_trace_default(void)
{
    return (struct make_trace_plan){
        .seed = 1,
        .path = "bf16*bf16->bf16/f32",
        .layers = 3,
        .calls = 4,
        .rows = 16,
        .tokens = 512,
        .operands_rel = 1.66e-3,
        .checkpoint_rel = 1.66e-3,
        .checkpoint = true,
        .start = INT64_C(1700000000) * 1000000000,
        .step = 10000000,
        .end = MHCS_END_EXIT,
    };
}

/* ---- metrics of one row ---- */

static float group_rel(const struct mhcs_row_result *result, enum mhcs_path reference,
                       uint32_t begin, uint32_t end)
{
    double difference = 0, norm = 0;

    for (uint32_t i = begin; i < end; i++) {
        const double c = result->raw[reference][i];
        const double d = result->raw[MHCS_PRODUCTION][i] - c;
        difference += d * d;
        norm += c * c;
    }
    return (float)sqrt(difference / norm);
}

static double ulp_bf16(double value)
{
    return value == 0 ? 0 : ldexp(1, ilogb(value) - 7);
}

static bool all_finite(const float *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

void make_row_metrics(struct mhcs_row_result *result, uint32_t coefficients,
                      enum mhcs_path reference)
{
    const float *production = result->raw[MHCS_PRODUCTION], *c = result->raw[reference];
    const bool whole = coefficients == MHCS_COEFFICIENTS;
    struct mhcs_row_metrics *m = &result->against[reference];
    double rms = 0, sum = 0, square_sum = 0, max_abs = 0, ulp = 0;

    if (!all_finite(production, coefficients))
        result->nonfinite |= MHCS_NONFINITE_PRODUCTION;
    if (!all_finite(c, coefficients))
        result->nonfinite |= MHCS_NONFINITE_REFERENCE;
    for (uint32_t i = 0; i < coefficients; i++)
        rms += (double)c[i] * c[i] / coefficients;
    rms = sqrt(rms);
    for (uint32_t i = 0; i < coefficients; i++) {
        const double d = (double)production[i] - c[i];
        sum += d;
        square_sum += d * d;
        max_abs = fmax(max_abs, fabs(d));
        ulp = fmax(ulp, fabs(d) / ulp_bf16(fmax(fabs(c[i]), rms)));
    }
    const float rel = group_rel(result, reference, 0, coefficients);
    *m = (struct mhcs_row_metrics){
        .rel = rel,
        .rel_pre = group_rel(result, reference, 0, 4),
        .rel_post = whole ? group_rel(result, reference, 4, 8) : NAN,
        .rel_comb = whole ? group_rel(result, reference, 8, 24) : NAN,
        .max_abs = (float)max_abs,
        .backward = rel / 128,
        .condition = 128,
        .ulp = (float)ulp,
        .bias = (float)(sum / coefficients / sqrt(square_sum / coefficients)),
        .pre_err = 0.5F * rel,
        .post_err = whole ? 0.4F * rel : NAN,
        .comb_err = whole ? 0.3F * rel : NAN,
        .comb_max_abs = whole ? 0.2F * rel : NAN,
        .comb_tv = whole ? 0.25F * rel : NAN,
        .bound = whole ? 0.6F * rel : NAN,
        .y_rel = 0.7F * rel,
        .y_cosdist = 0.245F * rel * rel,
    };
}

/* The error of a rounding that leaves an rms relative error of `rel`: even within half a step of
 * the value's own power of two, as rounding to bf16 has it for 1.66e-3. */
static double round_off(uint64_t *state, double value, double rel)
{
    return (uniform(state) - 0.5) * ulp_bf16(value) * rel / 1.66e-3;
}

void make_row(struct mhcs_row_result *ret_result, uint64_t *state, uint32_t coefficients,
              double operands_rel, double checkpoint_rel, bool checkpoint)
{
    const bool whole = coefficients == MHCS_COEFFICIENTS;
    struct mhcs_row_result *result = ret_result;

    *result = (struct mhcs_row_result){.rms = (float)(0.5 + uniform(state))};
    for (uint32_t path = 0; path < MHCS_PATHS; path++) {
        for (uint32_t i = 0; i < MHCS_COEFFICIENTS; i++)
            result->raw[path][i] = result->mapped[path][i] = NAN;
        result->y_norm[path] = 1;
        result->defect[path] = whole ? 1e-7F * (float)(1 + uniform(state)) : NAN;
    }
    for (uint32_t i = 0; i < coefficients; i++) {
        const double c = 4 * gaussian(state);
        result->raw[MHCS_OPERANDS][i] = (float)c;
        result->raw[MHCS_PRODUCTION][i] = (float)(c + round_off(state, c, operands_rel));
        if (checkpoint)
            result->raw[MHCS_CHECKPOINT][i] = (float)(c + round_off(state, c, checkpoint_rel));
    }
    make_row_metrics(result, coefficients, MHCS_OPERANDS);
    if (checkpoint)
        make_row_metrics(result, coefficients, MHCS_CHECKPOINT);
}

/* ---- a whole trace ---- */

static void name_site(struct mhcs_record *record, char name[64], const struct make_trace_plan *plan,
                      uint32_t site)
{
    const bool head = site == 2 * plan->layers;
    const char *const role = head ? "head" : site % 2 == 0 ? "attn" : "ffn";

    record->site = (int32_t)site;
    record->site_name = name;
    record->layer = head || !plan->checkpoint ? -1 : (int16_t)(site / 2);
    record->role = plan->checkpoint ? role : NULL;
    if (!plan->checkpoint)
        snprintf(name, 64, "site%u", site);
    else if (head)
        snprintf(name, 64, "hc_head_fn");
    else
        snprintf(name, 64, "layers.%u.hc_%s_fn", site / 2, role);
}

/* The rows of one sampled call. */
static int append_call(struct mhcs_trace_writer *writer, const struct make_trace_plan *plan,
                       uint32_t site, int64_t call, uint64_t *state)
{
    const uint32_t coefficients =
        site == 2 * plan->layers ? MHCS_COEFFICIENTS_HEAD : MHCS_COEFFICIENTS;
    const uint64_t row_seed = plan->seed + (uint64_t)call;
    char name[64];

    for (uint32_t i = 0; i < plan->rows; i++) {
        struct mhcs_row_result result;
        struct mhcs_record record = {
            .time = plan->start + call * plan->step,
            .call = call,
            .tokens = plan->tokens,
            .row = (int32_t)mhcs_row_index(row_seed, i, plan->rows, plan->tokens),
            .graph = false,
            .path = plan->path,
            .checkpoint = plan->checkpoint,
            .check = i == 0 ? 1e-7F : NAN,
            .result = &result,
        };
        name_site(&record, name, plan, site);
        make_row(&result, state, coefficients, plan->operands_rel, plan->checkpoint_rel,
                 plan->checkpoint);
        if (plan->edit != NULL)
            plan->edit(&record, &result, plan->context);
        const int error = mhcs_trace_append(writer, &record);
        if (error < 0)
            return error;
    }
    return 0;
}

int make_trace(const struct make_trace_plan *plan, const char *dir, char ret_path[PATH_MAX])
{
    const struct mhcs_trace_options options = {.dir = dir, .facts = plan->facts};
    struct mhcs_trace_writer *writer;
    uint64_t state = plan->seed;
    int64_t call = 0;
    int error = mhcs_trace_create(&writer, &options);

    if (error < 0)
        return error;
    snprintf(ret_path, PATH_MAX, "%s", mhcs_trace_path(writer));
    for (uint32_t i = 0; i < plan->calls && error == 0; i++)
        for (uint32_t site = 0; site <= 2 * plan->layers && error == 0; site++)
            error = append_call(writer, plan, site, call++, &state);
    if (error == 0)
        error = mhcs_trace_flush(writer, plan->dropped);
    if (plan->end != 0) {
        const int close_error = mhcs_trace_close(writer, plan->end, plan->dropped);
        return error < 0 ? error : close_error;
    }
    mhcs_trace_forget(writer);
    return error;
}
