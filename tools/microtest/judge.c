/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers are listed, and what the measurements add up to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/microtest/microtest.h"

#define LISTED 8 /* layers, where none are asked for: the first, the last and some between */

/* "0,21,42" */
static bool is_in_list(const char *list, int32_t layer, bool *ret_listed)
{
    *ret_listed = false;
    for (const char *at = list;; at++) {
        char *end;
        const long number = strtol(at, &end, 10);

        if (end == at || *at < '0' || *at > '9' || number >= MHCS_BLOCKS_MAX ||
            (*end != ',' && *end != '\0'))
            return false;
        *ret_listed = *ret_listed || number == layer;
        if (*end == '\0')
            return true;
        at = end;
    }
}

bool mhcs_sample_layer(const struct mhcs_microtest_options *options, uint32_t layers, int32_t layer,
                       bool *ret_listed)
{
    const bool all = options->sample && strcmp(options->sample, "all") == 0;

    if (options->sample && !all && !is_in_list(options->sample, layer, ret_listed))
        return false;
    if (layer < 0 || all) {
        *ret_listed = true;
    } else if (!options->sample) {
        *ret_listed = false;
        for (uint32_t i = 0; i < LISTED && layers > 0; i++)
            *ret_listed = *ret_listed || (uint32_t)layer == (layers - 1) * i / (LISTED - 1);
    }
    return true;
}

/* Rounding of states that are not bf16 numbers is not in the noise table. */
static double expected(const struct mhcs_microtest *test, const struct mhcs_arithmetic *as)
{
    static const double unit[MHCS_AS_COUNT] = {
        [MHCS_AS_TF32] = MHCS_U_TF32, [MHCS_AS_BF16] = MHCS_U_BF16, [MHCS_AS_F16] = MHCS_U_F16};
    const double own_norm = MHCS_COEFFICIENTS / (MHCS_COEFFICIENTS - 2.0);
    struct mhcs_precision precision;
    struct mhcs_noise noise;
    double square;

    if (!mhcs_path_parse(as->path, &precision) ||
        !mhcs_noise_expected(&precision, MHCS_CHECKPOINT, MHCS_COEFFICIENTS, &noise))
        return NAN;
    square = noise.high * noise.high;
    if (!test->states_are_bf16)
        square += own_norm * pow(MHCS_ROUNDING_RMS * unit[as->operands], 2);
    return sqrt(square);
}

/* A head's 4 coefficients scatter too widely to be judged by an rms; they are listed only. */
static struct mhcs_cost cost_of(const struct mhcs_microtest *test, enum mhcs_arithmetic_kind kind)
{
    struct mhcs_cost cost = {.y_low = INFINITY};
    double raw = 0, comb = 0;
    uint32_t sites = 0;

    for (size_t i = 0; i < test->error_count; i++) {
        const struct mhcs_error *error = &test->errors[i].error[kind][MHCS_AGAINST_FP32];

        if (test->errors[i].site->coefficients != MHCS_COEFFICIENTS)
            continue;
        sites++;
        raw += error->raw * error->raw;
        comb += error->comb * error->comb;
        cost.y_low = fmin(cost.y_low, error->y);
        cost.y_high = fmax(cost.y_high, error->y);
        cost.cosine = fmax(cost.cosine, error->cosine);
    }
    cost.raw = sqrt(raw / sites);
    cost.comb = sqrt(comb / sites);
    cost.expected = expected(test, &mhcs_arithmetic[kind]);
    cost.ratio = cost.raw / cost.expected;
    if (test->source.layers > 0) {
        cost.half = test->drift[(test->source.layers - 1) / 2][kind];
        cost.end = test->drift[test->source.layers - 1][kind];
    }
    cost.status = sites == 0                         ? MHCS_INSUFFICIENT
                  : !(cost.ratio <= MHCS_WARN_RATIO) ? MHCS_FAIL
                  : cost.ratio <= MHCS_PASS_RATIO    ? MHCS_PASS
                                                     : MHCS_WARN;
    cost.harmless = cost.comb < MHCS_HARMLESS && cost.y_high < MHCS_HARMLESS;
    return cost;
}

void mhcs_microtest_judge(struct mhcs_microtest *test)
{
    for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++)
        test->cost[kind] = cost_of(test, (enum mhcs_arithmetic_kind)kind);
}

enum mhcs_status mhcs_microtest_status(const struct mhcs_microtest *test)
{
    enum mhcs_status status = MHCS_INSUFFICIENT;

    for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++)
        if (test->cost[kind].status > status)
            status = test->cost[kind].status;
    return status;
}
