/* SPDX-License-Identifier: Apache-2.0 */
/* From a checkpoint to weights on the device. */
#include "model.h"

#include <stdbool.h>

#include "check.h"
#include "shadow/model/model.h"

__attribute__((noreturn)) static void refuse(const char *error)
{
    fprintf(stderr, "mhcshadow-demo: %s\n", error);
    exit(1);
}

/* To *device, which is allocated first if it is NULL. */
static void upload(void **device, const struct mhcs_model *from, const struct mhcs_model_site *site,
                   enum sim_float type)
{
    const size_t count = (size_t)site->coefficients * from->k, size = sim_float_size(type);
    float *values = check_alloc(count, sizeof *values);
    unsigned char *staging = check_alloc(count, size);
    char error[MHCS_MODEL_ERROR];

    if (mhcs_model_read_f32(from, site, 0, site->coefficients, values, error) < 0)
        refuse(error);
    for (size_t i = 0; i < count; i++)
        sim_float_store(type, staging + i * size, values[i]);
    if (*device == NULL)
        CHECK_CUDA(cudaMalloc(device, count * size));
    CHECK_CUDA(cudaMemcpy(*device, staging, count * size, cudaMemcpyHostToDevice));
    free(staging);
    free(values);
}

/* attn and ffn of each layer, then the head: the checkpoint's own order, but for MTP blocks. */
static void upload_sites(struct demo_model *to, const struct mhcs_model *from, const char *path,
                         enum sim_float type)
{
    int count = 0;

    for (size_t i = 0; i < from->site_count; i++) {
        const struct mhcs_model_site *site = &from->sites[i];
        const bool head = site->role == MHCS_ROLE_HEAD && site->layer < 0;

        if (head || (site->layer >= 0 && site->layer < to->layers))
            upload(&to->sites[count++], from, site, type);
        if (head)
            break;
    }
    if (count != 2 * to->layers + 1) {
        fprintf(stderr,
                "mhcshadow-demo: %s has %d of the %d mixing weights that %d layers and the head "
                "need; mhcshadow-make-checkpoint writes a file that works\n",
                path, count, 2 * to->layers + 1, to->layers);
        exit(1);
    }
}

static struct mhcs_model *open_checkpoint(const char *path, int layers)
{
    struct mhcs_model *model;
    char error[MHCS_MODEL_ERROR];

    if (mhcs_model_open(&model, path, error) < 0)
        refuse(error);
    if (layers > (int)model->config.layers) {
        fprintf(stderr, "mhcshadow-demo: %s has %d layers, not %d\n", path,
                (int)model->config.layers, layers);
        exit(1);
    }
    return model;
}

struct demo_model *demo_model_load(const char *path, int layers,
                                   const struct demo_precision *precision)
{
    struct demo_model *model = check_alloc(1, sizeof *model);
    struct mhcs_model *from = open_checkpoint(path, layers);

    model->layers = layers ? layers : (int)from->config.layers;
    model->hidden = (int)from->config.hidden;
    model->sites = check_alloc((size_t)model->layers * 2 + 1, sizeof model->sites[0]);
    upload_sites(model, from, path, precision->operands);
    mhcs_model_close(from);
    return model;
}

void demo_model_reload(struct demo_model *model, const char *path,
                       const struct demo_precision *precision)
{
    struct mhcs_model *from = open_checkpoint(path, model->layers);

    if ((int)from->config.hidden != model->hidden)
        refuse("the checkpoint to reload has another hidden size");
    CHECK_CUDA(cudaDeviceSynchronize());
    upload_sites(model, from, path, precision->operands);
    CHECK_CUDA(cudaDeviceSynchronize()); /* copies are through when they are staged */
    mhcs_model_close(from);
}

void demo_model_free(struct demo_model *model)
{
    for (int i = 0; i <= 2 * model->layers; i++)
        CHECK_CUDA(cudaFree(model->sites[i]));
    free(model->sites);
    free(model);
}
