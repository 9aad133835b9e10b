/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of a group of rows and its judgement; verdict.h describes the test. */
#include "tools/report/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- evidence ---- */

void mhcs_evidence_add(struct mhcs_evidence *evidence, const struct mhcs_look *look)
{
    evidence->nonfinite += look->nonfinite;
    mhcs_where_add(&evidence->where, &look->places);
    evidence->rows += look->rows;
    mhcs_exact_add_all(&evidence->rel_squares, &look->squares);
    mhcs_exact_add_all(&evidence->rel_fourths, &look->fourths);
    mhcs_traits_merge(&evidence->traits, &look->traits);
    evidence->reduced += look->reduced ? look->rows : 0;
    mhcs_moments_add_all(&evidence->excess, &look->excess, &look->excess_squares);
    evidence->wrong += look->wrong;
    evidence->rest_rows += look->rest.count;
    mhcs_exact_add_all(&evidence->rest, &look->rest);
    if (look->rank > evidence->expected_rank)
        evidence->expected_rank = look->rank;
}

void mhcs_evidence_merge(struct mhcs_evidence *evidence, const struct mhcs_evidence *other)
{
    evidence->rows += other->rows;
    mhcs_exact_merge(&evidence->rel_squares, &other->rel_squares);
    mhcs_exact_merge(&evidence->rel_fourths, &other->rel_fourths);
    mhcs_traits_merge(&evidence->traits, &other->traits);
    mhcs_moments_merge(&evidence->excess, &other->excess);
    evidence->rest_rows += other->rest_rows;
    mhcs_exact_merge(&evidence->rest, &other->rest);
    evidence->wrong += other->wrong;
    evidence->nonfinite += other->nonfinite;
    evidence->reduced += other->reduced;
    if (other->expected_rank > evidence->expected_rank)
        evidence->expected_rank = other->expected_rank;
    mhcs_where_merge(&evidence->where, &other->where);
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

/* Some rows are wrong and the others as good as expected: no rounding, whatever the mean says. */
static bool has_wrong_rows(const struct mhcs_evidence *evidence)
{
    return evidence->wrong > 0 && evidence->rest_rows > 0 &&
           sqrt(mhcs_exact_value(&evidence->rest) / (double)evidence->rest_rows) <= MHCS_PASS_RATIO;
}

enum mhcs_class mhcs_evidence_class(const struct mhcs_evidence *evidence)
{
    if (evidence->nonfinite > 0)
        return MHCS_CLASS_NONFINITE;
    if (has_wrong_rows(evidence))
        return MHCS_CLASS_WRONG_VALUES;
    return mhcs_class_of(mhcs_evidence_rms(evidence), &evidence->traits);
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

static void set(struct mhcs_judgement *judgement, enum mhcs_status status, enum mhcs_cause cause)
{
    judgement->status = status;
    judgement->cause = cause;
}

/* An excess over all rows alike. */
static void weigh_excess(const struct mhcs_evidence *evidence, struct mhcs_judgement *judgement)
{
    const enum mhcs_status by_size = judgement->ratio > MHCS_WARN_RATIO ? MHCS_FAIL : MHCS_WARN;

    if (judgement->class == MHCS_CLASS_WRONG_VALUES ||
        mhcs_class_rank(judgement->class) <= evidence->expected_rank)
        set(judgement, by_size, MHCS_CAUSE_RATIO);
    else
        set(judgement, MHCS_FAIL, MHCS_CAUSE_CLASS);
}

static void weigh(const struct mhcs_evidence *evidence, struct mhcs_judgement *judgement)
{
    if (evidence->nonfinite > 0)
        set(judgement, MHCS_FAIL, MHCS_CAUSE_NONFINITE);
    else if (evidence->rows < MHCS_MIN_ROWS)
        set(judgement, MHCS_INSUFFICIENT, MHCS_CAUSE_ROWS);
    else if (evidence->excess.count < MHCS_MIN_ROWS)
        set(judgement, MHCS_INSUFFICIENT, MHCS_CAUSE_EXPECTATION);
    else if (has_wrong_rows(evidence) && evidence->wrong >= MHCS_WRONG_ROWS)
        set(judgement, MHCS_FAIL, MHCS_CAUSE_WRONG);
    else if (has_wrong_rows(evidence))
        set(judgement, MHCS_WARN, MHCS_CAUSE_ISOLATED);
    else if (judgement->ratio > MHCS_PASS_RATIO && judgement->significant)
        weigh_excess(evidence, judgement);
    else if (evidence->reduced == 0 && mhcs_class_is_partial(judgement->class))
        set(judgement, MHCS_WARN, MHCS_CAUSE_KIND);
    else
        set(judgement, MHCS_PASS, MHCS_CAUSE_NONE);
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
