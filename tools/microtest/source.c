/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/microtest/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/microtest/synthetic.h"

int mhcs_source_open(struct mhcs_source *ret_source, const char *path, char error[MHCS_MODEL_ERROR])
{
    struct mhcs_model *model;
    const int ret = mhcs_model_open(&model, path, error);

    if (ret)
        return ret;
    *ret_source = (struct mhcs_source){.model = model,
                                       .k = model->k,
                                       .layers = (uint32_t)model->config.layers,
                                       .sites = model->sites,
                                       .site_count = model->site_count};
    return 0;
}

static struct mhcs_weight_name name_of(const struct mhcs_model_site *site,
                                       enum mhcs_part_of_site part)
{
    return (struct mhcs_weight_name){.role = site->role, .part = part, .block = site->layer};
}

static void make_up_site(const struct mhcs_source *source, size_t i, struct mhcs_model_site *site)
{
    const bool head = i == 2 * (size_t)source->layers;
    struct mhcs_weight_name name;

    *site = (struct mhcs_model_site){
        .role = head    ? MHCS_ROLE_HEAD
                : i % 2 ? MHCS_ROLE_FFN
                        : MHCS_ROLE_ATTN,
        .layer = head ? -1 : (int16_t)(i / 2),
        .coefficients = head ? MHCS_COEFFICIENTS_HEAD : MHCS_COEFFICIENTS,
        .dtype = MHCS_F32,
        .params = {.hc_eps = 1e-6F, .norm_eps = 1e-6F, .iterations = 20},
    };
    name = name_of(site, MHCS_SITE_FN);
    mhcs_site_name_format(&name, site->name);
    name = name_of(site, MHCS_SITE_SCALE);
    mhcs_synthetic_draw(source->seed, &name, source->k / MHCS_STREAMS, site->params.scale);
    name = name_of(site, MHCS_SITE_BASE);
    mhcs_synthetic_draw(source->seed, &name, source->k / MHCS_STREAMS, site->params.base);
}

int mhcs_source_make_up(struct mhcs_source *ret_source, uint32_t layers, uint32_t hidden,
                        uint64_t seed, char error[MHCS_MODEL_ERROR])
{
    const size_t count = 2 * (size_t)layers + 1;

    *ret_source = (struct mhcs_source){.seed = seed,
                                       .k = MHCS_STREAMS * hidden,
                                       .layers = layers,
                                       .site_count = count,
                                       .made_up = calloc(count, sizeof(struct mhcs_model_site))};
    if (!ret_source->made_up) {
        snprintf(error, MHCS_MODEL_ERROR, "out of memory");
        return -ENOMEM;
    }
    ret_source->sites = ret_source->made_up;
    for (size_t i = 0; i < count; i++)
        make_up_site(ret_source, i, &ret_source->made_up[i]);
    return 0;
}

void mhcs_source_close(struct mhcs_source *source)
{
    mhcs_model_close(source->model);
    free(source->made_up);
}

int mhcs_source_fn(const struct mhcs_source *source, const struct mhcs_model_site *site, float *to,
                   char error[MHCS_MODEL_ERROR])
{
    struct mhcs_weight_name name;

    if (source->model)
        return mhcs_model_read_f32(source->model, site, 0, site->coefficients, to, error);
    name = name_of(site, MHCS_SITE_FN);
    mhcs_synthetic_draw(source->seed, &name, source->k / MHCS_STREAMS, to);
    return 0;
}
