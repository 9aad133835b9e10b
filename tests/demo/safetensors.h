/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a safetensors file: a JSON header of names, types, shapes and offsets, then the data.
 *
 * Everything is checked when the file is opened: types known, every range as long as its shape
 * says, ranges without gap or overlap, nothing after the last. Errors name the file and the tensor.
 */
#ifndef DEMO_SAFETENSORS_H
#define DEMO_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#define SAFETENSORS_RANK_MAX   8
#define SAFETENSORS_ERROR_SIZE 512

struct safetensors;

struct safetensors_tensor {
    char *name;
    const char *dtype; /* "F32", "BF16", ... */
    int rank;
    int64_t shape[SAFETENSORS_RANK_MAX];
    uint64_t begin, end; /* bytes, counted from the end of the header */
    const void *data;    /* of any alignment; alive until safetensors_close() */
};

/* 0, or -1 with `error` set. */
int safetensors_open(struct safetensors **ret_file, const char *path,
                     char error[SAFETENSORS_ERROR_SIZE]);
void safetensors_close(struct safetensors *file);

/* NULL: no such tensor. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name);

/* Data of a tensor that must be F32 of just this shape; NULL with `error` set. */
const void *safetensors_f32(const struct safetensors *file, const char *name, int rank,
                            const int64_t *shape, char error[SAFETENSORS_ERROR_SIZE]);

#endif
