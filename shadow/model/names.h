/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensor of a checkpoint belongs to which mixing site.
 *
 *   DeepSeek        layers.N.hc_attn_fn    layers.N.hc_ffn_base   hc_head_scale mtp.K.hc_...
 *   sglang, vLLM    the same behind model. or any other modules' names
 *   transformers    model.layers.N.attn_hc.fn    model.layers.N.ffn_hc.base model.hc_head.hc_scale
 *
 * Some converters number the MTP blocks behind the layers (model.layers.43. with 43 layers): only
 * the configuration tells, mhcs_weight_name_settle().
 */
#ifndef MHCS_MODEL_NAMES_H
#define MHCS_MODEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

enum mhcs_role { MHCS_ROLE_ATTN, MHCS_ROLE_FFN, MHCS_ROLE_HEAD };
enum mhcs_part_of_site { MHCS_SITE_FN, MHCS_SITE_BASE, MHCS_SITE_SCALE };
#define MHCS_SITE_PARTS 3

struct mhcs_weight_name {
    enum mhcs_role role;
    enum mhcs_part_of_site part;
    bool mtp;
    int32_t block; /* layer, or MTP block; -1: the model's own head */
};

#define MHCS_BLOCKS_MAX 10000

/* False: no tensor of a mixing site. */
bool mhcs_weight_name_parse(const char *tensor, struct mhcs_weight_name *ret_name);

/* A layer beyond the last one is an MTP block. */
void mhcs_weight_name_settle(struct mhcs_weight_name *name, uint32_t layers);

/* "layers.21.hc_attn_fn": the site's name, DeepSeek's for its fn whatever the checkpoint's is. */
#define MHCS_SITE_NAME_BYTES 40
void mhcs_site_name_format(const struct mhcs_weight_name *name, char text[MHCS_SITE_NAME_BYTES]);

const char *mhcs_role_name(enum mhcs_role role);         /* "attn", "ffn", "head" */
const char *mhcs_part_name(enum mhcs_part_of_site part); /* "fn", "base", "scale" */

#endif
