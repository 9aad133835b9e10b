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

/* How many sites share the status, and where it is worst. */
static void say_extent(FILE *out, const struct mhcs_conclusion *conclusion)
{
    const struct mhcs_group *group = conclusion->decisive;
    const size_t sites =
        conclusion->status == MHCS_FAIL ? conclusion->sites_failed : conclusion->sites_warned;

    fprintf(out, "%zu of %zu sites", sites, conclusion->sites);
    if (group->site)
        fprintf(out, ", worst %s in %s", group->site->name,
                mhcs_phase_name((enum mhcs_phase)group->phase));
    else if (group->phase >= 0)
        fprintf(out, ", over all of %s", mhcs_phase_name((enum mhcs_phase)group->phase));
    else
        fputs(", over the whole run", out);
    if (group->bucket >= 0)
        fprintf(out, ", calls of %u to %u token rows", 1u << group->bucket,
                (2u << group->bucket) - 1);
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
}

static void say_ratio(FILE *out, const struct mhcs_conclusion *conclusion,
                      const struct mhcs_collect *collect)
{
    const struct mhcs_group *group = conclusion->decisive;
    char ratio[MHCS_NUMBER_BYTES], rms[MHCS_NUMBER_BYTES];

    fprintf(out,
            "Errors against %s are %s times what %s predicts: ", reference_name(group->reference),
            mhcs_text_ratio(group->judgement.ratio, ratio), declared(collect));
    say_extent(out, conclusion);
    fprintf(out, " (rms rel %s, the size of %s). Over all rows ",
            mhcs_text_number(mhcs_evidence_rms(&group->evidence), rms),
            mhcs_class_name(mhcs_evidence_class(&group->evidence)));
    say_effect(out, conclusion);
    if (conclusion->status == MHCS_FAIL)
        fputs(". This is not the rounding that was declared: look for reduced-precision partial "
              "sums, another kernel than expected, or wrong weights.",
              out);
    else
        fputs(conclusion->harmless
                  ? ". More than declared, yet too small to explain lost context."
                  : ". More than declared: see `mhcshadow-report layers --sort R`.",
              out);
}

static void say_class(FILE *out, const struct mhcs_conclusion *conclusion,
                      const struct mhcs_collect *collect)
{
    const struct mhcs_group *group = conclusion->decisive;
    char ratio[MHCS_NUMBER_BYTES], rms[MHCS_NUMBER_BYTES];

    fprintf(out, "Declared %s, but behaves like %s (rms rel %s, %s times the expected): ",
            declared(collect), mhcs_class_name(mhcs_evidence_class(&group->evidence)),
            mhcs_text_number(mhcs_evidence_rms(&group->evidence), rms),
            mhcs_text_ratio(group->judgement.ratio, ratio));
    say_extent(out, conclusion);
    fputs(". Look at NVIDIA_TF32_OVERRIDE, the framework's TF32 and reduced-precision switches, "
          "and for weights that passed through a narrower type. Over all rows ",
          out);
    say_effect(out, conclusion);
    fputc('.', out);
}

static void say_nonfinite(FILE *out, const struct mhcs_conclusion *conclusion,
                          const struct mhcs_collect *collect)
{
    fprintf(out,
            "Production holds NaN or Inf where the reference and x are finite, rows: %" PRIu64 "; ",
            collect->nonfinite_alone);
    say_extent(out, conclusion);
    fputs(". The GEMM overflows its format or is broken there; this alone can ruin a model's "
          "output.",
          out);
}

static void say_isolated(FILE *out, const struct mhcs_conclusion *conclusion,
                         const struct mhcs_collect *collect)
{
    const struct mhcs_group *group = conclusion->decisive;

    fprintf(out,
            "Rounding noise as %s predicts, but for single rows more than %.0f times above it "
            "(against %s): ",
            declared(collect), MHCS_ISOLATED_RATIO, reference_name(group->reference));
    say_extent(out, conclusion);
    fputs(". Rounding does not do that; a wrong kernel, a race or a memory fault may.", out);
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
    static void (*const say[])(FILE *, const struct mhcs_conclusion *,
                               const struct mhcs_collect *) = {
        [MHCS_CAUSE_NONE] = say_pass,
        [MHCS_CAUSE_ROWS] = say_insufficient,
        [MHCS_CAUSE_EXPECTATION] = say_insufficient,
        [MHCS_CAUSE_ISOLATED] = say_isolated,
        [MHCS_CAUSE_RATIO] = say_ratio,
        [MHCS_CAUSE_CLASS] = say_class,
        [MHCS_CAUSE_NONFINITE] = say_nonfinite,
    };

    if (conclusion->status == MHCS_INSUFFICIENT)
        say_insufficient(out, conclusion, collect);
    else
        say[conclusion->decisive->judgement.cause](out, conclusion, collect);
}
