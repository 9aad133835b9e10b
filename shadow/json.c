/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer. */
#include "shadow/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct mhcs_json *json, const char *bytes, size_t n)
{
    if (json->failed) {
        return;
    }
    if (json->length + n + 1 > json->capacity) {
        const size_t capacity = 2 * (json->capacity + n + 128);
        char *const text = realloc(json->text, capacity);

        if (!text) {
            json->failed = true;
            return;
        }
        json->text = text;
        json->capacity = capacity;
    }
    memcpy(json->text + json->length, bytes, n);
    json->length += n;
    json->text[json->length] = '\0';
}

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none (RFC 3629: no overlong forms,
 * no surrogates, nothing above U+10FFFF). */
static size_t utf8_length(const unsigned char *s)
{
    unsigned char low = 0x80, high = 0xBF;
    size_t n;

    if (s[0] < 0x80) {
        return 1;
    } else if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        n = 2;
    } else if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        n = 3;
        low = s[0] == 0xE0 ? 0xA0 : low;
        high = s[0] == 0xED ? 0x9F : high;
    } else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        n = 4;
        low = s[0] == 0xF0 ? 0x90 : low;
        high = s[0] == 0xF4 ? 0x8F : high;
    } else {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if (s[i] < low || s[i] > high) { /* also stops at the NUL */
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return n;
}

static void put_quoted(struct mhcs_json *json, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;

    put(json, "\"", 1);
    while (*s) {
        const size_t n = utf8_length(s);

        if (n == 0) {
            put(json, "\xEF\xBF\xBD", 3);
            s++;
        } else if (*s < ' ' || *s == '"' || *s == '\\' || *s == 0x7F) {
            char escape[8];

            put(json, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", *s));
            s++;
        } else {
            put(json, (const char *)s, n);
            s += n;
        }
    }
    put(json, "\"", 1);
}

static void start_value(struct mhcs_json *json, const char *key)
{
    if (json->comma) {
        put(json, ",", 1);
    }
    if (key) {
        put_quoted(json, key);
        put(json, ":", 1);
    }
    json->comma = true;
}

void mhcs_json_begin_object(struct mhcs_json *json, const char *key)
{
    start_value(json, key);
    put(json, "{", 1);
    json->comma = false;
}

void mhcs_json_end_object(struct mhcs_json *json)
{
    put(json, "}", 1);
    json->comma = true;
}

void mhcs_json_begin_array(struct mhcs_json *json, const char *key)
{
    start_value(json, key);
    put(json, "[", 1);
    json->comma = false;
}

void mhcs_json_end_array(struct mhcs_json *json)
{
    put(json, "]", 1);
    json->comma = true;
}

void mhcs_json_string(struct mhcs_json *json, const char *key, const char *value)
{
    start_value(json, key);
    if (value) {
        put_quoted(json, value);
    } else {
        put(json, "null", 4);
    }
}

void mhcs_json_int(struct mhcs_json *json, const char *key, int64_t value)
{
    char text[32];

    start_value(json, key);
    put(json, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, value));
}

void mhcs_json_number(struct mhcs_json *json, const char *key, double value)
{
    char text[64];
    size_t n = 0;
    bool point = false;

    start_value(json, key);
    if (!isfinite(value)) {
        put(json, "null", 4);
        return;
    }
    snprintf(text, sizeof(text), "%.9g", value);
    /* The application may have set a locale whose decimal point is a comma, or several bytes. */
    for (const char *s = text; *s; s++) {
        if (strchr("0123456789+-e", *s)) {
            text[n++] = *s;
        } else if (!point) {
            text[n++] = '.';
            point = true;
        }
    }
    put(json, text, n);
}

void mhcs_json_bool(struct mhcs_json *json, const char *key, bool value)
{
    start_value(json, key);
    put(json, value ? "true" : "false", value ? 4 : 5);
}

const char *mhcs_json_finish(struct mhcs_json *json)
{
    return json->failed ? NULL : json->text;
}

void mhcs_json_free(struct mhcs_json *json)
{
    free(json->text);
    *json = (struct mhcs_json){0};
}
