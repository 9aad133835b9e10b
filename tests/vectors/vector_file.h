/* SPDX-License-Identifier: Apache-2.0 */
/* Vector files (README.md): the inputs rebuilt, and the oracle held against the file's values. */
#ifndef TEST_VECTOR_FILE_H
#define TEST_VECTOR_FILE_H

#include <cjson/cJSON.h>

#include "oracle.h"

/* NULL, with the reason on stderr, if the file can't be read. */
cJSON *vector_read(const char *path);

bool vector_flag(const cJSON *json, const char *name);

/* The inputs, with production as the file has it. */
struct kernel_case vector_case(const cJSON *json);

/* Number of values of row r on which the file and the oracle differ, each named on stderr. zero:
 * the row is zero, and its error metrics, 0 in the file, are undefined here. */
int vector_check_oracle(const char *name, const cJSON *json, const struct kernel_case *c,
                        uint32_t r, const struct oracle_row *row, bool zero);

#endif
