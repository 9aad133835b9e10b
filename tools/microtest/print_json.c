/* SPDX-License-Identifier: Apache-2.0 */
/* The same as one JSON object. */
#include <errno.h>
#include <stdio.h>

#include "shadow/json.h"
#include "shadow/path.h"
#include "tools/microtest/gpu.h"
#include "tools/microtest/microtest.h"

static void put_model(struct mhcs_json *json, const struct mhcs_microtest *test)
{
    const struct mhcs_source *source = &test->source;
    const struct mhcs_model_params *params = &source->sites[0].params;

    mhcs_json_begin_object(json, "model");
    mhcs_json_string(json, "path", source->model ? source->model->path : NULL);
    mhcs_json_string(json, "model_type", source->model ? source->model->config.model_type : NULL);
    mhcs_json_string(json, "missing", source->model ? source->model->config.missing : "");
    mhcs_json_int(json, "layers", source->layers);
    mhcs_json_int(json, "hidden", source->k / MHCS_STREAMS);
    mhcs_json_number(json, "hc_eps", (double)params->hc_eps);
    mhcs_json_number(json, "norm_eps", (double)params->norm_eps);
    mhcs_json_int(json, "iterations", params->iterations);
    mhcs_json_end_object(json);
}

static void put_error(struct mhcs_json *json, const char *key, const struct mhcs_error *error)
{
    mhcs_json_begin_object(json, key);
#define PUT(member, metric, norm, label) mhcs_json_number(json, label, error->member);
    MHCS_ERROR_COLUMNS(PUT)
#undef PUT
    mhcs_json_number(json, "y_cosine_distance", error->cosine);
    mhcs_json_end_object(json);
}

static void put_sites(struct mhcs_json *json, const struct mhcs_microtest *test)
{
    mhcs_json_begin_array(json, "sites");
    for (size_t i = 0; i < test->error_count; i++) {
        const struct mhcs_site_errors *e = &test->errors[i];
        const uint32_t scales = e->site->role == MHCS_ROLE_HEAD ? 1 : 3;

        mhcs_json_begin_object(json, NULL);
        mhcs_json_string(json, "site", e->site->name);
        mhcs_json_int(json, "layer", e->site->layer);
        mhcs_json_string(json, "role", mhcs_role_name(e->site->role));
        mhcs_json_string(json, "dtype", mhcs_dtype_name(e->site->dtype));
        mhcs_json_int(json, "rows", e->site->coefficients);
        mhcs_json_number(json, "absmax", (double)e->absmax);
        mhcs_json_number(json, "rms", (double)e->rms);
        mhcs_json_begin_array(json, "scale");
        for (uint32_t s = 0; s < scales; s++)
            mhcs_json_number(json, NULL, (double)e->site->params.scale[s]);
        mhcs_json_end_array(json);
        mhcs_json_number(json, "fp64_check", e->check);
        mhcs_json_begin_object(json, "errors");
        for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++) {
            mhcs_json_begin_object(json, mhcs_arithmetic[kind].name);
            put_error(json, "operands", &e->error[kind][MHCS_AGAINST_OPERANDS]);
            put_error(json, "fp32", &e->error[kind][MHCS_AGAINST_FP32]);
            mhcs_json_end_object(json);
        }
        mhcs_json_end_object(json);
        mhcs_json_end_object(json);
    }
    mhcs_json_end_array(json);
}

static void put_drift(struct mhcs_json *json, const struct mhcs_microtest *test)
{
    mhcs_json_begin_object(json, "drift");
    for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++) {
        mhcs_json_begin_array(json, mhcs_arithmetic[kind].name);
        for (uint32_t layer = 0; layer < test->source.layers; layer++) {
            mhcs_json_begin_object(json, NULL);
            mhcs_json_number(json, "rel", test->drift[layer][kind].rel);
            mhcs_json_number(json, "cosine_distance", test->drift[layer][kind].cosine);
            mhcs_json_end_object(json);
        }
        mhcs_json_end_array(json);
    }
    mhcs_json_end_object(json);
}

static void put_costs(struct mhcs_json *json, const struct mhcs_microtest *test)
{
    mhcs_json_begin_object(json, "paths");
    for (int kind = 0; kind < mhcs_arithmetics_of(&test->options->machine); kind++) {
        const struct mhcs_cost *cost = &test->cost[kind];

        mhcs_json_begin_object(json, mhcs_arithmetic[kind].name);
        mhcs_json_string(json, "path", mhcs_arithmetic[kind].path);
        mhcs_json_string(json, "status", mhcs_status_name(cost->status));
        mhcs_json_number(json, "raw", cost->raw);
        mhcs_json_number(json, "expected", cost->expected);
        mhcs_json_number(json, "ratio", cost->ratio);
        mhcs_json_number(json, "comb", cost->comb);
        mhcs_json_number(json, "y_low", cost->y_low);
        mhcs_json_number(json, "y_high", cost->y_high);
        mhcs_json_number(json, "y_cosine_distance", cost->cosine);
        mhcs_json_bool(json, "harmless", cost->harmless);
        mhcs_json_end_object(json);
    }
    mhcs_json_end_object(json);
}

int mhcs_microtest_print_json(FILE *out, const struct mhcs_microtest *test)
{
    const struct mhcs_gpu *gpu = test->options->machine.gpu;
    struct mhcs_json json = {0};
    const char *text;

    mhcs_json_begin_object(&json, NULL);
    put_model(&json, test);
    mhcs_json_begin_object(&json, "run");
    mhcs_json_int(&json, "rows", test->states.rows);
    mhcs_json_bool(&json, "states_are_bf16", test->states_are_bf16);
    if (gpu) {
        mhcs_json_string(&json, "gpu", mhcs_gpu_text(gpu));
        mhcs_json_bool(&json, "simulated", mhcs_gpu_is_simulated(gpu));
    } else {
        mhcs_json_int(&json, "split", test->options->machine.pieces);
    }
    mhcs_json_int(&json, "threads", test->options->machine.threads);
    mhcs_json_string(&json, "blas", test->blas);
    mhcs_json_number(&json, "seconds", test->seconds);
    mhcs_json_end_object(&json);
    put_sites(&json, test);
    put_drift(&json, test);
    put_costs(&json, test);
    mhcs_json_string(&json, "verdict", mhcs_status_name(mhcs_microtest_status(test)));
    mhcs_json_end_object(&json);
    text = mhcs_json_finish(&json);
    if (text)
        fprintf(out, "%s\n", text);
    mhcs_json_free(&json);
    return text ? 0 : -ENOMEM;
}
