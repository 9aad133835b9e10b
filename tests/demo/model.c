/* SPDX-License-Identifier: Apache-2.0 */
/* From a checkpoint to weights on the device. */
#include "model.h"

#include <limits.h>

#include "check.h"
#include "safetensors.h"

struct loader {
    struct safetensors *file;
    struct demo_model *model;
    enum sim_float type;
    unsigned char *staging; /* one fn in the device's type */
};

__attribute__((noreturn)) static void refuse(const char *error)
{
    fprintf(stderr, "mhcshadow-demo: %s\n", error);
    exit(1);
}

static const void *tensor(const struct loader *l, const char *site, const char *kind, int rank,
                          int64_t rows, int64_t columns)
{
    char name[96], error[SAFETENSORS_ERROR_SIZE];
    const int64_t shape[] = {rows, columns};
    const void *data;

    snprintf(name, sizeof name, "%s_%s", site, kind);
    data = safetensors_f32(l->file, name, rank, shape, error);
    if (data == NULL)
        refuse(error);
    return data;
}

/* The demo multiplies by fn only; a file without the site's base and scale is refused too. */
static void *load_site(const struct loader *l, const char *site, int rows, int scales)
{
    int64_t k = (int64_t)DEMO_STREAMS * l->model->hidden;
    const unsigned char *fn = tensor(l, site, "fn", 2, rows, k);
    size_t count = (size_t)rows * (size_t)k, size = sim_float_size(l->type);
    void *device;

    tensor(l, site, "base", 1, rows, 0);
    tensor(l, site, "scale", 1, scales, 0);
    for (size_t i = 0; i < count; i++)
        sim_float_store(l->type, l->staging + i * size, sim_float_load(SIM_F32, fn + i * 4));
    CHECK_CUDA(cudaMalloc(&device, count * size));
    CHECK_CUDA(cudaMemcpy(device, l->staging, count * size, cudaMemcpyHostToDevice));
    return device;
}

static int count_layers(const struct safetensors *file)
{
    char name[64];
    int layers = 0;

    do
        snprintf(name, sizeof name, "layers.%d.hc_attn_fn", layers);
    while (safetensors_find(file, name) != NULL && ++layers < INT_MAX);
    return layers;
}

static int find_hidden(const struct safetensors *file, const char *path)
{
    const struct safetensors_tensor *head = safetensors_find(file, "hc_head_fn");

    if (head == NULL || head->rank != 2 || head->shape[1] <= 0 ||
        head->shape[1] % DEMO_STREAMS != 0 || head->shape[1] > INT_MAX) {
        fprintf(
            stderr,
            "mhcshadow-demo: %s: tensor hc_head_fn [4, 4 * hidden] gives the hidden size and is "
            "%s; mhcshadow-make-checkpoint writes a file that works\n",
            path, head == NULL ? "missing" : "of another shape");
        exit(1);
    }
    return (int)(head->shape[1] / DEMO_STREAMS);
}

struct demo_model *demo_model_load(const char *path, int layers,
                                   const struct demo_precision *precision)
{
    struct loader l = {.model = check_alloc(1, sizeof *l.model), .type = precision->operands};
    char error[SAFETENSORS_ERROR_SIZE], site[64];
    int there;

    if (safetensors_open(&l.file, path, error) != 0)
        refuse(error);
    there = count_layers(l.file);
    if (layers > there) {
        fprintf(stderr, "mhcshadow-demo: %s has %d layers, not %d\n", path, there, layers);
        exit(1);
    }
    l.model->layers = layers ? layers : there;
    l.model->hidden = find_hidden(l.file, path);
    l.model->sites = check_alloc((size_t)l.model->layers * 2 + 1, sizeof l.model->sites[0]);
    l.staging = check_alloc((size_t)DEMO_COEFFICIENTS * DEMO_STREAMS * (size_t)l.model->hidden,
                            sim_float_size(l.type));
    for (int i = 0; i < 2 * l.model->layers; i++) {
        snprintf(site, sizeof site, "layers.%d.hc_%s", i / 2, i % 2 ? "ffn" : "attn");
        l.model->sites[i] = load_site(&l, site, DEMO_COEFFICIENTS, 3);
    }
    l.model->sites[2 * l.model->layers] = load_site(&l, "hc_head", DEMO_STREAMS, 1);
    free(l.staging);
    safetensors_close(l.file);
    return l.model;
}

void demo_model_free(struct demo_model *model)
{
    for (int i = 0; i <= 2 * model->layers; i++)
        CHECK_CUDA(cudaFree(model->sites[i]));
    free(model->sites);
    free(model);
}
