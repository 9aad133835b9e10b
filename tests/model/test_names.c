/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor names of DeepSeek, sglang, vLLM and transformers lead to the same sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shadow/model/names.h"

static void every_dialect_names_the_same_sites(void **state)
{
    static const struct {
        const char *tensor, *site;
        enum mhcs_part_of_site part;
    } cases[] = {
        {"layers.0.hc_attn_fn", "layers.0.hc_attn_fn", MHCS_SITE_FN},
        {"layers.42.hc_ffn_base", "layers.42.hc_ffn_fn", MHCS_SITE_BASE},
        {"layers.42.hc_ffn_scale", "layers.42.hc_ffn_fn", MHCS_SITE_SCALE},
        {"hc_head_fn", "hc_head_fn", MHCS_SITE_FN},
        {"hc_head_scale", "hc_head_fn", MHCS_SITE_SCALE},
        {"mtp.0.hc_attn_fn", "mtp.0.hc_attn_fn", MHCS_SITE_FN},
        {"mtp.2.hc_head_base", "mtp.2.hc_head_fn", MHCS_SITE_BASE},
        {"model.layers.7.hc_attn_fn", "layers.7.hc_attn_fn", MHCS_SITE_FN},
        {"model.hc_head_fn", "hc_head_fn", MHCS_SITE_FN},
        {"model.layers.7.attn_hc.fn", "layers.7.hc_attn_fn", MHCS_SITE_FN},
        {"model.layers.7.ffn_hc.scale", "layers.7.hc_ffn_fn", MHCS_SITE_SCALE},
        {"model.hc_head.hc_fn", "hc_head_fn", MHCS_SITE_FN},
        {"model.hc_head.hc_base", "hc_head_fn", MHCS_SITE_BASE},
        {"model.language_model.layers.3.hc_attn_fn", "layers.3.hc_attn_fn", MHCS_SITE_FN},
        {"model.layers.3.hc_attn_fn.weight", "layers.3.hc_attn_fn", MHCS_SITE_FN},
        {"model.layers.43.hc_head_fn", "mtp.0.hc_head_fn", MHCS_SITE_FN},
        {"model.layers.44.hc_ffn_fn", "mtp.1.hc_ffn_fn", MHCS_SITE_FN},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char site[MHCS_SITE_NAME_BYTES];
        struct mhcs_weight_name name;

        if (!mhcs_weight_name_parse(cases[i].tensor, &name))
            fail_msg("not taken: %s", cases[i].tensor);
        mhcs_weight_name_settle(&name, 43);
        mhcs_site_name_format(&name, site);
        assert_string_equal(site, cases[i].site);
        assert_int_equal(name.part, cases[i].part);
    }
}

static void other_tensors_are_no_sites(void **state)
{
    static const char *const names[] = {
        "",
        "hc_attn_fn",
        "layers.hc_attn_fn",
        "layers.x.hc_attn_fn",
        "layers.10000.hc_attn_fn",
        "layers.99999999999999999999.hc_attn_fn",
        "layers.1.hc_attn_fnord",
        "layers.1.hc_attn",
        "layers.1.hc_attn_",
        "layers.1.hc_attn_fn.weight_scale",
        "layers.1.attn.wq_a.weight",
        "layers.1.ffn.gate.weight",
        "layers.1.xhc_attn_fn",
        "model.norm.weight",
    };
    struct mhcs_weight_name name;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mhcs_weight_name_parse(names[i], &name))
            fail_msg("taken: %s", names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dialect_names_the_same_sites),
        cmocka_unit_test(other_tensors_are_no_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
