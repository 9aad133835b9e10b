/* SPDX-License-Identifier: Apache-2.0 */
/* The microtest's findings as tables of 100 columns, the verdict last. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "shadow/path.h"
#include "tools/microtest/gpu.h"
#include "tools/microtest/microtest.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

static void print_title(FILE *out, const char *title)
{
    fprintf(out, "\n%s%s%s\n", mhcs_colour(MHCS_BOLD), title, mhcs_colour(MHCS_PLAIN));
}

static void print_model(FILE *out, const struct mhcs_microtest *test)
{
    const struct mhcs_source *source = &test->source;
    const struct mhcs_model_params *params = &source->sites[0].params;
    char text[1024];

    snprintf(text, sizeof(text),
             "%s%s%s%s, %u layers, hidden %u; hc_eps %g, norm_eps %g, %d Sinkhorn sweeps",
             source->model ? source->model->path : "made up, with DeepSeek-V4's statistics",
             source->model && *source->model->config.model_type ? " (" : "",
             source->model ? source->model->config.model_type : "",
             source->model && *source->model->config.model_type ? ")" : "", source->layers,
             source->k / MHCS_STREAMS, (double)params->hc_eps, (double)params->norm_eps,
             (int)params->iterations);
    mhcs_text_wrap(out, "model       ", text);
    if (source->model && *source->model->config.missing) {
        snprintf(text, sizeof(text),
                 "not in config.json, taken from the tensors or as DeepSeek-V4 has it: %s",
                 source->model->config.missing);
        mhcs_text_wrap(out, "            ", text);
    }
}

static void print_run(FILE *out, const struct mhcs_microtest *test)
{
    const struct mhcs_states_plan *plan = &test->options->states;
    const struct mhcs_gpu *gpu = test->options->machine.gpu;
    double check = 0;
    char text[1024];

    if (plan->file)
        snprintf(text, sizeof(text), "%u rows of %s%s", test->states.rows, plan->file,
                 test->states_are_bf16 ? "" : "; not all of them bf16 numbers");
    else
        snprintf(text, sizeof(text),
                 "%u rows, normal, %s; a share of %g of the channels is %g times as large; seed "
                 "%" PRIu64,
                 test->states.rows, plan->f32 ? "fp32" : "bf16", plan->outlier_share,
                 plan->outlier_gain, plan->seed);
    mhcs_text_wrap(out, "states      ", text);
    for (size_t i = 0; i < test->error_count; i++)
        check = fmax(check, test->errors[i].check);
    if (gpu)
        snprintf(text, sizeof(text),
                 "%s%s; the fp32 reference and all else by %s, %u threads, the reference off from "
                 "fp64 by at most %.1e",
                 mhcs_gpu_is_simulated(gpu) ? "SIMULATED GPU (these numbers come from the CPU): "
                                            : "",
                 mhcs_gpu_text(gpu), test->blas, test->options->machine.threads, check);
    else
        snprintf(text, sizeof(text),
                 "%s, %u threads; split-K cuts the sum into %u; the fp32 reference is off from "
                 "fp64 by at most %.1e",
                 test->blas, test->options->machine.threads, test->options->machine.pieces, check);
    mhcs_text_wrap(out, "arithmetic  ", text);
}

static void print_weights(FILE *out, const struct mhcs_microtest *test)
{
    print_title(out, "Weights");
    fprintf(out, "  %-24s %-5s %-14s %9s %9s  %s\n", "site", "dtype", "shape", "absmax", "rms",
            "scale of pre, post, comb");
    for (size_t i = 0; i < test->error_count; i++) {
        const struct mhcs_site_errors *e = &test->errors[i];
        const float *scale = e->site->params.scale;
        char shape[32];

        snprintf(shape, sizeof(shape), "[%u, %u]", e->site->coefficients, test->source.k);
        fprintf(out, "  %-24s %-5s %-14s %9.4g %9.4g  %.4g", e->site->name,
                mhcs_dtype_name(e->site->dtype), shape, (double)e->absmax, (double)e->rms,
                (double)scale[0]);
        if (e->site->role != MHCS_ROLE_HEAD)
            fprintf(out, " %.4g %.4g", (double)scale[1], (double)scale[2]);
        fputc('\n', out);
    }
}

static void print_error(FILE *out, const struct mhcs_error *error)
{
    char text[MHCS_NUMBER_BYTES];

#define PRINT(member, metric, norm, label)                                                         \
    fprintf(out, " %9s", mhcs_text_number(error->member, text));
    MHCS_ERROR_COLUMNS(PRINT)
#undef PRINT
    fprintf(out, " %9s\n", mhcs_text_number(error->cosine, text));
}

static void print_errors(FILE *out, const struct mhcs_microtest *test)
{
    print_title(
        out,
        "Errors of one mixing GEMM against fp32 (raw: rms over rows; else of all rows together)");
    fprintf(out, "  %-20s %-12s", "site", "run in");
#define HEAD(member, metric, norm, label) fprintf(out, " %9s", label);
    MHCS_ERROR_COLUMNS(HEAD)
#undef HEAD
    fprintf(out, " %9s\n", "1-cos(y)");
    for (size_t i = 0; i < test->error_count; i++)
        for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++) {
            fprintf(out, "  %-20s %-12s", kind ? "" : test->errors[i].site->name,
                    mhcs_arithmetic[kind].name);
            print_error(out, &test->errors[i].error[kind][MHCS_AGAINST_FP32]);
        }
    print_title(out, "The same against fp32 with the rounded operands: output and sum alone, raw");
    for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++) {
        double low = INFINITY, high = 0;

        for (size_t i = 0; i < test->error_count; i++) {
            const double raw = test->errors[i].error[kind][MHCS_AGAINST_OPERANDS].raw;

            if (test->errors[i].site->role == MHCS_ROLE_HEAD)
                continue;
            low = fmin(low, raw);
            high = fmax(high, raw);
        }
        fprintf(out, "  %-12s %.3e to %.3e over the sites of 24 rows\n", mhcs_arithmetic[kind].name,
                low, high);
    }
}

static void print_drift(FILE *out, const struct mhcs_microtest *test)
{
    const uint32_t layers = test->source.layers;

    print_title(out, "After layer N of the linear path, streams against fp32's: relative error, "
                     "and 1 - cosine");
    fprintf(out, "  %5s", "layer");
    for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++)
        fprintf(out, " %17s", mhcs_arithmetic[kind].name);
    fputc('\n', out);
    for (uint32_t layer = 0; layer < layers; layer++) {
        fprintf(out, "  %5u", layer);
        for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++)
            fprintf(out, "  %8.2e %7.1e", test->drift[layer][kind].rel,
                    test->drift[layer][kind].cosine);
        fputc('\n', out);
    }
    mhcs_text_wrap(out, "  ",
                   "The linear path alone: sublayers are stubbed by their norm, so nothing is "
                   "amplified by attention or routing. Streams are bf16 in every column, as in a "
                   "server; part of the drift is their rounding falling differently.");
}

static enum mhcs_colour colour_of(enum mhcs_status status)
{
    return status == MHCS_PASS ? MHCS_GREEN : status == MHCS_WARN ? MHCS_YELLOW : MHCS_RED;
}

static void print_costs(FILE *out, const struct mhcs_microtest *test)
{
    print_title(out, "Over all listed sites of 24 rows");
    fprintf(out, "  %-12s %10s %10s %6s %10s %10s %10s %10s  %s\n", "run in", "raw", "expected",
            "R", "comb", "y from", "to", "1-cos(y)", "verdict");
    for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++) {
        const struct mhcs_cost *cost = &test->cost[kind];
        char text[MHCS_NUMBER_BYTES];

        fprintf(out, "  %-12s %10.3e %10.3e %6s %10.3e %10.3e %10.3e %10.2e  %s%s%s\n",
                mhcs_arithmetic[kind].name, cost->raw, cost->expected,
                mhcs_text_ratio(cost->ratio, text), cost->comb, cost->y_low, cost->y_high,
                cost->cosine, mhcs_colour(colour_of(cost->status)), mhcs_status_name(cost->status),
                mhcs_colour(MHCS_PLAIN));
    }
}

static enum mhcs_arithmetic_kind coarsest(const struct mhcs_microtest *test)
{
    int worst = 0;

    for (int kind = 1; kind < mhcs_arithmetics_of(&test->options->machine); kind++)
        if (test->cost[kind].raw > test->cost[worst].raw)
            worst = kind;
    return (enum mhcs_arithmetic_kind)worst;
}

static void print_verdict(FILE *out, const struct mhcs_microtest *test)
{
    const enum mhcs_status status = mhcs_microtest_status(test);
    const enum mhcs_arithmetic_kind kind = coarsest(test);
    const struct mhcs_cost *cost = &test->cost[kind];
    const uint32_t layers = test->source.layers;
    char text[1024];

    fprintf(out,
            "\nthresholds: PASS R <= %g, WARN R <= %g, harmless below %g of comb and y; %.1f s\n",
            MHCS_PASS_RATIO, MHCS_WARN_RATIO, MHCS_HARMLESS, test->seconds);
    snprintf(
        text, sizeof(text),
        "%s: the coarsest precision, %s, is off by %.2e per GEMM, %.2f times what rounding "
        "predicts; y by %.1e to %.1e; the streams' cosine is at least %.6f after %u layers and "
        "%.6f after %u. %s",
        mhcs_status_name(status), mhcs_arithmetic[kind].name, cost->raw, cost->ratio, cost->y_low,
        cost->y_high, 1 - cost->half.cosine, (layers + 1) / 2, 1 - cost->end.cosine, layers,
        !cost->harmless       ? "That is not small: run the mixing GEMM in fp32."
        : status <= MHCS_PASS ? "It cannot by itself explain lost context."
                              : "More than rounding predicts, yet too small to explain lost "
                                "context.");
    fputs(mhcs_colour(colour_of(status)), out);
    mhcs_text_wrap(out, "VERDICT ", text);
    fputs(mhcs_colour(MHCS_PLAIN), out);
}

void mhcs_microtest_print(FILE *out, const struct mhcs_microtest *test)
{
    print_model(out, test);
    print_run(out, test);
    print_weights(out, test);
    print_errors(out, test);
    if (test->source.layers > 0)
        print_drift(out, test);
    print_costs(out, test);
    print_verdict(out, test);
}
