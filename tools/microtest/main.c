/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-microtest: what a lower precision of the mixing GEMM costs a model, offline. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shadow/model/round.h"
#include "tools/microtest/gpu.h"
#include "tools/microtest/microtest.h"
#include "tools/microtest/synthetic.h"
#include "tools/parallel.h"
#include "tools/report/term.h"

enum { EXIT_FINE, EXIT_OVER, EXIT_USAGE };

enum {
    KEY_MODEL = 256, /* beyond characters: no short ones */
    KEY_SYNTHETIC,
    KEY_LAYERS,
    KEY_HIDDEN,
    KEY_SAMPLE,
    KEY_ROWS,
    KEY_STATES,
    KEY_TENSOR,
    KEY_SHARE,
    KEY_GAIN,
    KEY_F32_STATES,
    KEY_DEVICE,
    KEY_SPLIT,
    KEY_THREADS,
    KEY_SEED,
    KEY_JSON,
};

static const struct argp_option option_list[] = {
    {0, 0, 0, 0, "Weights, one of:", 1},
    {"model", KEY_MODEL, "PATH", 0,
     "a checkpoint: a directory with config.json and safetensors, or a safetensors file", 0},
    {"synthetic", KEY_SYNTHETIC, NULL, 0, "made-up weights with the statistics of DeepSeek-V4's",
     0},
    {"layers", KEY_LAYERS, "N", 0, "layers of made-up weights (43)", 0},
    {"hidden", KEY_HIDDEN, "N", 0, "hidden size of made-up weights (4096)", 0},
    {0, 0, 0, 0, "Hidden states:", 2},
    {"rows", KEY_ROWS, "N", 0, "token rows (64)", 0},
    {"states", KEY_STATES, "FILE", 0,
     "take them from a safetensors file of real activations, [..., 4 * hidden] or "
     "[..., 4, hidden]; else they are drawn, normal with outlier channels",
     0},
    {"tensor", KEY_TENSOR, "NAME", 0, "its tensor, if it has several", 0},
    {"outlier-share", KEY_SHARE, "X", 0, "share of channels that are outliers (1/512)", 0},
    {"outlier-gain", KEY_GAIN, "X", 0, "how much larger those are (16)", 0},
    {"fp32-states", KEY_F32_STATES, NULL, 0,
     "drawn as fp32 numbers, which the narrower paths then round; servers keep bf16", 0},
    {0, 0, 0, 0, "How:", 3},
    {"list", KEY_SAMPLE, "LIST", 0, "layers to list, as 0,21,42, or all (8 of them)", 0},
    {"device", KEY_DEVICE, "cpu|gpu", 0,
     "where the GEMMs run: OpenBLAS here (the default), or the real cuBLAS on the first GPU", 0},
    {"split", KEY_SPLIT, "N", 0, "pieces of the sum over K in the split-K path of the CPU (16)", 0},
    {"threads", KEY_THREADS, "N", 0, "threads (all cores)", 0},
    {"seed", KEY_SEED, "N", 0, "seed of what is drawn (1)", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object instead of tables", 0},
    {0},
};

static uint32_t parse_count(const struct argp_state *state, const char *text, uint64_t low,
                            uint64_t high)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value < low || value > high)
        argp_error(state, "%s is not a number from %" PRIu64 " to %" PRIu64, text, low, high);
    return (uint32_t)value;
}

static double parse_real(const struct argp_state *state, const char *text, double high)
{
    char *end;
    const double value = strtod(text, &end);

    if (end == text || *end || !(value >= 0 && value <= high))
        argp_error(state, "%s is not a number from 0 to %g", text, high);
    return value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct mhcs_microtest_options *o = state->input;
    bool listed;

    switch (key) {
    case KEY_MODEL:
        o->model = arg;
        break;
    case KEY_SYNTHETIC:
        o->synthetic = true;
        break;
    case KEY_LAYERS:
        o->layers = parse_count(state, arg, 1, 1000);
        break;
    case KEY_HIDDEN:
        o->hidden = parse_count(state, arg, MHCS_SYNTHETIC_HIDDEN_MIN, 1 << 16);
        break;
    case KEY_SAMPLE:
        o->sample = arg;
        if (!mhcs_sample_layer(o, 1, 0, &listed))
            argp_error(state, "%s is neither all nor a list of layers as 0,21,42", arg);
        break;
    case KEY_ROWS:
        o->states.rows = parse_count(state, arg, 1, 4096);
        break;
    case KEY_STATES:
        o->states.file = arg;
        break;
    case KEY_TENSOR:
        o->states.tensor = arg;
        break;
    case KEY_SHARE:
        o->states.outlier_share = parse_real(state, arg, 1);
        break;
    case KEY_GAIN:
        o->states.outlier_gain = parse_real(state, arg, 1e4);
        break;
    case KEY_F32_STATES:
        o->states.f32 = true;
        break;
    case KEY_DEVICE:
        o->gpu = strcmp(arg, "gpu") == 0;
        if (!o->gpu && strcmp(arg, "cpu") != 0)
            argp_error(state, "%s is neither cpu nor gpu", arg);
        break;
    case KEY_SPLIT:
        o->machine.pieces = parse_count(state, arg, 2, 64);
        break;
    case KEY_THREADS:
        o->machine.threads = parse_count(state, arg, 1, MHCS_THREADS_MAX);
        break;
    case KEY_SEED:
        o->states.seed = parse_count(state, arg, 0, UINT32_MAX);
        break;
    case KEY_JSON:
        o->json = true;
        break;
    case ARGP_KEY_END:
        if (!o->model == !o->synthetic)
            argp_error(state, "say --model PATH or --synthetic");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void progress(const struct mhcs_microtest *test, size_t site, double begin)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (site < test->source.site_count)
        fprintf(stderr, "\r%-24s %zu of %zu, %.1f s ", test->source.sites[site].name, site + 1,
                test->source.site_count, now() - begin);
    else
        fprintf(stderr, "\r%60s\r", "");
}

/* Every site: its errors if it is listed, and the streams' way through it. */
static int run_sites(struct mhcs_microtest *test, struct mhcs_prepared *prepared,
                     struct mhcs_compound *compound, double begin, char *error)
{
    const struct mhcs_microtest_options *o = test->options;
    const struct mhcs_source *source = &test->source;

    for (size_t i = 0; i < source->site_count; i++) {
        const struct mhcs_model_site *site = &source->sites[i];
        const bool in_layers = site->layer >= 0 && site->layer < (int32_t)source->layers &&
                               site->coefficients == MHCS_COEFFICIENTS;
        bool listed;
        int ret;

        mhcs_sample_layer(o, source->layers, site->layer, &listed);
        if (!listed && !in_layers)
            continue;
        progress(test, i, begin);
        ret = mhcs_prepare(prepared, source, site, o->machine.threads, error);
        if (!ret && listed)
            ret = mhcs_site_errors(&test->errors[test->error_count++], site, prepared,
                                   &test->states, &o->machine, error);
        if (!ret && in_layers) {
            ret = mhcs_compound_site(compound, site, prepared, error);
            mhcs_compound_drift(compound, test->drift[site->layer]);
        }
        if (ret)
            return ret;
    }
    progress(test, source->site_count, begin);
    return 0;
}

static int run(struct mhcs_microtest *test, char *error)
{
    const struct mhcs_microtest_options *o = test->options;
    struct mhcs_prepared prepared = {0};
    struct mhcs_compound *compound = NULL;
    const double begin = now();
    float *x = NULL;
    int ret = -ENOMEM;

    test->errors = calloc(test->source.site_count, sizeof(*test->errors));
    test->drift = calloc(test->source.layers + 1, sizeof(*test->drift));
    snprintf(error, MHCS_MODEL_ERROR, "out of memory");
    if (!test->errors || !test->drift || mhcs_prepared_init(&prepared, test->source.k) < 0)
        goto out;
    ret = mhcs_states_make(&o->states, &x, &test->states.rows, error);
    if (ret)
        goto out;
    test->states.x = x;
    test->states.k = test->source.k;
    test->states_are_bf16 = true;
    for (size_t i = 0; i < (size_t)test->states.rows * test->states.k; i++)
        test->states_are_bf16 = test->states_are_bf16 && mhcs_round_bf16(x[i]) == x[i];
    compound = mhcs_compound_new(&test->states, &o->machine);
    if (!compound) {
        snprintf(error, MHCS_MODEL_ERROR, "out of memory");
        ret = -ENOMEM;
        goto out;
    }
    ret = run_sites(test, &prepared, compound, begin, error);
    test->seconds = now() - begin;
out:
    mhcs_compound_free(compound);
    mhcs_prepared_free(&prepared);
    free(x);
    test->states.x = NULL;
    return ret;
}

static int finish(struct mhcs_microtest *test)
{
    mhcs_microtest_judge(test);
    if (test->options->json && mhcs_microtest_print_json(stdout, test) < 0) {
        fprintf(stderr, "mhcshadow-microtest: out of memory\n");
        return EXIT_USAGE;
    }
    if (!test->options->json)
        mhcs_microtest_print(stdout, test);
    if (fflush(stdout) || ferror(stdout)) {
        perror("mhcshadow-microtest: writing the result");
        return EXIT_USAGE;
    }
    return mhcs_microtest_status(test) == MHCS_FAIL ? EXIT_OVER : EXIT_FINE;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse_option,
        .doc = "Says what a lower precision of the mHC mixing GEMM costs a model: error of each "
               "GEMM, after the model's maps and Sinkhorn, of the sublayer's input, and of the "
               "residual streams over all layers.\v"
               "Exit status: 0 fine, 1 more error than rounding explains, 2 usage or unreadable "
               "checkpoint.\n\nExample:\n  mhcshadow-microtest --model /models/DeepSeek-V4-Flash"};
    struct mhcs_microtest_options options = {
        .layers = 43,
        .hidden = 4096,
        .states = {.rows = 64, .outlier_share = 1.0 / 512, .outlier_gain = 16, .seed = 1},
        .machine = {.pieces = 16, .threads = mhcs_parallel_cores()},
    };
    struct mhcs_microtest test = {.options = &options};
    char error[MHCS_MODEL_ERROR] = "";
    int ret;

    argp_err_exit_status = EXIT_USAGE;
    argp_program_version = "mhcshadow-microtest " MHCS_VERSION;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    mhcs_term_setup(&(struct mhcs_term_options){.colour = MHCS_AUTO});
    ret = options.model ? mhcs_source_open(&test.source, options.model, error)
                        : mhcs_source_make_up(&test.source, options.layers, options.hidden,
                                              options.states.seed, error);
    options.states.k = test.source.k;
    if (!ret && options.gpu)
        ret = mhcs_gpu_open(&options.machine.gpu, error);
    if (!ret) {
        mhcs_arithmetic_init(test.blas, sizeof(test.blas));
        ret = run(&test, error);
    }
    if (ret)
        fprintf(stderr, "mhcshadow-microtest: %s\n", error);
    ret = ret ? EXIT_USAGE : finish(&test);
    free(test.errors);
    free(test.drift);
    mhcs_source_close(&test.source);
    mhcs_gpu_close(options.machine.gpu);
    return ret;
}
