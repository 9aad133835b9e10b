/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of a group of rows and its judgement; verdict.h describes the test. */
#include "tools/report/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/mhc_math.h"

/* ---- evidence ---- */

/* The reference is fp32, and its own rounding moves errors of exactly half an ulp a little. */
#define HALF_ULP 0.505

static void count_elements(struct mhcs_evidence *evidence, const float *production,
                           const float *reference, uint32_t coefficients)
{
    for (uint32_t i = 0; i < coefficients; i++) {
        const double error = fabs((double)production[i] - (double)reference[i]);
        const double binade = mhcs_power_f64(reference[i]);

        evidence->elements++;
        evidence->over_bf16 += error > HALF_ULP * binade / 128; /* 8 significant bits */
        evidence->over_f16 += error > HALF_ULP * binade / 1024; /* 11 */
    }
}

void mhcs_evidence_add(struct mhcs_evidence *evidence, float rel, const struct mhcs_noise *expected,
                       const float *production, const float *reference, uint32_t coefficients)
{
    evidence->rows++;
    mhcs_exact_add(&evidence->rel_squares, (double)rel * rel);
    mhcs_exact_add(&evidence->rel_fourths, (double)rel * rel * rel * rel);
    count_elements(evidence, production, reference, coefficients);
    if (expected) {
        const double ratio = (double)rel / expected->high;
        const uint32_t rank = mhcs_class_rank(mhcs_class_of(expected->high, 0, 0));

        mhcs_moments_add(&evidence->excess, ratio * ratio);
        evidence->isolated += ratio > MHCS_ISOLATED_RATIO && coefficients == MHCS_COEFFICIENTS;
        if (rank > evidence->expected_rank)
            evidence->expected_rank = rank;
    }
}

void mhcs_evidence_merge(struct mhcs_evidence *evidence, const struct mhcs_evidence *other)
{
    evidence->rows += other->rows;
    mhcs_exact_merge(&evidence->rel_squares, &other->rel_squares);
    mhcs_exact_merge(&evidence->rel_fourths, &other->rel_fourths);
    evidence->elements += other->elements;
    evidence->over_bf16 += other->over_bf16;
    evidence->over_f16 += other->over_f16;
    mhcs_moments_merge(&evidence->excess, &other->excess);
    evidence->isolated += other->isolated;
    evidence->nonfinite += other->nonfinite;
    if (other->expected_rank > evidence->expected_rank)
        evidence->expected_rank = other->expected_rank;
}

double mhcs_evidence_rms(const struct mhcs_evidence *evidence)
{
    if (evidence->rows == 0)
        return NAN;
    return sqrt(mhcs_exact_value(&evidence->rel_squares) / (double)evidence->rows);
}

double mhcs_evidence_uncertainty(const struct mhcs_evidence *evidence)
{
    const double n = (double)evidence->rows;
    const double mean = mhcs_exact_value(&evidence->rel_squares) / n;
    const double variance = mhcs_exact_value(&evidence->rel_fourths) / n - mean * mean;

    if (evidence->rows < 2 || !(mean > 0))
        return NAN;
    return variance > 0 ? sqrt(variance / (n - 1)) / mean : 0;
}

enum mhcs_class mhcs_evidence_class(const struct mhcs_evidence *evidence)
{
    const double elements = (double)(evidence->elements > 0 ? evidence->elements : 1);

    if (evidence->nonfinite > 0)
        return MHCS_CLASS_NONFINITE;
    return mhcs_class_of(mhcs_evidence_rms(evidence), (double)evidence->over_bf16 / elements,
                         (double)evidence->over_f16 / elements);
}

/* ---- judgement ---- */

const char *mhcs_status_name(enum mhcs_status status)
{
    static const char *const names[] = {[MHCS_INSUFFICIENT] = "INSUFFICIENT",
                                        [MHCS_PASS] = "PASS",
                                        [MHCS_WARN] = "WARN",
                                        [MHCS_FAIL] = "FAIL"};

    return names[status];
}

static int compare_tests(const void *left, const void *right)
{
    const double a = ((const struct mhcs_test *)left)->probability;
    const double b = ((const struct mhcs_test *)right)->probability;

    return (a > b) - (a < b);
}

void mhcs_holm(struct mhcs_test *tests, size_t count, double alpha)
{
    bool holds = true;

    qsort(tests, count, sizeof(*tests), compare_tests);
    for (size_t i = 0; i < count; i++) {
        holds = holds && tests[i].probability <= alpha / (double)(count - i);
        tests[i].significant = holds;
    }
}

/* Of a mean of q this large if the true mean were 1. */
static double excess_probability(const struct mhcs_moments *excess)
{
    const double above = mhcs_moments_mean(excess) - 1;
    const double error = mhcs_moments_standard_error(excess);

    if (above <= 0)
        return 1;
    return error > 0 ? 0.5 * erfc(above / error / sqrt(2)) : 0;
}

static void weigh(const struct mhcs_evidence *evidence, struct mhcs_judgement *judgement)
{
    judgement->status = MHCS_PASS;
    judgement->cause = MHCS_CAUSE_NONE;
    if (evidence->nonfinite > 0) {
        judgement->status = MHCS_FAIL;
        judgement->cause = MHCS_CAUSE_NONFINITE;
    } else if (evidence->rows < MHCS_MIN_ROWS) {
        judgement->status = MHCS_INSUFFICIENT;
        judgement->cause = MHCS_CAUSE_ROWS;
    } else if (evidence->excess.count < MHCS_MIN_ROWS) {
        judgement->status = MHCS_INSUFFICIENT;
        judgement->cause = MHCS_CAUSE_EXPECTATION;
    } else if (judgement->ratio > MHCS_PASS_RATIO && judgement->significant) {
        const bool coarser = judgement->class != MHCS_CLASS_WRONG_VALUES &&
                             mhcs_class_rank(judgement->class) > evidence->expected_rank;

        judgement->cause = coarser ? MHCS_CAUSE_CLASS : MHCS_CAUSE_RATIO;
        judgement->status = coarser || judgement->ratio > MHCS_WARN_RATIO ? MHCS_FAIL : MHCS_WARN;
    } else if (evidence->isolated > 0) {
        judgement->status = MHCS_WARN;
        judgement->cause = MHCS_CAUSE_ISOLATED;
    }
}

int mhcs_judge(const struct mhcs_evidence *const *evidence, size_t count,
               struct mhcs_judgement *judgements)
{
    struct mhcs_test *tests = calloc(count + 1, sizeof(*tests));
    size_t tested = 0;

    if (!tests)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct mhcs_moments *excess = &evidence[i]->excess;

        judgements[i] = (struct mhcs_judgement){.class = mhcs_evidence_class(evidence[i]),
                                                .ratio = sqrt(mhcs_moments_mean(excess))};
        if (excess->count >= MHCS_MIN_ROWS)
            tests[tested++] =
                (struct mhcs_test){.probability = excess_probability(excess), .group = i};
    }
    mhcs_holm(tests, tested, MHCS_ALPHA);
    for (size_t i = 0; i < tested; i++)
        judgements[tests[i].group].significant = tests[i].significant;
    for (size_t i = 0; i < count; i++)
        weigh(evidence[i], &judgements[i]);
    free(tests);
    return 0;
}
