/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, rounds and hashes weights. */
#include "shadow/model/print.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fingerprint.h"
#include "shadow/host_reference.h"
#include "shadow/model/header.h"
#include "shadow/model/round.h"

static float round_to(enum mhcs_form form, float value)
{
    switch (form) {
    case MHCS_FORM_BF16:
        return mhcs_round_bf16(value);
    case MHCS_FORM_F16:
        return mhcs_round_f16(value);
    case MHCS_FORM_TF32:
        return mhcs_round_tf32(value);
    case MHCS_FORM_TF32_EVEN:
        return mhcs_round_even(value, 13);
    case MHCS_FORM_TF32_CUT:
        return mhcs_cut_tf32(value);
    default:
        return value;
    }
}

static void round_all(enum mhcs_form form, const float *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = round_to(form, from[i]);
}

int mhcs_form_read(const struct mhcs_model *model, const struct mhcs_model_site *site,
                   enum mhcs_form form, float *to, char error[MHCS_MODEL_ERROR])
{
    const int ret = mhcs_model_read_f32(model, site, 0, site->coefficients, to, error);

    if (!ret && form != MHCS_FORM_STORED)
        round_all(form, to, to, (size_t)site->coefficients * model->k);
    return ret;
}

int mhcs_prints_init(struct mhcs_prints *prints, const struct mhcs_model *model)
{
    const size_t bytes = (size_t)MHCS_COEFFICIENTS * model->k * sizeof(float);

    *prints = (struct mhcs_prints){.model = model};
    prints->values = malloc(bytes);
    prints->rounded = malloc(bytes);
    if (!prints->values || !prints->rounded) {
        mhcs_prints_destroy(prints);
        return -ENOMEM;
    }
    return 0;
}

void mhcs_prints_destroy(struct mhcs_prints *prints)
{
    free(prints->values);
    free(prints->rounded);
    free(prints->first);
    free(prints->all);
}

static int out_of_memory(const struct mhcs_prints *prints, char *error)
{
    return mhcs_tensors_fail(prints->model->path, error, NULL, -ENOMEM, "out of memory");
}

int mhcs_prints_first(struct mhcs_prints *prints, char error[MHCS_MODEL_ERROR])
{
    const struct mhcs_model *model = prints->model;
    uint64_t(*first)[MHCS_FORM_COUNT];
    int ret = 0;

    if (prints->first)
        return 0;
    first = calloc(model->site_count, sizeof(*first));
    if (!first)
        return out_of_memory(prints, error);
    for (size_t s = 0; !ret && s < model->site_count; s++) {
        ret = mhcs_model_read_f32(model, &model->sites[s], 0, 1, prints->values, error);
        for (int f = 0; !ret && f < MHCS_FORM_COUNT; f++) {
            struct mhcs_weight_sums sums = {0};

            for (uint32_t k = 0; k < model->k; k++)
                mhcs_weight_add(&sums, k, round_to((enum mhcs_form)f, prints->values[k]));
            first[s][f] = sums.hash;
        }
    }
    if (ret)
        free(first);
    else
        prints->first = first;
    return ret;
}

int mhcs_prints_all(struct mhcs_prints *prints, char error[MHCS_MODEL_ERROR])
{
    const struct mhcs_model *model = prints->model;
    struct mhcs_fingerprint_row(*all)[MHCS_FORM_COUNT][MHCS_COEFFICIENTS];
    int ret = 0;

    if (prints->all)
        return 0;
    all = calloc(model->site_count, sizeof(*all));
    if (!all)
        return out_of_memory(prints, error);
    for (size_t s = 0; !ret && s < model->site_count; s++) {
        const uint32_t rows = model->sites[s].coefficients;

        ret = mhcs_model_read_f32(model, &model->sites[s], 0, rows, prints->values, error);
        for (int f = 0; !ret && f < MHCS_FORM_COUNT; f++) {
            round_all((enum mhcs_form)f, prints->values, prints->rounded, (size_t)rows * model->k);
            mhcs_host_fingerprint(prints->rounded, MHCS_F32, rows, model->k, all[s][f]);
        }
    }
    if (ret)
        free(all);
    else
        prints->all = all;
    return ret;
}

int mhcs_prints_site(struct mhcs_prints *prints, const struct mhcs_model_site *site,
                     enum mhcs_form form, struct mhcs_fingerprint_row *out,
                     char error[MHCS_MODEL_ERROR])
{
    const int ret = mhcs_form_read(prints->model, site, form, prints->rounded, error);

    if (!ret)
        mhcs_host_fingerprint(prints->rounded, MHCS_F32, site->coefficients, prints->model->k, out);
    return ret;
}

uint64_t mhcs_prints_moved(const struct mhcs_prints *prints, uint32_t from, uint32_t to,
                           bool negated)
{
    const uint32_t k = prints->model->k;
    struct mhcs_weight_sums sums = {0};

    for (uint32_t i = 0; i < k; i++) {
        const float value = prints->rounded[(size_t)from * k + i];

        mhcs_weight_add(&sums, (size_t)to * k + i, negated ? -value : value);
    }
    return sums.hash;
}

/* mhcs_mix64's inverse: the multipliers' inverses mod 2^64, and each shift undone. */
static uint64_t unmix64(uint64_t z)
{
    z ^= z >> 31 ^ z >> 62;
    z *= UINT64_C(0x319642b2d24d8ec3);
    z ^= z >> 27 ^ z >> 54;
    z *= UINT64_C(0x96de1b173f119089);
    return z ^ z >> 30 ^ z >> 60;
}

bool mhcs_prints_element(const struct mhcs_prints *prints, uint32_t j, uint64_t hash,
                         uint32_t *ret_k, float *ret_value)
{
    const uint32_t k = prints->model->k;
    const uint64_t difference = hash - mhcs_prints_moved(prints, j, j, false);

    for (uint32_t i = 0; i < k; i++) {
        const uint64_t at = (uint64_t)j * k + i;
        const uint64_t old = mhcs_mix64(at << 32 ^ mhcs_f32_bits(prints->rounded[at]));
        const uint64_t back = unmix64(old + difference) ^ at << 32;

        if (back >> 32 == 0) {
            *ret_k = i;
            *ret_value = mhcs_f32_from_bits((uint32_t)back);
            return true;
        }
    }
    return false;
}
