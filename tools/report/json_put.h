/* SPDX-License-Identifier: Apache-2.0 */
/* Building a cJSON tree: where memory runs out it is remembered, and the rest goes nowhere. */
#ifndef MHCS_REPORT_JSON_PUT_H
#define MHCS_REPORT_JSON_PUT_H

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* `to` is an object, or an array where `key` is NULL; it takes the item over. */
static inline cJSON *mhcs_put(bool *failed, cJSON *to, const char *key, cJSON *item)
{
    const bool added =
        item && to && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item));

    if (added)
        return item;
    *failed = true;
    cJSON_Delete(item);
    return NULL;
}

static inline cJSON *mhcs_put_object(bool *failed, cJSON *to, const char *key)
{
    return mhcs_put(failed, to, key, cJSON_CreateObject());
}

static inline cJSON *mhcs_put_array(bool *failed, cJSON *to, const char *key)
{
    return mhcs_put(failed, to, key, cJSON_CreateArray());
}

/* NaN and infinity, which JSON lacks, become null. */
static inline void mhcs_put_number(bool *failed, cJSON *to, const char *key, double value)
{
    mhcs_put(failed, to, key, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

/* Exact below 2^53. */
static inline void mhcs_put_count(bool *failed, cJSON *to, const char *key, uint64_t value)
{
    mhcs_put(failed, to, key, cJSON_CreateNumber((double)value));
}

static inline void mhcs_put_bool(bool *failed, cJSON *to, const char *key, bool value)
{
    mhcs_put(failed, to, key, cJSON_CreateBool(value));
}

/* NULL becomes null. */
static inline void mhcs_put_text(bool *failed, cJSON *to, const char *key, const char *text)
{
    mhcs_put(failed, to, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

#endif
