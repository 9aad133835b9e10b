/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON text: enough for the facts of a trace, correct for any bytes a path or command line
 * may hold.
 *
 * Values go in the order of the calls; `key` is NULL inside an array and at the top. Running out of
 * memory is remembered and mhcs_json_finish() tells. One thread at a time.
 */
#ifndef MHCS_JSON_H
#define MHCS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mhcs_json { /* zero-initialise */
    char *text;
    size_t length, capacity;
    bool comma, failed;
};

void mhcs_json_begin_object(struct mhcs_json *json, const char *key);
void mhcs_json_end_object(struct mhcs_json *json);
void mhcs_json_begin_array(struct mhcs_json *json, const char *key);
void mhcs_json_end_array(struct mhcs_json *json);

/* NULL gives null. Bytes that are not UTF-8 become U+FFFD. */
void mhcs_json_string(struct mhcs_json *json, const char *key, const char *value);
void mhcs_json_int(struct mhcs_json *json, const char *key, int64_t value);
/* 9 significant digits, enough for a float; NaN and infinity, which JSON lacks, give null. */
void mhcs_json_number(struct mhcs_json *json, const char *key, double value);
void mhcs_json_bool(struct mhcs_json *json, const char *key, bool value);

/* The text, owned by `json`; NULL if memory ran out. */
const char *mhcs_json_finish(struct mhcs_json *json);
void mhcs_json_free(struct mhcs_json *json);

#endif
