/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint of which one file is from nowhere: a shard, the index or config.json. The first byte
 * of the input says which, the others are its content; the other files are sound. What is opened
 * can be read, or the error says why not; what is refused is refused by a file's name. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shadow/model/model.h"
#include "tests/model/maker.h"

#define K 16

static const char *const names[] = {"one.safetensors", "two.safetensors",
                                    "model.safetensors.index.json", "config.json"};
#define FILES (sizeof(names) / sizeof(names[0]))

static char *dir;
static struct {
    uint8_t *data;
    size_t size;
} sound[FILES];

static void remove_files(void)
{
    maker_remove_dir(dir);
    for (size_t i = 0; i < FILES; i++)
        free(sound[i].data);
}

static void keep(size_t i)
{
    FILE *f = fopen(maker_path(dir, names[i]), "rb");

    sound[i].data = malloc(1 << 14);
    if (f == NULL || sound[i].data == NULL)
        abort();
    sound[i].size = fread(sound[i].data, 1, 1 << 14, f);
    fclose(f);
}

static void write_checkpoint(void)
{
    static const float values[MHCS_COEFFICIENTS * K] = {1};
    static const char index[] = "{\"metadata\":{\"total_size\":1},\"weight_map\":{\"layers.0.hc_"
                                "attn_fn\":\"one.safetensors\","
                                "\"layers.0.hc_attn_base\":\"two.safetensors\",\"layers.0.hc_attn_"
                                "scale\":\"two.safetensors\","
                                "\"lm_head.weight\":\"none.safetensors\"}}";
    static const char config[] =
        "{\"model_type\":\"t\",\"text_config\":{\"hidden_size\":4,\"num_hidden_layers\":1,"
        "\"hc_mult\":4,\"hc_sinkhorn_iters\":20,\"hc_eps\":1e-6,\"rms_norm_eps\":1e-20}}";
    struct maker *one = maker_new(), *two = maker_new();

    dir = maker_dir();
    maker_add(one, "layers.0.hc_attn_fn", MHCS_F16, MHCS_COEFFICIENTS, K, values);
    maker_add(two, "layers.0.hc_attn_base", MHCS_F32, MHCS_COEFFICIENTS, 0, values);
    maker_add(two, "layers.0.hc_attn_scale", MHCS_F32, 3, 0, values);
    maker_finish(one, maker_path(dir, names[0]));
    maker_finish(two, maker_path(dir, names[1]));
    maker_write(maker_path(dir, names[2]), index, sizeof(index) - 1);
    maker_write(maker_path(dir, names[3]), config, sizeof(config) - 1);
    for (size_t i = 0; i < FILES; i++)
        keep(i);
    atexit(remove_files);
}

static void read_model(void)
{
    char error[MHCS_MODEL_ERROR] = "";
    struct mhcs_model *model;

    if (mhcs_model_open(&model, dir, error) < 0) {
        if (strncmp(error, dir, strlen(dir)) != 0)
            abort();
        return;
    }
    for (size_t i = 0; i < model->site_count; i++) {
        const struct mhcs_model_site *site = &model->sites[i];
        float *fn = malloc((size_t)site->coefficients * model->k * sizeof(*fn));

        if (fn == NULL || mhcs_model_read_f32(model, site, 0, site->coefficients, fn, error) < 0)
            abort();
        free(fn);
    }
    mhcs_model_close(model);
}

/* A new file: some file systems wait for the disk when one is cut and written again. */
static void put(size_t i, const uint8_t *data, size_t size)
{
    unlink(maker_path(dir, names[i]));
    maker_write(maker_path(dir, names[i]), data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t which;

    if (dir == NULL)
        write_checkpoint();
    if (size == 0)
        return 0;
    which = data[0] % FILES;
    put(which, data + 1, size - 1);
    read_model();
    put(which, sound[which].data, sound[which].size);
    return 0;
}

void fuzz_seeds(void (*use)(const uint8_t *data, size_t size))
{
    static uint8_t seed[1 + (1 << 14)];

    write_checkpoint();
    read_model();
    for (size_t i = 0; i < FILES; i++) {
        seed[0] = (uint8_t)i;
        memcpy(seed + 1, sound[i].data, sound[i].size);
        use(seed, 1 + sound[i].size);
    }
}
