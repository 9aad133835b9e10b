/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a checkpoint consists of, and which of them hold tensors of mixing sites. */
#ifndef MHCS_MODEL_FILES_H
#define MHCS_MODEL_FILES_H

#include "shadow/model/tensors.h"

struct mhcs_files_found {
    char *config;   /* path of config.json; NULL: there is none */
    char **tensors; /* paths of safetensors files to open, each once */
    size_t count;
    /* What an index promises, and where: checked against the files. Empty without an index. */
    struct mhcs_promise {
        char *tensor;
        size_t file; /* into `tensors` */
    } * promises;
    size_t promise_count;
};

/* `path` is a directory or a file. 0; -errno with `error` set. */
int mhcs_files_find(struct mhcs_files_found *ret_found, const char *path,
                    char error[MHCS_MODEL_ERROR]);
void mhcs_files_free(struct mhcs_files_found *found); /* what it holds */

/* A whole file of at most `most` bytes, NUL-terminated; NULL with `error` set. */
char *mhcs_file_text(const char *path, size_t most, size_t *ret_size, char error[MHCS_MODEL_ERROR]);

#endif
