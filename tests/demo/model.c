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

static void *upload(const struct mhcs_model *from, const struct mhcs_model_site *site,
                    enum sim_float type)
{
    const size_t count = (size_t)site->coefficients * from->k, size = sim_float_size(type);
    float *values = check_alloc(count, sizeof *values);
    unsigned char *staging = check_alloc(count, size);
    char error[MHCS_MODEL_ERROR];
    void *device;

    if (mhcs_model_read_f32(from, site, 0, site->coefficients, values, error) < 0)
        refuse(error);
    for (size_t i = 0; i < count; i++)
        sim_float_store(type, staging + i * size, values[i]);
    CHECK_CUDA(cudaMalloc(&device, count * size));
    CHECK_CUDA(cudaMemcpy(device, staging, count * size, cudaMemcpyHostToDevice));
    free(staging);
    free(values);
    return device;
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
            to->sites[count++] = upload(from, site, type);
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

struct demo_model *demo_model_load(const char *path, int layers,
                                   const struct demo_precision *precision)
{
    struct demo_model *model = check_alloc(1, sizeof *model);
    char error[MHCS_MODEL_ERROR];
    struct mhcs_model *from;
    int there;

    if (mhcs_model_open(&from, path, error) < 0)
        refuse(error);
    there = (int)from->config.layers;
    if (layers > there) {
        fprintf(stderr, "mhcshadow-demo: %s has %d layers, not %d\n", path, there, layers);
        exit(1);
    }
    model->layers = layers ? layers : there;
    model->hidden = (int)from->config.hidden;
    model->sites = check_alloc((size_t)model->layers * 2 + 1, sizeof model->sites[0]);
    upload_sites(model, from, path, precision->operands);
    mhcs_model_close(from);
    return model;
}

void demo_model_free(struct demo_model *model)
{
    for (int i = 0; i <= 2 * model->layers; i++)
        CHECK_CUDA(cudaFree(model->sites[i]));
    free(model->sites);
    free(model);
}
