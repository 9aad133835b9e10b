/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a checkpoint's config.json that the mixing maths needs: DeepSeek-V4-Flash and -Pro
 * and their inference/config.json, V4.1 and GLM-5.3-Flash (fields inside text_config). */
#ifndef MHCS_MODEL_CONFIG_H
#define MHCS_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* X(member, what DeepSeek-V4 has, names in config.json: Hugging Face's first, "" ends them). A
 * value of 0 has no default: the tensors tell it. */
#define MHCS_CONFIG_FIELDS(X)                                                                      \
    X(hidden, 0, "hidden_size", "dim")                                                             \
    X(layers, 0, "num_hidden_layers", "n_layers")                                                  \
    X(streams, 4, "hc_mult", "")                                                                   \
    X(iterations, 20, "hc_sinkhorn_iters", "")                                                     \
    X(hc_eps, 1e-6, "hc_eps", "")                                                                  \
    X(norm_eps, 1e-6, "rms_norm_eps", "norm_eps")

struct mhcs_config {
#define MHCS_CONFIG_MEMBER(member, usual, name, other) double member;
    MHCS_CONFIG_FIELDS(MHCS_CONFIG_MEMBER)
#undef MHCS_CONFIG_MEMBER
    char model_type[48]; /* "" if config.json has none */
    char missing[256];   /* names that config.json lacks, "hc_eps, rms_norm_eps"; "": none */
};

/* Everything as DeepSeek-V4 has it, and all named in `missing`: there is no config.json. */
void mhcs_config_default(struct mhcs_config *ret_config);

/* From the text of config.json. 0; -EINVAL with `error` set: not JSON, a field of another type or
 * out of range, a field twice. */
int mhcs_config_parse(struct mhcs_config *ret_config, const char *text, size_t size, char *error,
                      size_t error_size);

#endif
