/* SPDX-License-Identifier: Apache-2.0 */
/* config.json of the models in question; what it lacks is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "shadow/model/config.h"

static int parse(const char *text, struct mhcs_config *config, char error[256])
{
    return mhcs_config_parse(config, text, strlen(text), error, 256);
}

static void the_models_in_question_are_read(void **state)
{
    static const struct {
        const char *text, *type, *missing;
        double hidden, layers, iterations, hc_eps, norm_eps;
    } cases[] = {
        /* DeepSeek-V4-Flash */
        {"{\"architectures\":[\"DeepseekV4ForCausalLM\"],\"model_type\":\"deepseek_v4\","
         "\"hidden_size\":4096,\"num_hidden_layers\":43,\"rms_norm_eps\":1e-06,\"hc_mult\":4,"
         "\"hc_sinkhorn_iters\":20,\"hc_eps\":1e-06,\"rope_scaling\":{\"type\":\"yarn\"}}",
         "deepseek_v4", "", 4096, 43, 20, 1e-6, 1e-6},
        /* its inference/config.json */
        {"{\"dim\":4096,\"n_layers\":43,\"norm_eps\":1e-6,\"hc_mult\":4,\"hc_sinkhorn_iters\":20,"
         "\"hc_eps\":1e-6}",
         "", "", 4096, 43, 20, 1e-6, 1e-6},
        /* DeepSeek-V4-Pro */
        {"{\"model_type\":\"deepseek_v4\",\"hidden_size\":7168,\"num_hidden_layers\":61,"
         "\"rms_norm_eps\":1e-06,\"hc_mult\":4,\"hc_sinkhorn_iters\":20,\"hc_eps\":1e-06}",
         "deepseek_v4", "", 7168, 61, 20, 1e-6, 1e-6},
        /* DeepSeek-V4.1-Flash: what is outside of text_config does not count where that has it */
        {"{\"model_type\":\"deepseek_v41\",\"hidden_size\":1,\"text_config\":{\"model_type\":\"t\","
         "\"hidden_size\":5120,\"num_hidden_layers\":40,\"rms_norm_eps\":1e-20,\"hc_mult\":4,"
         "\"hc_sinkhorn_iters\":20,\"hc_eps\":1e-06},\"rms_norm_eps\":0.5}",
         "deepseek_v41", "", 5120, 40, 20, 1e-6, 1e-20},
        /* GLM-5.3-Flash */
        {"{\"model_type\":\"glm5_next\",\"text_config\":{\"hidden_size\":4096,"
         "\"num_hidden_layers\":45,\"rms_norm_eps\":1e-05,\"hc_mult\":4,\"hc_sinkhorn_iters\":20,"
         "\"hc_eps\":1e-06}}",
         "glm5_next", "", 4096, 45, 20, 1e-6, 1e-5},
        /* what is missing is DeepSeek-V4's, and named */
        {"{\"hidden_size\":4096,\"hc_mult\":4,\"hc_eps\":null}", "",
         "num_hidden_layers, hc_sinkhorn_iters, hc_eps, rms_norm_eps", 4096, 0, 20, 1e-6, 1e-6},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mhcs_config config;
        char error[256] = "";

        if (parse(cases[i].text, &config, error) != 0)
            fail_msg("case %zu: %s", i, error);
        assert_string_equal(config.model_type, cases[i].type);
        assert_string_equal(config.missing, cases[i].missing);
        assert_true(config.hidden == cases[i].hidden && config.layers == cases[i].layers);
        assert_true(config.iterations == cases[i].iterations && config.streams == 4);
        assert_true(config.hc_eps == cases[i].hc_eps && config.norm_eps == cases[i].norm_eps);
    }
}

static void nonsense_is_refused_by_name(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "not JSON: an object is expected (byte 0)"},
        {"[]", "not JSON: an object is expected"},
        {"{\"hc_eps\":\"x\"}", "not JSON: a number is expected"},
        {"{\"hc_eps\":1e-6,\"hc_eps\":1e-6}", "hc_eps: given twice"},
        {"{\"rms_norm_eps\":1e-6,\"norm_eps\":1e-6}", "norm_eps: given twice"},
        {"{\"hidden_size\":0}", "hidden_size: 0 can't be"},
        {"{\"hidden_size\":4096.5}", "hidden_size: 4096.5 can't be"},
        {"{\"num_hidden_layers\":1e300}", "num_hidden_layers: 1e+300 can't be"},
        {"{\"hc_eps\":-1}", "hc_eps: -1 can't be"},
        {"{\"rms_norm_eps\":1}", "rms_norm_eps: 1 can't be"},
        {"{} {}", "not JSON: something follows the end"},
        {"{\"text_config\":{\"hc_mult\":4}", "not JSON: a comma or the end"},
    };
    struct mhcs_config config;
    char error[256];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        error[0] = '\0';
        assert_true(parse(cases[i].text, &config, error) < 0);
        if (strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("case %zu: \"%s\" instead of \"%s\"", i, error, cases[i].error);
    }
}

static void without_a_file_everything_is_missing(void **state)
{
    struct mhcs_config config;

    mhcs_config_default(&config);
    assert_string_equal(config.missing, "hidden_size, num_hidden_layers, hc_mult, "
                                        "hc_sinkhorn_iters, hc_eps, rms_norm_eps");
    assert_true(config.streams == 4 && config.iterations == 20 && config.norm_eps == 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_models_in_question_are_read),
        cmocka_unit_test(nonsense_is_refused_by_name),
        cmocka_unit_test(without_a_file_everything_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
