/* SPDX-License-Identifier: Apache-2.0 */
/* One safetensors file: a JSON header of names, types, shapes and offsets, then the data.
 *
 * The whole header is checked when the file is opened: its size, names given once, known types,
 * every range as long as its shape says, ranges inside the file without gap or overlap, nothing
 * after the last. Errors name the file and the tensor.
 *
 * Data is read with pread() and never mapped, and no descriptor is kept: a file that is cut short
 * under a mapping raises SIGBUS in whatever process has it, which here may be a server; and servers
 * close descriptors they do not know. A file that changed since it was opened is refused.
 */
#ifndef MHCS_MODEL_TENSORS_H
#define MHCS_MODEL_TENSORS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define MHCS_TENSOR_RANK_MAX 8
#define MHCS_MODEL_ERROR     512 /* bytes of an error message */

struct mhcs_tensor {
    const char *name;
    const char *type; /* "F32", "BF16", ... */
    int rank;
    uint64_t shape[MHCS_TENSOR_RANK_MAX];
    uint64_t begin, end; /* bytes, counted from the end of the header */
};

struct mhcs_tensors {
    char *path;
    struct mhcs_tensor *list; /* by name */
    size_t count;
    uint64_t data_at; /* file offset of the data */
    uint64_t size;    /* of the file; with the next ones: its identity */
    dev_t device;
    ino_t inode;
    struct timespec modified;
    char *names; /* what .name points into */
};

/* 0; -errno with `error` set. -EBADMSG: not a sound safetensors file. */
int mhcs_tensors_open(struct mhcs_tensors **ret_tensors, const char *path,
                      char error[MHCS_MODEL_ERROR]);
void mhcs_tensors_close(struct mhcs_tensors *tensors); /* NULL is fine */

/* NULL: no such tensor. */
const struct mhcs_tensor *mhcs_tensors_find(const struct mhcs_tensors *tensors, const char *name);

/* `size` bytes of a tensor from its byte `from` on. 0; -errno with `error` set. */
int mhcs_tensors_read(const struct mhcs_tensors *tensors, const struct mhcs_tensor *tensor,
                      uint64_t from, void *to, size_t size, char error[MHCS_MODEL_ERROR]);

/* "F32 [24, 16384]" */
#define MHCS_TENSOR_TEXT 200
const char *mhcs_tensor_text(const struct mhcs_tensor *tensor, char text[MHCS_TENSOR_TEXT]);

#endif
