/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-make-checkpoint: writes a safetensors file with the hyper-connection tensors of a
 * DeepSeek-V4 checkpoint, made up with the statistics of the real ones, and on request the
 * config.json that belongs to it.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "option.h"
#include "tools/microtest/synthetic.h"

struct tensor {
    char name[64];
    struct mhcs_weight_name of;
    int rows, columns; /* columns 0: a vector */
};

struct options {
    long layers, hidden;
    uint64_t seed;
    const char *out, *config;
};

static size_t count_of(const struct tensor *t)
{
    return (size_t)t->rows * (size_t)(t->columns ? t->columns : 1);
}

/* The i-th tensor of the file; false past the last. */
static bool tensor_at(const struct options *o, long i, struct tensor *ret)
{
    long layer = i / 6;
    bool head = layer == o->layers;

    if (layer > o->layers || (head && i % 6 > 2))
        return false;
    ret->of = (struct mhcs_weight_name){.role = head        ? MHCS_ROLE_HEAD
                                                : i % 6 < 3 ? MHCS_ROLE_ATTN
                                                            : MHCS_ROLE_FFN,
                                        .part = (enum mhcs_part_of_site)(i % 3),
                                        .block = head ? -1 : (int32_t)layer};
    if (head)
        snprintf(ret->name, sizeof ret->name, "hc_head_%s", mhcs_part_name(ret->of.part));
    else
        snprintf(ret->name, sizeof ret->name, "layers.%ld.hc_%s_%s", layer,
                 mhcs_role_name(ret->of.role), mhcs_part_name(ret->of.part));
    ret->rows = head ? MHCS_COEFFICIENTS_HEAD : MHCS_COEFFICIENTS;
    if (ret->of.part == MHCS_SITE_SCALE)
        ret->rows = head ? 1 : 3;
    ret->columns = ret->of.part == MHCS_SITE_FN ? (int)(MHCS_STREAMS * o->hidden) : 0;
    return true;
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
    float *values = malloc(sizeof(float) * MHCS_COEFFICIENTS * MHCS_STREAMS * (size_t)o->hidden);
    struct tensor t;
    bool good = values != NULL;

    for (long i = 0; good && tensor_at(o, i, &t); i++) {
        mhcs_synthetic_draw(o->seed, &t.of, (uint32_t)o->hidden, values);
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

static bool write_config(const struct options *o, FILE *f)
{
    return fprintf(f,
                   "{\"model_type\": \"deepseek_v4\", \"hidden_size\": %ld, "
                   "\"num_hidden_layers\": %ld, \"hc_mult\": %d, \"hc_sinkhorn_iters\": 20, "
                   "\"hc_eps\": 1e-06, \"rms_norm_eps\": 1e-06}\n",
                   o->hidden, o->layers, MHCS_STREAMS) > 0;
}

/* Under a name of its own until it is whole. */
static int make(const struct options *o, const char *out,
                bool (*write)(const struct options *o, FILE *f))
{
    char *partial = NULL;
    FILE *f = NULL;
    bool good;

    if (asprintf(&partial, "%s.%ld.partial", out, (long)getpid()) < 0)
        return ENOMEM;
    f = fopen(partial, "wb");
    good = f != NULL && write(o, f);
    if (f != NULL)
        good = fclose(f) == 0 && good;
    good = good && rename(partial, out) == 0;
    if (!good) {
        fprintf(stderr, "mhcshadow-make-checkpoint: %s: %s\n", out, strerror(errno));
        unlink(partial);
    }
    free(partial);
    return good ? 0 : 1;
}

enum { KEY_LAYERS = 256, KEY_HIDDEN, KEY_SEED, KEY_CONFIG }; /* beyond characters: no short ones */

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case KEY_LAYERS:
        o->layers = option_number(state, arg, 0, 10000);
        return 0;
    case KEY_HIDDEN:
        o->hidden = option_number(state, arg, MHCS_SYNTHETIC_HIDDEN_MIN, 1 << 20);
        return 0;
    case KEY_SEED:
        o->seed = (uint64_t)option_number(state, arg, 0, LONG_MAX);
        return 0;
    case KEY_CONFIG:
        o->config = arg;
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
        {"config", KEY_CONFIG, "FILE", 0, "also write the model's config.json to FILE", 0},
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
    if (make(&o, o.out, write_file) != 0)
        return 1;
    return o.config ? make(&o, o.config, write_config) : 0;
}
