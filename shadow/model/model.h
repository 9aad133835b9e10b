/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint as the mixing GEMM sees it: its sites with their weights, scales and bases, and the
 * model's constants.
 *
 * Opened from a directory with config.json and model.safetensors.index.json and its shards,
 * model.safetensors, or one file of another name; or from a safetensors file, with config.json
 * beside it or without. Of the tensors only scales and bases are read then, some 400 bytes a site;
 * fn is read when it is asked for. Constant after opening, so any thread may read.
 */
#ifndef MHCS_MODEL_H
#define MHCS_MODEL_H

#include "kernels/kernels.h"
#include "shadow/model/config.h"
#include "shadow/model/names.h"
#include "shadow/model/tensors.h"

struct mhcs_model_site {
    char name[MHCS_SITE_NAME_BYTES]; /* "layers.21.hc_attn_fn" */
    enum mhcs_role role;
    int16_t layer; /* MTP blocks count on behind the layers; -1: the model's own head */
    uint32_t coefficients;
    struct mhcs_model_params params;
    uint32_t dtype; /* of fn, enum mhcs_dtype */
    const struct mhcs_tensors *file;
    const struct mhcs_tensor *fn; /* [coefficients][k] */
};

struct mhcs_model {
    char *path;
    struct mhcs_config config;     /* hidden and layers as the tensors have them */
    uint32_t k;                    /* 4 * hidden */
    struct mhcs_model_site *sites; /* in the order of a forward pass: layers, head, MTP blocks */
    size_t site_count;
    struct mhcs_tensors **files;
    size_t file_count;
};

/* 0; -errno with `error` set: file and tensor that are not as they should be. */
int mhcs_model_open(struct mhcs_model **ret_model, const char *path, char error[MHCS_MODEL_ERROR]);
void mhcs_model_close(struct mhcs_model *model); /* NULL is fine */

/* Rows [first, first + rows) of a site's fn, in its own dtype. 0; -errno with `error` set. */
int mhcs_model_read(const struct mhcs_model *model, const struct mhcs_model_site *site,
                    uint32_t first, uint32_t rows, void *to, char error[MHCS_MODEL_ERROR]);
/* The same as fp32. */
int mhcs_model_read_f32(const struct mhcs_model *model, const struct mhcs_model_site *site,
                        uint32_t first, uint32_t rows, float *to, char error[MHCS_MODEL_ERROR]);

#endif
