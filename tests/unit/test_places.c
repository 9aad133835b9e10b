/* SPDX-License-Identifier: Apache-2.0 */
/* Weights at the place of another layer, and weights that change, are found; temporary weights are
 * not taken for either. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "shadow/places.h"

#define LAYERS 10
#define SITES  (2 * LAYERS + 1)

static struct mhcs_model_site model_sites[SITES];
static const struct mhcs_model model = {.sites = model_sites, .site_count = SITES};
static struct mhcs_site sites[SITES + 1]; /* the last one is like none of the checkpoint's */
static char finding[MHCS_FINDING_BYTES];

static int set_up(void **state)
{
    for (int i = 0; i < SITES; i++) {
        snprintf(model_sites[i].name, sizeof(model_sites[i].name),
                 i == 2 * LAYERS ? "hc_head_fn" : "layers.%d.hc_%s_fn", i / 2,
                 i % 2 ? "ffn" : "attn");
        sites[i].match.site = &model_sites[i];
        strcpy(sites[i].name, model_sites[i].name);
    }
    strcpy(sites[SITES].name, "site21");
    *state = mhcs_places_new();
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    mhcs_places_free(*state);
    return 0;
}

/* Forward passes in which the site at place `place` has the weights of `weights[place]`. */
static void run(struct mhcs_places *places, const int *weights, int passes)
{
    for (int pass = 0; pass < passes; pass++) {
        for (int place = 0; place < SITES; place++) {
            if (mhcs_places_note(places, place, &sites[weights[place]], finding)) {
                fail_msg("found: %s", finding);
            }
        }
    }
}

static void as_released(int *weights)
{
    for (int i = 0; i < SITES; i++) {
        weights[i] = i;
    }
}

static void a_server_with_the_models_weights_has_no_finding(void **state)
{
    int weights[SITES];

    as_released(weights);
    run(*state, weights, 5);
    assert_false(mhcs_places_misplaced(*state, &model, finding));
}

static void one_layers_weights_at_anothers_place_are_named_once(void **state)
{
    static const int places[][2] = {{16, 14}, {1, 15}, {2 * LAYERS - 1, 3}};

    for (int i = 0; i < 3; i++) {
        char text[128];
        int weights[SITES];

        as_released(weights);
        weights[places[i][0]] = places[i][1];
        run(*state, weights, 2);
        assert_false(mhcs_places_misplaced(*state, &model, finding)); /* too early to tell */
        run(*state, weights, 1);
        assert_true(mhcs_places_misplaced(*state, &model, finding));
        snprintf(text, sizeof(text),
                 "where %s is due, the server multiplies with the weights of %s",
                 model_sites[places[i][0]].name, model_sites[places[i][1]].name);
        assert_string_equal(finding, text);
        assert_false(mhcs_places_misplaced(*state, &model, finding));
        tear_down(state);
        set_up(state);
    }
}

static void a_rank_with_some_layers_only_has_no_finding(void **state)
{
    /* A pipeline stage: layers 4 to 7, from address 0 on. */
    for (int pass = 0; pass < 5; pass++) {
        for (int place = 0; place < 8; place++) {
            assert_false(mhcs_places_note(*state, place, &sites[8 + place], finding));
        }
    }
    assert_false(mhcs_places_misplaced(*state, &model, finding));
}

static void temporary_weights_are_no_finding(void **state)
{
    /* Every layer's weights go through the same two addresses. */
    for (int pass = 0; pass < 5; pass++) {
        for (int site = 0; site < SITES; site++) {
            assert_false(mhcs_places_note(*state, site % 2, &sites[site], finding));
        }
    }
    assert_false(mhcs_places_misplaced(*state, &model, finding));
}

static void weights_that_change_are_named(void **state)
{
    int weights[SITES];

    as_released(weights);
    run(*state, weights, 3);
    strcpy(sites[SITES].match.difference, "it resembles none of the checkpoint's weights");
    assert_true(mhcs_places_note(*state, 4, &sites[SITES], finding));
    assert_string_equal(
        finding, "the weights at the address of layers.2.hc_attn_fn changed while the server "
                 "ran; since then they are site21: it resembles none of the checkpoint's "
                 "weights");
    assert_false(mhcs_places_note(*state, 4, &sites[SITES], finding));
    assert_false(mhcs_places_note(*state, -1, &sites[0], finding));
    assert_false(mhcs_places_note(*state, MHCS_PLACES_MAX, &sites[0], finding));
}

#define PLACES_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACES_TEST(a_server_with_the_models_weights_has_no_finding),
        PLACES_TEST(one_layers_weights_at_anothers_place_are_named_once),
        PLACES_TEST(a_rank_with_some_layers_only_has_no_finding),
        PLACES_TEST(temporary_weights_are_no_finding),
        PLACES_TEST(weights_that_change_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
