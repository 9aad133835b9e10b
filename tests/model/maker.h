/* SPDX-License-Identifier: Apache-2.0 */
/* Small checkpoints for tests: tensors of known values, written as safetensors files. */
#ifndef MHCS_TEST_MAKER_H
#define MHCS_TEST_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

#define MAKER_K 256

/* An empty directory of its own, removed with all in it by maker_remove_dir(). */
char *maker_dir(void);
void maker_remove_dir(char *dir);
/* DIR/NAME; good until the next call but three. */
const char *maker_path(const char *dir, const char *name);
void maker_write(const char *path, const void *data, size_t size);

struct maker; /* tensors of one file */
struct maker *maker_new(void);
/* `values` fp32, stored as `dtype`. `columns` 0: a vector. */
void maker_add(struct maker *maker, const char *name, uint32_t dtype, uint32_t rows,
               uint32_t columns, const float *values);
/* Writes the file and frees the maker. */
void maker_finish(struct maker *maker, const char *path);

/* fn of site number `site`: [24][MAKER_K] values of a full mantissa, rms near 0.04; element 7 is
 * halfway between two TF32 numbers, the lower one even. */
void maker_fn(uint32_t site, float *to);

/* Three layers and the head, DeepSeek's names behind `prefix`, MAKER_K; site numbers are 2 * layer,
 * 2 * layer + 1 for ffn, 6 for the head. Scales are site + 1, + 2, + 3; bases site - row. */
void maker_model(const char *path, const char *prefix, uint32_t dtype);
#define MAKER_SITES 7

#define MAKER_CONFIG                                                                               \
    "{\"model_type\":\"deepseek_v4\",\"hidden_size\":64,\"num_hidden_layers\":3,\"hc_mult\":4,"    \
    "\"hc_sinkhorn_iters\":20,\"hc_eps\":1e-06,\"rms_norm_eps\":1e-06}"

#endif
