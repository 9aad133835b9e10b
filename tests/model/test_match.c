/* SPDX-License-Identifier: Apache-2.0 */
/* A server's weights are found in the checkpoint by fingerprint alone, converted or not; and what
 * was done to weights that match nothing is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/host_reference.h"
#include "shadow/model/match.h"
#include "shadow/model/round.h"
#include "tests/model/maker.h"
#include "tests/simcuda/rounding.h"

#define ELEMENTS (MHCS_COEFFICIENTS * MAKER_K)

struct fixture {
    char *dir;
    struct mhcs_model *model;
    struct mhcs_matcher *matcher;
};
static struct fixture fixture;

static int open_fixture(uint32_t dtype)
{
    char error[MHCS_MODEL_ERROR];

    fixture.dir = maker_dir();
    maker_model(maker_path(fixture.dir, "model.safetensors"), "", dtype);
    if (mhcs_model_open(&fixture.model, fixture.dir, error) < 0)
        return -1;
    fixture.matcher = mhcs_matcher_new(fixture.model);
    return fixture.matcher ? 0 : -1;
}

static int create(void **state)
{
    return open_fixture(MHCS_F32);
}

static int create_bf16(void **state)
{
    return open_fixture(MHCS_BF16);
}

static int destroy(void **state)
{
    mhcs_matcher_free(fixture.matcher);
    mhcs_model_close(fixture.model);
    maker_remove_dir(fixture.dir);
    return 0;
}

static struct mhcs_match match(const void *fn, uint32_t dtype, uint32_t coefficients)
{
    struct mhcs_fingerprint_row rows[MHCS_COEFFICIENTS];
    char error[MHCS_MODEL_ERROR];
    struct mhcs_match found;

    mhcs_host_fingerprint(fn, dtype, coefficients, MAKER_K, rows);
    if (mhcs_match(fixture.matcher, rows, coefficients, MAKER_K, &found, error) < 0)
        fail_msg("%s", error);
    return found;
}

static void assert_match(const struct mhcs_match *found, const char *site, enum mhcs_form form,
                         const char *difference)
{
    assert_non_null(found->site);
    assert_string_equal(found->site->name, site);
    assert_string_equal(mhcs_form_name(found->form), mhcs_form_name(form));
    assert_string_equal(found->difference, difference);
}

static void converted_weights_are_still_attributed(void **state)
{
    static float fn[ELEMENTS], converted[ELEMENTS];
    static uint16_t half[ELEMENTS];
    struct mhcs_match found;

    maker_fn(3, fn);
    found = match(fn, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_ffn_fn", MHCS_FORM_STORED, "");
    for (int i = 0; i < ELEMENTS; i++)
        half[i] = sim_bf16_of(fn[i]);
    found = match(half, MHCS_BF16, 24);
    assert_match(&found, "layers.1.hc_ffn_fn", MHCS_FORM_BF16, "");
    for (int i = 0; i < ELEMENTS; i++)
        converted[i] = sim_float_of_bf16(half[i]); /* and widened again */
    found = match(converted, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_ffn_fn", MHCS_FORM_BF16, "");
    for (int i = 0; i < ELEMENTS; i++)
        half[i] = sim_f16_of(fn[i]);
    found = match(half, MHCS_F16, 24);
    assert_match(&found, "layers.1.hc_ffn_fn", MHCS_FORM_F16, "");
    for (int i = 0; i < ELEMENTS; i++)
        converted[i] = sim_round_tf32(fn[i]);
    found = match(converted, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_ffn_fn", MHCS_FORM_TF32_EVEN, "");
    for (int i = 0; i < ELEMENTS; i++)
        converted[i] = mhcs_cut_tf32(fn[i]);
    found = match(converted, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_ffn_fn", MHCS_FORM_TF32_CUT, "");
    for (int i = 0; i < ELEMENTS; i++)
        converted[i] = mhcs_round_tf32(fn[i]);
    found = match(converted, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_ffn_fn", MHCS_FORM_TF32, "");
}

static void the_head_is_found_by_its_four_rows(void **state)
{
    static float fn[ELEMENTS];
    struct mhcs_match found;

    maker_fn(6, fn);
    found = match(fn, MHCS_F32, 4);
    assert_match(&found, "hc_head_fn", MHCS_FORM_STORED, "");
    maker_fn(2, fn); /* a layer's first rows are no head */
    found = match(fn, MHCS_F32, 4);
    assert_null(found.site);
}

static void a_checkpoint_in_bf16_matches_as_stored(void **state)
{
    static float fn[ELEMENTS];
    static uint16_t half[ELEMENTS];
    struct mhcs_match found;

    maker_fn(4, fn);
    for (int i = 0; i < ELEMENTS; i++)
        half[i] = sim_bf16_of(fn[i]);
    found = match(half, MHCS_BF16, 24);
    assert_match(&found, "layers.2.hc_attn_fn", MHCS_FORM_STORED, "");
    found = match(fn, MHCS_F32, 24); /* a server with more bits than the checkpoint */
    assert_non_null(found.site);
    assert_string_equal(found.site->name, "layers.2.hc_attn_fn");
    assert_non_null(strstr(found.difference, "every row has other values; the rows' norms"));
}

static void one_changed_element_is_named(void **state)
{
    static float fn[ELEMENTS];
    struct mhcs_match found;
    double rms = 0;

    maker_fn(1, fn);
    fn[5 * MAKER_K + 17] += 0.5f;
    for (int i = 0; i < MAKER_K; i++)
        rms += pow((double)fn[5 * MAKER_K + i], 2) / MAKER_K;
    rms = sqrt(rms);
    found = match(fn, MHCS_F32, 24);
    assert_non_null(found.site);
    assert_string_equal(found.site->name, "layers.0.hc_ffn_fn");
    assert_non_null(strstr(found.difference, "row 5 (post[1]) differs in column 17 alone, by "));
    assert_true(fabs(strtod(strstr(found.difference, "by ") + 3, NULL) - 0.5 / rms) < 0.1);
}

static void a_changed_element_of_converted_weights_is_named(void **state)
{
    static float fn[ELEMENTS];
    static uint16_t half[ELEMENTS];
    struct mhcs_match found;

    maker_fn(1, fn);
    for (int i = 0; i < ELEMENTS; i++)
        half[i] = sim_bf16_of(fn[i]);
    half[0] ^= 0x8000;
    found = match(half, MHCS_BF16, 24);
    assert_non_null(found.site);
    assert_int_equal(found.form, MHCS_FORM_BF16);
    assert_non_null(strstr(found.difference, "row 0 (pre[0]) differs in column 0 alone"));
}

static void swap_rows(float *fn, int a, int b)
{
    float row[MAKER_K];

    memcpy(row, fn + a * MAKER_K, sizeof(row));
    memcpy(fn + a * MAKER_K, fn + b * MAKER_K, sizeof(row));
    memcpy(fn + b * MAKER_K, row, sizeof(row));
}

static void negated_and_exchanged_rows_are_named(void **state)
{
    static float fn[ELEMENTS];
    struct mhcs_match found;

    maker_fn(2, fn);
    for (int i = 0; i < MAKER_K; i++)
        fn[9 * MAKER_K + i] = -fn[9 * MAKER_K + i];
    found = match(fn, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_attn_fn", MHCS_FORM_STORED, "row 9 (comb[0][1]) is negated");
    maker_fn(2, fn);
    swap_rows(fn, 0, 20);
    found = match(fn, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_attn_fn", MHCS_FORM_STORED,
                 "row 0 (pre[0]) holds row 20 (comb[3][0]); row 20 (comb[3][0]) holds row 0 "
                 "(pre[0])");
}

static void a_transposed_comb_is_named(void **state)
{
    static float fn[ELEMENTS];
    struct mhcs_match found;

    maker_fn(2, fn);
    for (int j = 0; j < 4; j++)
        for (int k = 0; k < j; k++)
            swap_rows(fn, 8 + 4 * j + k, 8 + 4 * k + j);
    found = match(fn, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_attn_fn", MHCS_FORM_STORED,
                 "the rows of comb are transposed: row 8 + 4j + k holds row 8 + 4k + j");
}

static void a_row_of_another_layer_is_named(void **state)
{
    static float fn[ELEMENTS], other[ELEMENTS];
    struct mhcs_match found;

    maker_fn(2, fn);
    maker_fn(5, other);
    memcpy(fn + 8 * MAKER_K, other + 8 * MAKER_K, MAKER_K * sizeof(float));
    found = match(fn, MHCS_F32, 24);
    assert_match(&found, "layers.1.hc_attn_fn", MHCS_FORM_STORED,
                 "row 8 (comb[0][0]) is that of layers.2.hc_ffn_fn");
}

static void many_changed_rows_are_counted(void **state)
{
    static float fn[ELEMENTS];
    struct mhcs_match found;

    maker_fn(2, fn);
    for (int j = 0; j < 20; j++)
        fn[j * MAKER_K + 1] = fn[j * MAKER_K + 2] = 0;
    found = match(fn, MHCS_F32, 24);
    assert_non_null(found.site);
    assert_string_equal(found.site->name, "layers.1.hc_attn_fn");
    assert_non_null(strstr(found.difference, "row 0 (pre[0]) has other values; "));
    assert_non_null(strstr(found.difference, "; 17 more rows differ"));
}

static void weights_that_were_quantised_or_tuned_resemble_their_site(void **state)
{
    static float fn[ELEMENTS];
    struct mhcs_match found;

    maker_fn(2, fn);
    for (int i = 0; i < ELEMENTS; i++)
        fn[i] = mhcs_round_even(fn[i], 20); /* as fp8 e4m3 would */
    found = match(fn, MHCS_F32, 24);
    assert_non_null(found.site);
    assert_string_equal(found.site->name, "layers.1.hc_attn_fn");
    assert_non_null(strstr(found.difference, "every row has other values"));
}

static void what_resembles_nothing_has_no_site(void **state)
{
    static float fn[ELEMENTS];
    struct mhcs_match found;

    for (int i = 0; i < ELEMENTS; i++)
        fn[i] = (float)(i % 7) - 3;
    found = match(fn, MHCS_F32, 24);
    assert_null(found.site);
    memset(fn, 0, sizeof(fn));
    found = match(fn, MHCS_F32, 24);
    assert_null(found.site);
}

#define MATCH_TEST(f) cmocka_unit_test_setup_teardown(f, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MATCH_TEST(converted_weights_are_still_attributed),
        MATCH_TEST(the_head_is_found_by_its_four_rows),
        cmocka_unit_test_setup_teardown(a_checkpoint_in_bf16_matches_as_stored, create_bf16,
                                        destroy),
        MATCH_TEST(one_changed_element_is_named),
        MATCH_TEST(a_changed_element_of_converted_weights_is_named),
        MATCH_TEST(negated_and_exchanged_rows_are_named),
        MATCH_TEST(a_transposed_comb_is_named),
        MATCH_TEST(a_row_of_another_layer_is_named),
        MATCH_TEST(many_changed_rows_are_counted),
        MATCH_TEST(weights_that_were_quantised_or_tuned_resemble_their_site),
        MATCH_TEST(what_resembles_nothing_has_no_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
