/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers a checkpoint's sites. */
#include "shadow/model/model.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dtype.h"
#include "shadow/model/files.h"
#include "shadow/model/header.h"

#define CONFIG_BYTES_MAX (16 << 20)

/* A site while its tensors are still being found. */
struct draft {
    struct mhcs_weight_name name;
    const struct mhcs_tensors *file[MHCS_SITE_PARTS];
    const struct mhcs_tensor *tensor[MHCS_SITE_PARTS];
};

struct builder {
    struct mhcs_model *model;
    struct draft *drafts;
    size_t count, room;
    char *error;
};

static int out_of_memory(struct builder *b)
{
    return mhcs_tensors_fail(b->model->path, b->error, NULL, -ENOMEM, "out of memory");
}

static int read_config(struct builder *b, const char *path)
{
    char why[MHCS_MODEL_ERROR / 2];
    size_t size;
    char *text;
    int ret;

    if (!path) {
        mhcs_config_default(&b->model->config);
        return 0;
    }
    text = mhcs_file_text(path, CONFIG_BYTES_MAX, &size, b->error);
    if (!text)
        return -EINVAL;
    ret = mhcs_config_parse(&b->model->config, text, size, why, sizeof(why));
    free(text);
    if (ret)
        return mhcs_tensors_fail(path, b->error, NULL, ret, "%s", why);
    if (b->model->config.streams != MHCS_STREAMS)
        return mhcs_tensors_fail(path, b->error, NULL, -EINVAL,
                                 "hc_mult is %g; this version knows models of %d streams",
                                 b->model->config.streams, MHCS_STREAMS);
    return 0;
}

/* ---- which tensors make a site ---- */

static bool is_same_site(const struct mhcs_weight_name *a, const struct mhcs_weight_name *b)
{
    return a->role == b->role && a->mtp == b->mtp && a->block == b->block;
}

static struct draft *find_draft(struct builder *b, const struct mhcs_weight_name *name)
{
    /* Tensors are sorted by name, so the three of a site come close together. */
    for (size_t i = b->count; i-- > 0;)
        if (is_same_site(&b->drafts[i].name, name))
            return &b->drafts[i];
    if (b->count == b->room) {
        const size_t room = b->room ? 2 * b->room : 128;
        struct draft *drafts = reallocarray(b->drafts, room, sizeof(*drafts));

        if (!drafts)
            return NULL;
        b->drafts = drafts;
        b->room = room;
    }
    b->drafts[b->count] = (struct draft){.name = *name};
    return &b->drafts[b->count++];
}

static int take_tensor(struct builder *b, const struct mhcs_tensors *file,
                       const struct mhcs_tensor *tensor)
{
    struct mhcs_weight_name name;
    struct draft *draft;

    if (!mhcs_weight_name_parse(tensor->name, &name))
        return 0;
    draft = find_draft(b, &name);
    if (!draft)
        return out_of_memory(b);
    if (draft->tensor[name.part])
        return mhcs_tensors_fail(file->path, b->error, tensor->name, -EBADMSG,
                                 "is the same weight as %.100s of %.100s",
                                 draft->tensor[name.part]->name, draft->file[name.part]->path);
    draft->file[name.part] = file;
    draft->tensor[name.part] = tensor;
    return 0;
}

static int open_files(struct builder *b, const struct mhcs_files_found *found)
{
    struct mhcs_model *model = b->model;

    model->files = calloc(found->count ? found->count : 1, sizeof(struct mhcs_tensors *));
    if (!model->files)
        return out_of_memory(b);
    for (size_t i = 0; i < found->count; i++) {
        const int ret = mhcs_tensors_open(&model->files[i], found->tensors[i], b->error);

        if (ret)
            return ret;
        model->file_count++;
    }
    for (size_t i = 0; i < found->promise_count; i++) {
        const struct mhcs_promise *promise = &found->promises[i];

        if (!mhcs_tensors_find(model->files[promise->file], promise->tensor))
            return mhcs_tensors_fail(model->files[promise->file]->path, b->error, promise->tensor,
                                     -EBADMSG, "not in the file that the index names");
    }
    for (size_t f = 0; f < model->file_count; f++)
        for (size_t i = 0; i < model->files[f]->count; i++) {
            const int ret = take_tensor(b, model->files[f], &model->files[f]->list[i]);

            if (ret)
                return ret;
        }
    return 0;
}

/* ---- sites from drafts ---- */

static int fail_draft(struct builder *b, const struct draft *draft, int part, const char *wanted)
{
    char has[MHCS_TENSOR_TEXT];

    return mhcs_tensors_fail(draft->file[part]->path, b->error, draft->tensor[part]->name, -EBADMSG,
                             "is %s; %s is needed", mhcs_tensor_text(draft->tensor[part], has),
                             wanted);
}

static bool dtype_of(const struct mhcs_tensor *tensor, uint32_t *ret_dtype)
{
    static const char *const names[] = {
        [MHCS_F32] = "F32", [MHCS_BF16] = "BF16", [MHCS_F16] = "F16"};

    for (*ret_dtype = 0; *ret_dtype < sizeof(names) / sizeof(names[0]); ++*ret_dtype)
        if (strcmp(tensor->type, names[*ret_dtype]) == 0)
            return true;
    return false;
}

/* scale or base: `count` numbers in fp32, bf16 or fp16. */
static int read_vector(struct builder *b, const struct draft *draft, int part, uint32_t count,
                       float *to)
{
    const struct mhcs_tensor *tensor = draft->tensor[part];
    uint32_t raw[MHCS_COEFFICIENTS]; /* aligned for any of the types */
    uint32_t dtype;
    char wanted[64];
    int ret;

    if (tensor->rank != 1 || tensor->shape[0] != count || !dtype_of(tensor, &dtype)) {
        snprintf(wanted, sizeof(wanted), "F32, BF16 or F16 [%u]", count);
        return fail_draft(b, draft, part, wanted);
    }
    ret =
        mhcs_tensors_read(draft->file[part], tensor, 0, raw, tensor->end - tensor->begin, b->error);
    for (uint32_t i = 0; !ret && i < count; i++) {
        to[i] = mhcs_element(raw, dtype, i);
        if (!isfinite(to[i]))
            return mhcs_tensors_fail(draft->file[part]->path, b->error, tensor->name, -EBADMSG,
                                     "element %u is not finite", i);
    }
    return ret;
}

static int check_fn(struct builder *b, const struct draft *draft, struct mhcs_model_site *site)
{
    const struct mhcs_tensor *fn = draft->tensor[MHCS_SITE_FN];
    const uint64_t k = fn->rank == 2 ? fn->shape[1] : 0;
    char wanted[96];

    if (fn->rank != 2 || fn->shape[0] != site->coefficients || !dtype_of(fn, &site->dtype) ||
        k == 0 || k % MHCS_STREAMS != 0 || k > UINT32_C(1) << 20 ||
        (b->model->k != 0 && k != b->model->k)) {
        if (b->model->k)
            snprintf(wanted, sizeof(wanted), "F32, BF16 or F16 [%u, %u]", site->coefficients,
                     b->model->k);
        else
            snprintf(wanted, sizeof(wanted), "F32, BF16 or F16 [%u, 4 * hidden]",
                     site->coefficients);
        return fail_draft(b, draft, MHCS_SITE_FN, wanted);
    }
    b->model->k = (uint32_t)k;
    return 0;
}

static int make_site(struct builder *b, const struct draft *draft, struct mhcs_model_site *site)
{
    const struct mhcs_config *config = &b->model->config;
    const bool head = draft->name.role == MHCS_ROLE_HEAD;
    int ret;

    *site = (struct mhcs_model_site){
        .role = draft->name.role,
        .layer = (int16_t)(draft->name.block < 0 ? -1
                           : draft->name.mtp     ? (int32_t)config->layers + draft->name.block
                                                 : draft->name.block),
        .coefficients = head ? MHCS_COEFFICIENTS_HEAD : MHCS_COEFFICIENTS,
        .params = {.hc_eps = (float)config->hc_eps,
                   .norm_eps = (float)config->norm_eps,
                   .iterations = (int32_t)config->iterations},
        .file = draft->file[MHCS_SITE_FN],
        .fn = draft->tensor[MHCS_SITE_FN],
    };
    mhcs_site_name_format(&draft->name, site->name);
    for (int p = 0; p < MHCS_SITE_PARTS; p++)
        if (!draft->tensor[p])
            return mhcs_tensors_fail(b->model->path, b->error, site->name, -EBADMSG,
                                     "the checkpoint has no %s of this site",
                                     mhcs_part_name((enum mhcs_part_of_site)p));
    ret = check_fn(b, draft, site);
    if (!ret)
        ret = read_vector(b, draft, MHCS_SITE_SCALE, head ? 1 : 3, site->params.scale);
    if (!ret)
        ret = read_vector(b, draft, MHCS_SITE_BASE, site->coefficients, site->params.base);
    return ret;
}

/* Order of a forward pass. */
static int64_t rank_of(const struct mhcs_weight_name *name)
{
    const int64_t block = name->block < 0 ? MHCS_BLOCKS_MAX
                          : name->mtp     ? MHCS_BLOCKS_MAX + 1 + name->block
                                          : name->block;

    return 3 * block + (int64_t)name->role;
}

static int compare_drafts(const void *left, const void *right)
{
    const int64_t a = rank_of(&((const struct draft *)left)->name);
    const int64_t b = rank_of(&((const struct draft *)right)->name);

    return a < b ? -1 : a > b;
}

/* How many layers the tensors have, where config.json does not say. A block with a head of its own
 * is the first MTP block. */
static uint32_t count_layers(const struct builder *b)
{
    int32_t layers = 0, first_mtp = INT32_MAX;

    for (size_t i = 0; i < b->count; i++) {
        const struct mhcs_weight_name *name = &b->drafts[i].name;

        if (name->mtp || name->block < 0)
            continue;
        if (name->block >= layers)
            layers = name->block + 1;
        if (name->role == MHCS_ROLE_HEAD && name->block < first_mtp)
            first_mtp = name->block;
    }
    return (uint32_t)(layers < first_mtp ? layers : first_mtp);
}

static void settle_layers(struct builder *b)
{
    if (!(b->model->config.layers > 0))
        b->model->config.layers = count_layers(b);
    for (size_t i = 0; i < b->count; i++)
        mhcs_weight_name_settle(&b->drafts[i].name, (uint32_t)b->model->config.layers);
}

static int make_sites(struct builder *b)
{
    struct mhcs_model *model = b->model;
    int ret;

    if (b->count == 0)
        return mhcs_tensors_fail(
            model->path, b->error, NULL, -ENOENT,
            "no mixing weights in it (layers.N.hc_attn_fn and the like): not a "
            "model with hyper-connections");
    settle_layers(b);
    qsort(b->drafts, b->count, sizeof(b->drafts[0]), compare_drafts);
    model->sites = calloc(b->count, sizeof(model->sites[0]));
    if (!model->sites)
        return out_of_memory(b);
    for (size_t i = 0; i < b->count; i++) {
        ret = make_site(b, &b->drafts[i], &model->sites[i]);
        if (ret)
            return ret;
    }
    model->site_count = b->count;
    if (model->config.hidden > 0 && model->k != MHCS_STREAMS * (uint32_t)model->config.hidden)
        return mhcs_tensors_fail(model->path, b->error, model->sites[0].fn->name, -EBADMSG,
                                 "has rows of %u, but hidden_size is %g and 4 times that is needed",
                                 model->k, model->config.hidden);
    model->config.hidden = model->k / MHCS_STREAMS;
    return 0;
}

int mhcs_model_open(struct mhcs_model **ret_model, const char *path, char error[MHCS_MODEL_ERROR])
{
    struct mhcs_model *model = calloc(1, sizeof(*model));
    struct builder b = {.model = model, .error = error};
    struct mhcs_files_found found;
    int ret;

    if (model)
        model->path = strdup(path);
    if (!model || !model->path) {
        free(model);
        return mhcs_tensors_fail(path, error, NULL, -ENOMEM, "out of memory");
    }
    ret = mhcs_files_find(&found, path, error);
    if (!ret)
        ret = read_config(&b, found.config);
    if (!ret)
        ret = open_files(&b, &found);
    if (!ret)
        ret = make_sites(&b);
    mhcs_files_free(&found);
    free(b.drafts);
    if (ret) {
        mhcs_model_close(model);
        return ret;
    }
    *ret_model = model;
    return 0;
}

void mhcs_model_close(struct mhcs_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->file_count; i++)
        mhcs_tensors_close(model->files[i]);
    free(model->files);
    free(model->sites);
    free(model->path);
    free(model);
}

int mhcs_model_read(const struct mhcs_model *model, const struct mhcs_model_site *site,
                    uint32_t first, uint32_t rows, void *to, char error[MHCS_MODEL_ERROR])
{
    const uint64_t row = (uint64_t)model->k * mhcs_dtype_size(site->dtype);

    return mhcs_tensors_read(site->file, site->fn, first * row, to, rows * row, error);
}

int mhcs_model_read_f32(const struct mhcs_model *model, const struct mhcs_model_site *site,
                        uint32_t first, uint32_t rows, float *to, char error[MHCS_MODEL_ERROR])
{
    const size_t count = (size_t)rows * model->k;
    const int ret = mhcs_model_read(model, site, first, rows, to, error);

    /* Narrower types are widened in place, from the end so that nothing is overwritten unread. */
    for (size_t i = count; !ret && site->dtype != MHCS_F32 && i-- > 0;) {
        uint16_t half;

        memcpy(&half, (const char *)to + 2 * i, sizeof(half));
        to[i] = site->dtype == MHCS_BF16 ? mhcs_bf16_decode(half) : mhcs_f16_decode(half);
    }
    return ret;
}
