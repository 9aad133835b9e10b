/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors headers, config.json and JSON as such from nowhere: each input is read as all three.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "shadow/model/config.h"
#include "shadow/model/header.h"
#include "shadow/model/names.h"
#include "shadow/model/pull.h"

static void read_header(const char *text, size_t size)
{
    char path[] = "fuzz", error[MHCS_MODEL_ERROR];
    struct mhcs_tensors tensors = {.path = path, .size = size + 32, .data_at = size};
    struct mhcs_weight_name name;

    if (mhcs_header_parse(&tensors, text, size, error) < 0)
        return;
    for (size_t i = 0; i < tensors.count; i++) {
        if (mhcs_tensors_find(&tensors, tensors.list[i].name) != &tensors.list[i] ||
            tensors.list[i].end > 32)
            abort();
        mhcs_weight_name_parse(tensors.list[i].name, &name);
    }
    free(tensors.list);
    free(tensors.names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    char error[MHCS_MODEL_ERROR];
    struct mhcs_config config;
    struct mhcs_pull pull;

    read_header(text, size);
    mhcs_config_parse(&config, text, size, error, sizeof(error));
    mhcs_pull_begin(&pull, text, size);
    mhcs_pull_skip(&pull);
    mhcs_pull_end(&pull);
    return 0;
}

void fuzz_seeds(void (*use)(const uint8_t *data, size_t size))
{
    static const char *const seeds[] = {
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"layers.0.hc_attn_fn\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
        "\"mtp.1.hc_head_scale\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]}}",
        "{\"model_type\":\"deepseek_v41\",\"text_config\":{\"hidden_size\":5120,"
        "\"num_hidden_layers\":40,\"rms_norm_eps\":1e-20,\"hc_mult\":4,\"hc_eps\":1e-06},"
        "\"tie\":false,\"x\":[null,\"\\ud83d\\ude00\\u00e9\"]}",
    };

    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
        use((const uint8_t *)seeds[i], strlen(seeds[i]));
}
