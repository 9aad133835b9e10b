/* SPDX-License-Identifier: Apache-2.0 */
/* Takes tensor names apart. */
#include "shadow/model/names.h"

#include <stdio.h>
#include <string.h>

static const char *const role_names[] = {
    [MHCS_ROLE_ATTN] = "attn", [MHCS_ROLE_FFN] = "ffn", [MHCS_ROLE_HEAD] = "head"};
static const char *const part_names[] = {
    [MHCS_SITE_FN] = "fn", [MHCS_SITE_BASE] = "base", [MHCS_SITE_SCALE] = "scale"};

const char *mhcs_role_name(enum mhcs_role role)
{
    return role_names[role];
}

const char *mhcs_part_name(enum mhcs_part_of_site part)
{
    return part_names[part];
}

/* Takes `word` off *text. */
static bool take(const char **text, const char *word)
{
    const size_t length = strlen(word);

    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

/* "fn", "base" or "scale", and perhaps ".weight" as some converters add, to the end. */
static bool parse_part(const char *text, struct mhcs_weight_name *name)
{
    for (int p = 0; p < MHCS_SITE_PARTS; p++) {
        const char *rest = text;

        if (take(&rest, part_names[p]) && (*rest == '\0' || strcmp(rest, ".weight") == 0)) {
            name->part = (enum mhcs_part_of_site)p;
            return true;
        }
    }
    return false;
}

/* hc_attn_fn, hc_attn.fn, attn_hc.fn; hc_head_fn, hc_head.fn, hc_head.hc_fn. */
static bool parse_site(const char *text, struct mhcs_weight_name *name)
{
    for (int r = 0; r < (int)(sizeof(role_names) / sizeof(role_names[0])); r++) {
        char before[16], behind[16];
        const char *rest = text;

        snprintf(before, sizeof(before), "hc_%s", role_names[r]);
        snprintf(behind, sizeof(behind), "%s_hc", role_names[r]);
        if (!take(&rest, before) && !take(&rest, behind))
            continue;
        name->role = (enum mhcs_role)r;
        if (!take(&rest, ".") && !take(&rest, "_"))
            return false;
        take(&rest, "hc_");
        return parse_part(rest, name);
    }
    return false;
}

/* "21." off *text. */
static bool take_number(const char **text, int32_t *ret_number)
{
    const char *at = *text;
    int32_t number = 0;

    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        number = 10 * number + (*at - '0');
        if (number >= MHCS_BLOCKS_MAX)
            return false;
    }
    if (*at != '.')
        return false;
    *text = at + 1;
    *ret_number = number;
    return true;
}

bool mhcs_weight_name_parse(const char *tensor, struct mhcs_weight_name *ret_name)
{
    struct mhcs_weight_name name = {.block = -1};

    for (const char *at = tensor; at; at = strchr(at, '.'), at = at ? at + 1 : NULL) {
        const char *rest = at;
        int32_t number;

        if (take(&rest, "mtp.")) {
            name.mtp = true;
            name.block = take_number(&rest, &number) ? number : 0;
        } else if (take(&rest, "layers.") && take_number(&rest, &number)) {
            name.block = number;
        } else if (parse_site(at, &name)) {
            *ret_name = name;
            return name.block >= 0 || name.role == MHCS_ROLE_HEAD;
        }
    }
    return false;
}

void mhcs_weight_name_settle(struct mhcs_weight_name *name, uint32_t layers)
{
    if (name->mtp || name->block < (int32_t)layers)
        return;
    name->mtp = true;
    name->block -= (int32_t)layers;
}

void mhcs_site_name_format(const struct mhcs_weight_name *name, char text[MHCS_SITE_NAME_BYTES])
{
    const char *role = role_names[name->role];

    if (name->block < 0)
        snprintf(text, MHCS_SITE_NAME_BYTES, "hc_%s_fn", role);
    else
        snprintf(text, MHCS_SITE_NAME_BYTES, "%s.%d.hc_%s_fn", name->mtp ? "mtp" : "layers",
                 (int)name->block, role);
}
