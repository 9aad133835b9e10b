/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: one file or shards, any dialect of names; what is wrong is said by file and tensor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shadow/model/model.h"
#include "tests/model/maker.h"

static int create(void **state)
{
    *state = maker_dir();
    return 0;
}

static int destroy(void **state)
{
    maker_remove_dir(*state);
    return 0;
}

static struct mhcs_model *open_model(const char *path)
{
    char error[MHCS_MODEL_ERROR];
    struct mhcs_model *model;

    if (mhcs_model_open(&model, path, error) < 0)
        fail_msg("%s", error);
    return model;
}

static void assert_refused(const char *path, const char *why)
{
    char error[MHCS_MODEL_ERROR] = "";
    struct mhcs_model *model;

    assert_true(mhcs_model_open(&model, path, error) < 0);
    if (strstr(error, why) == NULL)
        fail_msg("\"%s\" instead of \"%s\"", error, why);
}

static void write_text(const char *path, const char *text)
{
    maker_write(path, text, strlen(text));
}

/* The sites of maker_model(), whatever the names. */
static void assert_makers_model(const struct mhcs_model *model)
{
    static const char *const names[MAKER_SITES] = {
        "layers.0.hc_attn_fn", "layers.0.hc_ffn_fn", "layers.1.hc_attn_fn", "layers.1.hc_ffn_fn",
        "layers.2.hc_attn_fn", "layers.2.hc_ffn_fn", "hc_head_fn"};
    float fn[MHCS_COEFFICIENTS * MAKER_K], wanted[MHCS_COEFFICIENTS * MAKER_K];
    char error[MHCS_MODEL_ERROR];

    assert_int_equal(model->site_count, MAKER_SITES);
    assert_int_equal(model->k, MAKER_K);
    assert_true(model->config.layers == 3 && model->config.hidden == 64);
    for (uint32_t s = 0; s < MAKER_SITES; s++) {
        const struct mhcs_model_site *site = &model->sites[s];

        assert_string_equal(site->name, names[s]);
        assert_int_equal(site->layer, s == 6 ? -1 : (int)s / 2);
        assert_int_equal(site->role, s == 6  ? MHCS_ROLE_HEAD
                                     : s % 2 ? MHCS_ROLE_FFN
                                             : MHCS_ROLE_ATTN);
        assert_int_equal(site->coefficients, s == 6 ? 4 : 24);
        assert_true(site->params.scale[0] == (float)(s + 1));
        assert_true(site->params.scale[2] == (s == 6 ? 0 : (float)(s + 3)));
        assert_true(site->params.base[3] == (float)s - 3);
        assert_true(site->params.norm_eps == 1e-6f && site->params.iterations == 20);
        assert_int_equal(site->dtype, MHCS_F32);
        maker_fn(s, wanted);
        assert_int_equal(mhcs_model_read(model, site, 2, 2, fn, error), 0);
        assert_memory_equal(fn, wanted + 2 * MAKER_K, 2 * MAKER_K * sizeof(float));
    }
}

static void one_file_and_a_configuration_make_a_model(void **state)
{
    struct mhcs_model *model;

    maker_model(maker_path(*state, "model.safetensors"), "", MHCS_F32);
    write_text(maker_path(*state, "config.json"), MAKER_CONFIG);
    model = open_model(*state);
    assert_makers_model(model);
    assert_string_equal(model->config.missing, "");
    mhcs_model_close(model);
}

static void a_lone_file_is_a_model_whose_missing_numbers_are_named(void **state)
{
    const char *path = maker_path(*state, "weights.safetensors");
    struct mhcs_model *model;

    maker_model(path, "model.language_model.", MHCS_F32);
    model = open_model(path);
    assert_makers_model(model);
    assert_non_null(strstr(model->config.missing, "hc_eps, rms_norm_eps"));
    mhcs_model_close(model);
    model = open_model(*state); /* the directory's only one */
    assert_makers_model(model);
    mhcs_model_close(model);
    maker_model(maker_path(*state, "other.safetensors"), "", MHCS_F32);
    assert_refused(*state, "several *.safetensors and no model.safetensors.index.json");
}

#define INDEX(map) "{\"metadata\":{\"total_size\":1},\"weight_map\":{" map "}}"

/* Layer 1 and the rest in two files, with an index; `more` goes into its weight_map. */
static void write_shards(const char *dir, const char *more)
{
    static const float values[MHCS_COEFFICIENTS * MAKER_K] = {1};
    char map[4096] = "", name[64];
    struct maker *one = maker_new(), *two = maker_new();

    for (int layer = 0; layer < 2; layer++)
        for (int role = 0; role < 2; role++)
            for (int part = 0; part < 3; part++) {
                static const char *const parts[] = {"fn", "base", "scale"};
                const uint32_t rows = part == 2 ? 3 : 24, columns = part == 0 ? MAKER_K : 0;

                snprintf(name, sizeof(name), "model.layers.%d.%s_hc.%s", layer,
                         role ? "ffn" : "attn", parts[part]);
                maker_add(layer ? two : one, name, part ? MHCS_F32 : MHCS_BF16, rows, columns,
                          values);
                snprintf(map + strlen(map), sizeof(map) - strlen(map), "\"%s\":\"%s\",", name,
                         layer ? "two.safetensors" : "one.safetensors");
            }
    maker_finish(one, maker_path(dir, "one.safetensors"));
    maker_finish(two, maker_path(dir, "two.safetensors"));
    {
        char index[8192];

        snprintf(index, sizeof(index), INDEX("%s\"lm_head.weight\":\"none.safetensors\"%s"), map,
                 more);
        write_text(maker_path(dir, "model.safetensors.index.json"), index);
    }
    write_text(maker_path(dir, "config.json"),
               "{\"hidden_size\":64,\"num_hidden_layers\":1,\"hc_mult\":4,\"hc_sinkhorn_iters\":20,"
               "\"hc_eps\":1e-6,\"rms_norm_eps\":1e-20}");
}

static void shards_are_opened_where_the_index_says(void **state)
{
    struct mhcs_model *model;

    write_shards(*state, "");
    model = open_model(*state);
    assert_int_equal(model->file_count, 2); /* none.safetensors holds nothing that is wanted */
    assert_int_equal(model->site_count, 4);
    assert_string_equal(model->sites[1].name, "layers.0.hc_ffn_fn");
    /* Layer 1 of 1: an MTP block by number. */
    assert_string_equal(model->sites[2].name, "mtp.0.hc_attn_fn");
    assert_int_equal(model->sites[2].layer, 1);
    assert_int_equal(model->sites[0].dtype, MHCS_BF16);
    assert_true(model->sites[0].params.norm_eps == 1e-20f);
    mhcs_model_close(model);
}

/* As huggingface_hub keeps a download: every file of a snapshot is a link to a blob. */
static void a_cache_of_links_to_blobs_is_a_checkpoint(void **state)
{
    static const char *const files[] = {"one.safetensors", "two.safetensors", "config.json",
                                        "model.safetensors.index.json"};
    char snapshot[256], blob[64], path[512];
    struct mhcs_model *model;

    snprintf(snapshot, sizeof(snapshot), "%s", maker_path(*state, "snapshots"));
    write_shards(*state, "");
    assert_int_equal(mkdir(maker_path(*state, "blobs"), 0700), 0);
    assert_int_equal(mkdir(snapshot, 0700), 0);
    for (int i = 0; i < 4; i++) {
        snprintf(blob, sizeof(blob), "blobs/%d", i);
        assert_int_equal(rename(maker_path(*state, files[i]), maker_path(*state, blob)), 0);
        snprintf(path, sizeof(path), "%s/%s", snapshot, files[i]);
        snprintf(blob, sizeof(blob), "../blobs/%d", i);
        assert_int_equal(symlink(blob, path), 0);
    }
    model = open_model(snapshot);
    assert_int_equal(model->site_count, 4);
    assert_true(model->sites[0].params.norm_eps == 1e-20f);
    mhcs_model_close(model);

    /* A download that was broken off. */
    assert_int_equal(unlink(maker_path(*state, "blobs/1")), 0);
    assert_refused(snapshot, "two.safetensors: a link to ../blobs/1, which is not there");
}

static void what_an_index_can_get_wrong_is_said(void **state)
{
    write_shards(*state, ",\"layers.5.hc_attn_fn\":\"two.safetensors\"");
    assert_refused(*state, "two.safetensors: tensor layers.5.hc_attn_fn: not in the file that the "
                           "index names");
    write_shards(*state, ",\"layers.5.hc_attn_fn\":\"gone.safetensors\"");
    assert_refused(*state, "gone.safetensors: No such file");
    write_shards(*state, ",\"layers.5.hc_attn_fn\":\"../x.safetensors\"");
    assert_refused(*state, "its file \"../x.safetensors\" is outside of the checkpoint");
    write_shards(*state, ",\"layers.5.hc_attn_fn\":\"/etc/passwd\"");
    assert_refused(*state, "is outside of the checkpoint");
    write_shards(*state, ",\"model.layers.0.attn_hc.fn\":\"one.safetensors\"");
    assert_refused(*state, "tensor model.layers.0.attn_hc.fn: listed twice");
    write_text(maker_path(*state, "model.safetensors.index.json"), "{\"weight_map\":");
    assert_refused(*state, "index.json: not sound: an object is expected");
    write_text(maker_path(*state, "model.safetensors.index.json"), "{}");
    assert_refused(*state, "index.json: weight_map is given nowhere");
    write_shards(*state, "");
    assert_int_equal(truncate(maker_path(*state, "two.safetensors"), 3000), 0);
    assert_refused(*state, "two.safetensors: tensor model.layers.1.");
}

/* A model of one tensor more than maker_model()'s, or of one site only. */
static void add_site(struct maker *maker, const char *name, uint32_t fn_rows, uint32_t k,
                     uint32_t bases, uint32_t scales, float base)
{
    static float values[MHCS_COEFFICIENTS * 2 * MAKER_K];
    char text[64];

    values[0] = base;
    snprintf(text, sizeof(text), "%s_fn", name);
    maker_add(maker, text, MHCS_F32, fn_rows, k, values);
    snprintf(text, sizeof(text), "%s_base", name);
    maker_add(maker, text, MHCS_F32, bases, 0, values);
    snprintf(text, sizeof(text), "%s_scale", name);
    maker_add(maker, text, MHCS_F32, scales, 0, values);
    values[0] = 0;
}

static void wrong_shapes_and_missing_parts_are_said(void **state)
{
    static const struct {
        uint32_t rows, k, bases, scales;
        float base;
        const char *error;
    } cases[] = {
        {23, MAKER_K, 24, 3, 0,
         "tensor layers.0.hc_ffn_fn: is F32 [23, 256]; F32, BF16 or F16 [24, 256] is needed"},
        {24, 2 * MAKER_K, 24, 3, 0, "tensor layers.0.hc_ffn_fn: is F32 [24, 512]; F32"},
        {24, 0, 24, 3, 0, "tensor layers.0.hc_ffn_fn: is F32 [24]; F32"},
        {24, MAKER_K, 4, 3, 0, "tensor layers.0.hc_ffn_base: is F32 [4]; F32, BF16 or F16 [24]"},
        {24, MAKER_K, 24, 1, 0, "tensor layers.0.hc_ffn_scale: is F32 [1]; F32, BF16 or F16 [3]"},
        {24, MAKER_K, 24, 3, INFINITY, "tensor layers.0.hc_ffn_scale: element 0 is not finite"},
    };
    const char *path = maker_path(*state, "model.safetensors");

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct maker *maker = maker_new();

        add_site(maker, "layers.0.hc_attn", 24, MAKER_K, 24, 3, 0);
        add_site(maker, "layers.0.hc_ffn", cases[i].rows, cases[i].k, cases[i].bases,
                 cases[i].scales, cases[i].base);
        maker_finish(maker, path);
        assert_refused(*state, cases[i].error);
    }
    {
        struct maker *maker = maker_new();
        const float zero[24 * MAKER_K] = {0};

        maker_add(maker, "layers.0.hc_attn_fn", MHCS_F32, 24, MAKER_K, zero);
        maker_add(maker, "layers.0.hc_attn_scale", MHCS_F32, 3, 0, zero);
        maker_finish(maker, path);
        assert_refused(*state,
                       "tensor layers.0.hc_attn_fn: the checkpoint has no base of this site");
    }
    {
        struct maker *maker = maker_new();

        add_site(maker, "layers.0.hc_attn", 24, MAKER_K, 24, 3, 0);
        add_site(maker, "model.layers.0.hc_attn", 24, MAKER_K, 24, 3, 0);
        maker_finish(maker, path);
        assert_refused(*state, "is the same weight as");
    }
}

static void what_contradicts_the_configuration_is_said(void **state)
{
    maker_model(maker_path(*state, "model.safetensors"), "", MHCS_F32);
    write_text(maker_path(*state, "config.json"), "{\"hidden_size\":128}");
    assert_refused(*state, "has rows of 256, but hidden_size is 128");
    write_text(maker_path(*state, "config.json"), "{\"hc_mult\":2}");
    assert_refused(*state, "config.json: hc_mult is 2; this version knows models of 4 streams");
    write_text(maker_path(*state, "config.json"), "{");
    assert_refused(*state, "config.json: not JSON");
}

static void what_is_no_checkpoint_is_said(void **state)
{
    static const float one = 1;
    struct maker *maker = maker_new();

    assert_refused("/nonexistent/model", "/nonexistent/model: No such file or directory");
    assert_refused(*state, "no *.safetensors in it: not a checkpoint");
    maker_add(maker, "model.norm.weight", MHCS_F32, 1, 0, &one);
    maker_finish(maker, maker_path(*state, "model.safetensors"));
    assert_refused(*state, "no mixing weights in it");
}

#define MODEL_TEST(f) cmocka_unit_test_setup_teardown(f, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MODEL_TEST(one_file_and_a_configuration_make_a_model),
        MODEL_TEST(a_lone_file_is_a_model_whose_missing_numbers_are_named),
        MODEL_TEST(shards_are_opened_where_the_index_says),
        MODEL_TEST(a_cache_of_links_to_blobs_is_a_checkpoint),
        MODEL_TEST(what_an_index_can_get_wrong_is_said),
        MODEL_TEST(wrong_shapes_and_missing_parts_are_said),
        MODEL_TEST(what_contradicts_the_configuration_is_said),
        MODEL_TEST(what_is_no_checkpoint_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
