/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file, apart from the file: what tests and fuzzing feed directly. */
#ifndef MHCS_MODEL_HEADER_H
#define MHCS_MODEL_HEADER_H

#include "shadow/model/tensors.h"

#define MHCS_HEADER_BYTES_MAX UINT64_C(100000000) /* the format's own limit */

/* Fills list, count and names of `tensors` (path is set, size is the file's) from the `size` bytes
 * of JSON. 0; -EBADMSG or -ENOMEM with `error` set, and what was made is freed. */
int mhcs_header_parse(struct mhcs_tensors *tensors, const char *text, size_t size,
                      char error[MHCS_MODEL_ERROR]);

/* Writes "path: tensor name: ..." (name may be NULL); returns `code`. */
int mhcs_tensors_fail(const char *path, char *error, const char *name, int code, const char *format,
                      ...) __attribute__((format(printf, 5, 6)));

#endif
