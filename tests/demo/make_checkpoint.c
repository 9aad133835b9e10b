/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-make-checkpoint: writes a safetensors file with the hyper-connection tensors of a
 * DeepSeek-V4 checkpoint, drawn with the statistics of the real ones: fn has an rms of 0.034 to
 * 0.046 with rare weights of up to 0.63 to 1.06 in a bell-shaped body, scale is about 2.076, 0.0187
 * and 0.246, all fp32 with a full mantissa. Each tensor has a seed of its own, so that a file with
 * fewer layers begins like one with more.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bell.h"
#include "option.h"

#define STREAMS      4
#define COEFFICIENTS 24
#define HIDDEN_MIN   64   /* smaller fn can't hold the rare weights at this rms */
#define HEAVY_EVERY  2048 /* of so many weights of fn, one is rare */
#define HEAVY_SPAN   3.2  /* they go down to absmax * exp(-3.2), into the body */

enum kind { FN, BASE, SCALE };

struct tensor {
    char name[64];
    enum kind kind;
    int rows, columns; /* columns 0: a vector */
};

struct options {
    long layers, hidden;
    uint64_t seed;
    const char *out;
};

static size_t count_of(const struct tensor *t)
{
    return (size_t)t->rows * (size_t)(t->columns ? t->columns : 1);
}

/* The i-th tensor of the file; false past the last. */
static bool tensor_at(const struct options *o, long i, struct tensor *ret)
{
    static const char *const kinds[] = {[FN] = "fn", [BASE] = "base", [SCALE] = "scale"};
    long layer = i / 6;
    bool head = layer == o->layers;

    ret->kind = (enum kind)(i % 3);
    if (layer > o->layers || (head && i % 6 > 2))
        return false;
    if (head)
        snprintf(ret->name, sizeof ret->name, "hc_head_%s", kinds[ret->kind]);
    else
        snprintf(ret->name, sizeof ret->name, "layers.%ld.hc_%s_%s", layer,
                 i % 6 < 3 ? "attn" : "ffn", kinds[ret->kind]);
    ret->rows = ret->kind == SCALE ? (head ? 1 : 3) : (head ? STREAMS : COEFFICIENTS);
    ret->columns = ret->kind == FN ? (int)(STREAMS * o->hidden) : 0;
    return true;
}

static double normal(uint64_t *random)
{
    return bell_next(random) / BELL_DEVIATION;
}

/* The rare weights are a ladder from absmax down, equal steps in the logarithm, at random places;
 * the body is scaled so that all together have the wanted rms. */
static void draw_fn(float *fn, size_t count, uint64_t *random)
{
    double rms = 0.034 + 0.012 * random_unit(random);
    double absmax = 0.63 + 0.43 * random_unit(random);
    size_t heavy = count / HEAVY_EVERY + 1;
    double heavy_squares = 0, body_squares = 0, body;

    for (size_t i = 0; i < heavy; i++)
        heavy_squares += absmax * absmax * exp(-2 * HEAVY_SPAN * (double)i / (double)heavy);
    for (size_t i = 0; i < count; i++) {
        double value = normal(random);

        body_squares += value * value;
        fn[i] = (float)value;
    }
    /* A head of few weights: absmax alone would exceed the rms. */
    body = sqrt(fmax((double)count * rms * rms - heavy_squares, 0.25 * (double)count * rms * rms) /
                body_squares);
    for (size_t i = 0; i < count; i++)
        fn[i] = (float)(fn[i] * body);
    for (size_t i = 0; i < heavy; i++) {
        uint64_t place = random_next(random);
        double value = absmax * exp(-HEAVY_SPAN * (double)i / (double)heavy);

        fn[(place >> 1) % count] = (float)(place & 1 ? -value : value);
    }
}

static void draw(const struct tensor *t, float *values, uint64_t *random)
{
    static const double scale[] = {2.076, 0.0187, 0.246};

    if (t->kind == FN) {
        draw_fn(values, count_of(t), random);
        return;
    }
    for (int i = 0; i < t->rows; i++)
        values[i] =
            (float)(t->kind == BASE ? normal(random) : scale[i] * exp(0.1 * normal(random)));
}

/* The JSON header, padded so that the data begins at a multiple of 8. Returns its length. */
static size_t print_header(const struct options *o, char **ret_text)
{
    struct tensor t;
    uint64_t begin = 0;
    size_t bytes;
    FILE *f = open_memstream(ret_text, &bytes);

    if (f == NULL)
        return 0;
    fprintf(f, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (long i = 0; tensor_at(o, i, &t); i++) {
        uint64_t end = begin + count_of(&t) * sizeof(float);

        fprintf(f, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%d", t.name, t.rows);
        if (t.columns)
            fprintf(f, ",%d", t.columns);
        fprintf(f, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, end);
        begin = end;
    }
    fprintf(f, "}");
    fflush(f);
    fprintf(f, "%*s", (int)(-bytes & 7), "");
    return fclose(f) == 0 ? bytes : 0;
}

static bool write_data(const struct options *o, FILE *f)
{
    float *values = malloc(sizeof(float) * COEFFICIENTS * STREAMS * (size_t)o->hidden);
    struct tensor t;
    bool good = values != NULL;

    for (long i = 0; good && tensor_at(o, i, &t); i++) {
        /* The head's seeds do not depend on the number of layers. */
        uint64_t number = i / 6 == o->layers ? (uint64_t)(-1 - i % 6) : (uint64_t)i;
        uint64_t random = mix64(o->seed ^ mix64(number + 1));

        draw(&t, values, &random);
        good = fwrite(values, sizeof(float), count_of(&t), f) == count_of(&t);
    }
    free(values);
    return good;
}

static bool write_file(const struct options *o, FILE *f)
{
    char *header = NULL;
    size_t bytes = print_header(o, &header);
    unsigned char length[8];
    bool good = bytes > 0;

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bytes >> 8 * i);
    good = good && fwrite(length, sizeof length, 1, f) == 1 && fwrite(header, bytes, 1, f) == 1 &&
           write_data(o, f);
    free(header);
    return good;
}

/* Under a name of its own until it is whole. */
static int make(const struct options *o)
{
    char *partial = NULL;
    FILE *f = NULL;
    bool good;

    if (asprintf(&partial, "%s.%ld.partial", o->out, (long)getpid()) < 0)
        return ENOMEM;
    f = fopen(partial, "wb");
    good = f != NULL && write_file(o, f);
    if (f != NULL)
        good = fclose(f) == 0 && good;
    good = good && rename(partial, o->out) == 0;
    if (!good) {
        fprintf(stderr, "mhcshadow-make-checkpoint: %s: %s\n", o->out, strerror(errno));
        unlink(partial);
    }
    free(partial);
    return good ? 0 : 1;
}

enum { KEY_LAYERS = 256, KEY_HIDDEN, KEY_SEED }; /* beyond characters: no short ones */

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case KEY_LAYERS:
        o->layers = option_number(state, arg, 0, 10000);
        return 0;
    case KEY_HIDDEN:
        o->hidden = option_number(state, arg, HIDDEN_MIN, 1 << 20);
        return 0;
    case KEY_SEED:
        o->seed = (uint64_t)option_number(state, arg, 0, LONG_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "only one file can be written");
        o->out = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->out == NULL)
            argp_error(state, "say which file to write");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"layers", KEY_LAYERS, "N", 0, "number of layers (43, as DeepSeek-V4-Flash)", 0},
        {"hidden", KEY_HIDDEN, "N", 0, "hidden size (4096); fn is [24, 4 * hidden]", 0},
        {"seed", KEY_SEED, "N", 0, "seed of all values (1)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = list,
        .parser = parse_option,
        .args_doc = "FILE",
        .doc = "Writes the hyper-connection tensors of a made-up DeepSeek-V4 checkpoint to the "
               "safetensors file FILE: layers.N.hc_attn_*, layers.N.hc_ffn_* and hc_head_*, with "
               "the statistics of the real ones."};
    struct options o = {.layers = 43, .hidden = 4096, .seed = 1};

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    return make(&o);
}
