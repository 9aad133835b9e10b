/* SPDX-License-Identifier: Apache-2.0 */
/* The conclusion in plain words: what was found, what it means for the model, what to do. */
#include <inttypes.h>
#include <math.h>

#include "tools/report/conclude.h"
#include "tools/report/text.h"

static const char *reference_name(enum mhcs_path reference)
{
    return reference == MHCS_OPERANDS ? "the operands reference" : "the checkpoint";
}

/* The declared path, or a word for several. */
static const char *declared(const struct mhcs_collect *collect)
{
    return collect->paths == 1 ? collect->path[0]->text : "their declared paths";
}

/* "comb is off by 0.15 % rms after Sinkhorn, y by 1.2e-03 (1 - cosine at most 3.1e-06)" */
static void say_effect(FILE *out, const struct mhcs_conclusion *conclusion)
{
    char text[MHCS_NUMBER_BYTES];

    if (!isnan(conclusion->comb_err))
        fprintf(out, "after Sinkhorn comb is off by %.2g %% rms, ", 100 * conclusion->comb_err);
    fprintf(out, "y by %.2g %%", 100 * conclusion->y_rel);
    if (!isnan(conclusion->y_cosdist))
        fprintf(out, " (1 - cosine at most %s)", mhcs_text_number(conclusion->y_cosdist, text));
}

/* " in calls of 1024 or more token rows" */
static void say_calls(FILE *out, const struct mhcs_conclusion *conclusion)
{
    const uint32_t from = conclusion->calls_from, to = conclusion->calls_to;

    if (from > 0 && to < UINT32_MAX)
        fprintf(out, " in calls of %" PRIu32 " to %" PRIu32 " token rows", from, to);
    else if (from > 0)
        fprintf(out, " in calls of %" PRIu32 " or more token rows", from);
    else if (to < UINT32_MAX)
        fprintf(out, " in calls of fewer than %" PRIu32 " token rows", to + 1);
}

/* How many sites it concerns, and where it is worst. */
static void say_extent(FILE *out, const struct mhcs_conclusion *conclusion)
{
    const struct mhcs_group *worst = conclusion->worst_site;

    if (conclusion->sites_concerned == 0)
        fputs("over all sites together", out);
    else
        fprintf(out, "%zu of %zu sites", conclusion->sites_concerned, conclusion->sites);
    if (worst)
        fprintf(out, ", worst %s in %s", worst->site->name,
                mhcs_phase_name((enum mhcs_phase)worst->phase));
}

/* "odd token rows in calls of 1024 or more token rows" */
static void say_rows(FILE *out, const struct mhcs_conclusion *conclusion)
{
    const struct mhcs_pattern pattern = mhcs_where_pattern(&conclusion->decisive->evidence.where);

    mhcs_pattern_say(out, &pattern);
    say_calls(out, conclusion);
}

/* " in coefficient 13 (comb[1][1])" */
static void say_coefficients(FILE *out, const struct mhcs_where *where)
{
    if (mhcs_where_any_coefficient(where))
        return;
    fputs(" in ", out);
    mhcs_where_say_coefficients(out, where);
}

/* " (12 of all 1400 rows): 6 of 7 sites" */
static void say_count(FILE *out, const struct mhcs_conclusion *conclusion)
{
    const struct mhcs_evidence *evidence = &conclusion->decisive->evidence;

    fprintf(out, " (%" PRIu64 " of all %" PRIu64 " rows): ", mhcs_where_off(&evidence->where),
            evidence->rows + evidence->nonfinite);
    say_extent(out, conclusion);
}

static void say_pass(FILE *out, const struct mhcs_conclusion *conclusion,
                     const struct mhcs_collect *collect)
{
    char ratio[MHCS_NUMBER_BYTES];

    fprintf(out, "Rounding noise as %s predicts (R %s): ", declared(collect),
            mhcs_text_ratio(conclusion->decisive->judgement.ratio, ratio));
    say_effect(out, conclusion);
    fputs(conclusion->harmless
              ? "; it cannot by itself explain lost context."
              : "; this is what the declared precision costs, and it is not small: run the mixing "
                "GEMM in fp32.",
          out);
    if (conclusion->calls_from == 0 && conclusion->calls_to == UINT32_MAX)
        return;
    fputs(" Results depend on the number of token rows:", out);
    say_calls(out, conclusion);
    fprintf(out, " alone there is %s, as the path allows.",
            mhcs_class_name(conclusion->decisive->judgement.class));
}

/* What a kernel author or an operator looks at. */
static const char *advice(enum mhcs_class class)
{
    switch (class) {
    case MHCS_CLASS_ACCUMULATION:
        return "Look at the length of unsplit sums, and at kernels that use tensor cores where "
               "fp32 was asked for";
    case MHCS_CLASS_F16_OUTPUT:
    case MHCS_CLASS_BF16_OUTPUT:
        return "Look for a buffer or a cast behind the GEMM that is narrower than declared";
    case MHCS_CLASS_F16_PARTIALS:
    case MHCS_CLASS_BF16_PARTIALS:
        return "Look at split-K kernels and their workspace, and at the framework's switch for "
               "reduced-precision reduction";
    case MHCS_CLASS_F16_SUMS:
        return "Look for a compute type of 16 bits and the framework's switch for fp16 "
               "accumulation";
    case MHCS_CLASS_TF32:
    case MHCS_CLASS_BF16:
        return "Look at NVIDIA_TF32_OVERRIDE, the framework's TF32 and reduced-precision switches, "
               "and for weights that passed through a narrower type";
    default:
        return "This is no rounding: look for another kernel than expected, a race, or wrong "
               "weights";
    }
}

/* Roundings: all rows alike. */
static void say_rounding(FILE *out, const struct mhcs_conclusion *conclusion,
                         const struct mhcs_collect *collect)
{
    const struct mhcs_group *group = conclusion->decisive;
    char ratio[MHCS_NUMBER_BYTES], rms[MHCS_NUMBER_BYTES];

    fprintf(out, "Declared %s, but behaves like %s", declared(collect),
            mhcs_class_name(conclusion->class));
    if (conclusion->class == MHCS_CLASS_ACCUMULATION &&
        mhcs_traits_lean_inward(&group->evidence.traits))
        fputs(" whose sums are cut off instead of rounded", out);
    say_calls(out, conclusion);
    fprintf(out,
            " (against %s, rms rel %s, %s times the expected): ", reference_name(group->reference),
            mhcs_text_number(conclusion->rms_rel, rms), mhcs_text_ratio(conclusion->ratio, ratio));
    say_extent(out, conclusion);
    fprintf(out, ". %s. Over all rows ", advice(conclusion->class));
    say_effect(out, conclusion);
    fputs(conclusion->harmless ? ": too small to explain lost context." : ".", out);
}

/* What does such a thing. */
static const char *suspect(const struct mhcs_where *where)
{
    const struct mhcs_pattern pattern = mhcs_where_pattern(where);
    const enum mhcs_wrong wrong = mhcs_where_wrong(where);

    if (wrong == MHCS_WRONG_MOVED)
        return "a matrix that is written or read in another layout than declared";
    if (wrong == MHCS_WRONG_SCALED)
        return "a factor that is applied twice or not at all";
    if (pattern.kind == MHCS_TAIL)
        return "a kernel that leaves the last tile unwritten, or reads beyond it";
    if (pattern.kind == MHCS_STRETCH)
        return "one multiprocessor or memory cell that fails, or one tile of a wrong kernel";
    if (pattern.kind == MHCS_PERIOD)
        return "a kernel that mixes up the rows of a tile";
    return "a wrong kernel, a race or a memory fault";
}

#define GROSS 0.05 /* rel of rows that hold something else */

static void say_wrong(FILE *out, const struct mhcs_conclusion *conclusion,
                      const struct mhcs_collect *collect)
{
    const struct mhcs_where *where = &conclusion->decisive->evidence.where;

    /* An excess that all rows share, or a head's, where no row stands out. */
    if ((conclusion->cause == MHCS_CAUSE_RATIO && conclusion->rms_rel < GROSS) ||
        mhcs_where_off(where) == 0) {
        say_rounding(out, conclusion, collect);
        return;
    }
    fputs(conclusion->cause == MHCS_CAUSE_ISOLATED ? "Rounding noise but for single rows: "
                                                   : "Wrong values, not rounding: ",
          out);
    say_rows(out, conclusion);
    fprintf(out, " hold %s", mhcs_wrong_name(mhcs_where_wrong(where)));
    say_coefficients(out, where);
    say_count(out, conclusion);
    fprintf(out, ". Look for %s", suspect(where));
    fputs(conclusion->cause == MHCS_CAUSE_ISOLATED
              ? "."
              : "; this can ruin a model's output: take back what brought it.",
          out);
}

static void say_nonfinite(FILE *out, const struct mhcs_conclusion *conclusion,
                          const struct mhcs_collect *collect)
{
    fputs("Production holds NaN or Inf where the reference and x are finite: ", out);
    say_rows(out, conclusion);
    say_coefficients(out, &conclusion->decisive->evidence.where);
    say_count(out, conclusion);
    fputs(". The GEMM overflows its format or is broken there; this alone can ruin a model's "
          "output.",
          out);
}

static void say_weights(FILE *out, const struct mhcs_conclusion *conclusion,
                        const struct mhcs_collect *collect)
{
    const struct mhcs_group *group = conclusion->decisive;
    char ratio[MHCS_NUMBER_BYTES];

    if (group->judgement.status <= MHCS_PASS) { /* known from the weights themselves */
        say_pass(out, conclusion, collect);
        return;
    }
    fprintf(out,
            "The arithmetic is as declared, but not the weights: against the checkpoint errors are "
            "%s times the expected",
            mhcs_text_ratio(conclusion->ratio, ratio));
    say_coefficients(out, &group->evidence.where);
    fputs(": ", out);
    say_extent(out, conclusion);
    fputs(". Fine if the server was tuned or updated on purpose; else load its weights anew. Over "
          "all rows ",
          out);
    say_effect(out, conclusion);
    fputc('.', out);
}

static void say_insufficient(FILE *out, const struct mhcs_conclusion *conclusion,
                             const struct mhcs_collect *collect)
{
    const struct mhcs_group *group = conclusion->decisive;

    if (conclusion->reference_unsound)
        fprintf(out,
                "The fp32 reference is off by %.3e rms from fp64 (limit %.0e): it cannot judge "
                "anything.",
                mhcs_stat_rms(&collect->check), MHCS_CHECK_MAX);
    else if (group->judgement.cause == MHCS_CAUSE_EXPECTATION)
        fprintf(out,
                "There is no expectation for %s, so its errors are listed only: %" PRIu64
                " of %" PRIu64 " rows could be judged.",
                declared(collect), group->evidence.excess.count, group->evidence.rows);
    else
        fprintf(out,
                "Only %" PRIu64
                " rows could be compared and %d are needed: let the server run longer, or raise "
                "MHCSHADOW_SAMPLE or MHCSHADOW_ROWS.",
                group->evidence.rows, MHCS_MIN_ROWS);
}

void mhcs_conclusion_say(FILE *out, const struct mhcs_conclusion *conclusion,
                         const struct mhcs_collect *collect)
{
    if (conclusion->status == MHCS_INSUFFICIENT)
        say_insufficient(out, conclusion, collect);
    else if (conclusion->class == MHCS_CLASS_WRONG_WEIGHTS)
        say_weights(out, conclusion, collect);
    else if (conclusion->status == MHCS_PASS)
        say_pass(out, conclusion, collect);
    else if (conclusion->class == MHCS_CLASS_NONFINITE)
        say_nonfinite(out, conclusion, collect);
    else if (conclusion->class == MHCS_CLASS_WRONG_VALUES)
        say_wrong(out, conclusion, collect);
    else
        say_rounding(out, conclusion, collect);
}
