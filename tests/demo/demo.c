/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-demo: makes the cuBLAS calls of a DeepSeek-V4 server's forward passes, and nothing else
 * of it. An ordinary client: it knows nothing of mhcshadow, and links cudart and cuBLAS.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "tools/microtest/bell.h"
#include "check.h"
#include "forward.h"
#include "option.h"

#define DECODE_TOKENS_MAX 64 /* what the largest graph holds */

struct options {
    const char *checkpoint;
    const struct demo_precision *precision;
    struct demo_traffic traffic;
    int prefill_steps, decode_steps, layers, pause;
    uint64_t seed;
    const char *reload;
    bool quiet;
};

enum {
    KEY_CHECKPOINT = 256, /* beyond characters: no short options */
    KEY_PRECISION,
    KEY_PREFILL_STEPS,
    KEY_PREFILL_TOKENS,
    KEY_DECODE_STEPS,
    KEY_DECODE_TOKENS,
    KEY_DECODE,
    KEY_LAYERS,
    KEY_SEED,
    KEY_STREAMS,
    KEY_CAST,
    KEY_RELOAD,
    KEY_PAUSE,
    KEY_QUIET,
};

static const struct argp_option option_list[] = {
    {"checkpoint", KEY_CHECKPOINT, "PATH", 0,
     "safetensors file or directory with the mixing weights (needed); it gives hidden size and "
     "layers",
     0},
    {"precision", KEY_PRECISION, "NAME", 0, DEMO_PRECISIONS " (bf16)", 0},
    {"prefill-steps", KEY_PREFILL_STEPS, "N", 0, "prefill passes (1)", 0},
    {"prefill-tokens", KEY_PREFILL_TOKENS, "N", 0, "tokens of each (256)", 0},
    {"decode-steps", KEY_DECODE_STEPS, "N", 0, "decode passes (16)", 0},
    {"decode-tokens", KEY_DECODE_TOKENS, "N", 0, "tokens of each, at most: 1 to 64 (64)", 0},
    {"decode", KEY_DECODE, "HOW", 0,
     "eager: call by call; padded: the same, over as many rows as a graph would have; graphs: in "
     "CUDA graphs, one for each number of rows (eager)",
     0},
    {"layers", KEY_LAYERS, "N", 0, "use only the first N layers", 0},
    {"seed", KEY_SEED, "N", 0, "seed of x and of the decode passes' tokens (1)", 0},
    {"streams", KEY_STREAMS, "N", 0, "streams that take the passes in turn (1)", 0},
    {"cast", KEY_CAST, NULL, 0, "weights come to the same temporary buffer for every call", 0},
    {"reload", KEY_RELOAD, "PATH", 0,
     "halfway through the passes the weights of this checkpoint take the place of the others", 0},
    {"pause", KEY_PAUSE, "MS", 0, "milliseconds between passes: a simulated GPU is slow (0)", 0},
    {"quiet", KEY_QUIET, NULL, 0, "only the last line", 0},
    {0},
};

static bool parse_decode(const char *name, enum demo_decode_how *ret_how)
{
    static const char *const names[] = {"eager", "padded", "graphs"}; /* enum demo_decode_how */

    for (int i = DEMO_EAGER; i <= DEMO_GRAPHS; i++)
        if (strcmp(name, names[i]) == 0) {
            *ret_how = (enum demo_decode_how)i;
            return true;
        }
    return false;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case KEY_CHECKPOINT:
        o->checkpoint = arg;
        return 0;
    case KEY_PRECISION:
        o->precision = demo_precision_find(arg);
        if (o->precision == NULL)
            argp_error(state, "precision is " DEMO_PRECISIONS ", not %s", arg);
        return 0;
    case KEY_PREFILL_STEPS:
        o->prefill_steps = (int)option_number(state, arg, 0, 1000000);
        return 0;
    case KEY_PREFILL_TOKENS:
        o->traffic.prefill_tokens = (int)option_number(state, arg, 1, 65536);
        return 0;
    case KEY_DECODE_STEPS:
        o->decode_steps = (int)option_number(state, arg, 0, 1000000);
        return 0;
    case KEY_DECODE_TOKENS:
        o->traffic.decode_tokens = (int)option_number(state, arg, 1, DECODE_TOKENS_MAX);
        return 0;
    case KEY_DECODE:
        if (!parse_decode(arg, &o->traffic.decode))
            argp_error(state, "decode is eager, padded or graphs, not %s", arg);
        return 0;
    case KEY_LAYERS:
        o->layers = (int)option_number(state, arg, 1, 10000);
        return 0;
    case KEY_SEED:
        o->seed = (uint64_t)option_number(state, arg, 0, LONG_MAX);
        return 0;
    case KEY_STREAMS:
        o->traffic.streams = (int)option_number(state, arg, 1, 64);
        return 0;
    case KEY_CAST:
        o->traffic.cast = true;
        return 0;
    case KEY_RELOAD:
        o->reload = arg;
        return 0;
    case KEY_PAUSE:
        o->pause = (int)option_number(state, arg, 0, 60000);
        return 0;
    case KEY_QUIET:
        o->quiet = true;
        return 0;
    case ARGP_KEY_END:
        if (o->checkpoint == NULL)
            argp_error(state, "--checkpoint is needed; mhcshadow-make-checkpoint FILE writes one");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void run_steps(const struct options *o, struct demo_model *model, struct demo_forward *f)
{
    const int steps = o->prefill_steps + o->decode_steps;
    uint64_t random = mix64(o->seed);

    for (int i = 0; i < steps; i++) {
        bool prefill = i < o->prefill_steps;
        int tokens = o->traffic.prefill_tokens;

        if (!prefill)
            tokens = 1 + (int)(random_next(&random) % (unsigned)o->traffic.decode_tokens);

        if (i > 0 && o->pause > 0)
            usleep((useconds_t)o->pause * 1000);
        if (o->reload != NULL && i == steps / 2)
            demo_model_reload(model, o->reload, o->precision);
        if (prefill)
            demo_forward_prefill(f, tokens);
        else
            demo_forward_decode(f, tokens);
        if (!o->quiet)
            fprintf(stderr, "%s pass queued, %d token%s\n", prefill ? "prefill" : "decode", tokens,
                    tokens == 1 ? "" : "s");
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse_option,
        .doc =
            "Makes the cuBLAS calls of a DeepSeek-V4 server's forward passes: per layer the two "
            "mixing GEMMs of 24 coefficients, now and then a router gate, and the head. The last "
            "line gives the number of calls and a checksum of all results: it is the same "
            "whether or not a library is preloaded."};
    struct options o = {.precision = demo_precision_find("bf16"),
                        .traffic = {.streams = 1, .prefill_tokens = 256, .decode_tokens = 64},
                        .prefill_steps = 1,
                        .decode_steps = 16,
                        .seed = 1};
    struct demo_model *model;
    struct demo_forward *f;
    struct demo_counts counts;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    CHECK_CUDA(cudaSetDevice(0));
    model = demo_model_load(o.checkpoint, o.layers, o.precision);
    if (o.decode_steps == 0)
        o.traffic.decode_tokens = 0;
    f = demo_forward_new(model, o.precision, &o.traffic, o.seed);
    run_steps(&o, model, f);
    counts = demo_forward_finish(f);
    printf("%s, %d layers, hidden %d, %d prefill and %d decode passes: %" PRIu64
           " mixing GEMMs, %" PRIu64 " of the head, %" PRIu64 " others, checksum %016" PRIx64 "\n",
           o.precision->name, model->layers, model->hidden, o.prefill_steps, o.decode_steps,
           counts.mixing, counts.head, counts.others, counts.checksum);
    demo_model_free(model);
    return 0;
}
