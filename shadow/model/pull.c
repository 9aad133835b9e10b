/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor over JSON text. */
#include "shadow/model/pull.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/trace/utf8.h"

#define NUMBER_BYTES 64 /* no number of a checkpoint is longer */

static bool fail(struct mhcs_pull *pull, const char *error)
{
    if (!pull->error) {
        pull->error = error;
        pull->error_at = (size_t)(pull->at - pull->text);
        pull->at = pull->end;
    }
    return false;
}

static char peek(struct mhcs_pull *pull)
{
    while (pull->at < pull->end &&
           (*pull->at == ' ' || *pull->at == '\t' || *pull->at == '\n' || *pull->at == '\r'))
        pull->at++;
    return pull->at < pull->end ? *pull->at : '\0';
}

static bool take(struct mhcs_pull *pull, char c, const char *error)
{
    if (peek(pull) != c || pull->at == pull->end)
        return fail(pull, error);
    pull->at++;
    return true;
}

void mhcs_pull_begin(struct mhcs_pull *pull, const char *text, size_t size)
{
    *pull = (struct mhcs_pull){.text = text, .at = text, .end = text + size};
}

char mhcs_pull_kind(struct mhcs_pull *pull)
{
    const char c = peek(pull);

    return c == '-' || (c >= '0' && c <= '9') ? '0' : c;
}

static bool enter(struct mhcs_pull *pull, char open, const char *error)
{
    if (!take(pull, open, error))
        return false;
    if (pull->depth == MHCS_PULL_DEPTH)
        return fail(pull, "too many levels");
    pull->first[++pull->depth] = true;
    return true;
}

bool mhcs_pull_object(struct mhcs_pull *pull)
{
    return enter(pull, '{', "an object is expected");
}

bool mhcs_pull_array(struct mhcs_pull *pull)
{
    return enter(pull, '[', "an array is expected");
}

/* True: a member follows. */
static bool next(struct mhcs_pull *pull, char close)
{
    const bool first = pull->first[pull->depth];

    if (pull->error)
        return false;
    if (peek(pull) == close) {
        pull->at++;
        pull->depth--;
        return false;
    }
    pull->first[pull->depth] = false;
    return first || take(pull, ',', "a comma or the end of the object or array is expected");
}

bool mhcs_pull_key(struct mhcs_pull *pull, char *key, size_t size)
{
    return next(pull, '}') && mhcs_pull_string(pull, key, size) &&
           take(pull, ':', "a colon is expected");
}

bool mhcs_pull_item(struct mhcs_pull *pull)
{
    return next(pull, ']');
}

/* ---- strings ---- */

static bool hex4(struct mhcs_pull *pull, uint32_t *ret_value)
{
    uint32_t value = 0;

    if (pull->end - pull->at < 4)
        return fail(pull, "a string is cut short");
    for (int i = 0; i < 4; i++) {
        const char c = *pull->at;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;

        if (digit < 0)
            return fail(pull, "\\u needs four hexadecimal digits");
        value = value << 4 | (uint32_t)digit;
        pull->at++;
    }
    *ret_value = value;
    return true;
}

static size_t encode_utf8(uint32_t c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Behind "\u". 0: an error. */
static size_t unicode_escape(struct mhcs_pull *pull, char *to)
{
    uint32_t c, low;

    if (!hex4(pull, &c))
        return 0;
    if (c >= 0xd800 && c < 0xdc00 && pull->end - pull->at >= 6 && pull->at[0] == '\\' &&
        pull->at[1] == 'u') {
        pull->at += 2;
        if (!hex4(pull, &low))
            return 0;
        if (low >= 0xdc00 && low < 0xe000)
            return encode_utf8(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), to);
    }
    if (c == 0 || (c >= 0xd800 && c < 0xe000)) {
        fail(pull, "a string holds a NUL or half a surrogate pair");
        return 0;
    }
    return encode_utf8(c, to);
}

/* The next character of a string to `to`; its length, 0: an error. */
static size_t character(struct mhcs_pull *pull, char *to)
{
    static const char escapes[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *escape;
    size_t length;

    if ((unsigned char)*pull->at < 0x20) {
        fail(pull, "a string holds a control character");
        return 0;
    }
    if (*pull->at != '\\') {
        length = mhcs_utf8_sequence((const uint8_t *)pull->at, (size_t)(pull->end - pull->at));
        if (length == 0)
            fail(pull, "a string is not UTF-8");
        memcpy(to, pull->at, length);
        pull->at += length;
        return length;
    }
    pull->at++;
    if (pull->at == pull->end) {
        fail(pull, "a string is cut short");
        return 0;
    }
    if (*pull->at == 'u') {
        pull->at++;
        return unicode_escape(pull, to);
    }
    escape = memchr(escapes, *pull->at, sizeof(escapes) - 1);
    if (!escape) {
        fail(pull, "an unknown escape");
        return 0;
    }
    pull->at++;
    *to = values[escape - escapes];
    return 1;
}

/* text NULL: not kept. */
static bool string(struct mhcs_pull *pull, char *text, size_t size)
{
    size_t used = 0;
    char bytes[4];

    if (!take(pull, '"', "a string is expected"))
        return false;
    while (pull->at < pull->end && *pull->at != '"') {
        const size_t length = character(pull, bytes);

        if (length == 0)
            return false;
        if (text && used + length >= size)
            return fail(pull, "a string is too long");
        if (text)
            memcpy(text + used, bytes, length);
        used += length;
    }
    if (pull->at == pull->end)
        return fail(pull, "a string is cut short");
    pull->at++;
    if (text)
        text[used] = '\0';
    return true;
}

bool mhcs_pull_string(struct mhcs_pull *pull, char *text, size_t size)
{
    return string(pull, text, size);
}

/* ---- numbers ---- */

static bool is_digit(const struct mhcs_pull *pull)
{
    return pull->at < pull->end && *pull->at >= '0' && *pull->at <= '9';
}

static bool digits(struct mhcs_pull *pull)
{
    if (!is_digit(pull))
        return fail(pull, "a digit is expected");
    while (is_digit(pull))
        pull->at++;
    return true;
}

static bool is_at(const struct mhcs_pull *pull, const char *set)
{
    return pull->at < pull->end && *pull->at && strchr(set, *pull->at);
}

/* Its text, which is all that JSON allows; NULL: an error. */
static const char *scan_number(struct mhcs_pull *pull, size_t *ret_length)
{
    const char *begin;

    if (mhcs_pull_kind(pull) != '0') {
        fail(pull, "a number is expected");
        return NULL;
    }
    begin = pull->at;
    if (*pull->at == '-')
        pull->at++;
    if (is_at(pull, "0"))
        pull->at++;
    else if (!digits(pull))
        return NULL;
    if (is_at(pull, ".")) {
        pull->at++;
        if (!digits(pull))
            return NULL;
    }
    if (is_at(pull, "eE")) {
        pull->at++;
        if (is_at(pull, "+-"))
            pull->at++;
        if (!digits(pull))
            return NULL;
    }
    *ret_length = (size_t)(pull->at - begin);
    return begin;
}

bool mhcs_pull_count(struct mhcs_pull *pull, uint64_t *ret_count)
{
    size_t length;
    const char *text = scan_number(pull, &length);
    int64_t count = 0;

    if (!text)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(count, 10, &count) ||
            __builtin_add_overflow(count, text[i] - '0', &count)) {
            pull->at = text;
            return fail(pull, "a whole number from 0 to 2^63 - 1 is expected");
        }
    }
    *ret_count = (uint64_t)count;
    return true;
}

bool mhcs_pull_number(struct mhcs_pull *pull, double *ret_number)
{
    /* Whatever locale the application runs in; glibc hands out its constant "C" here. */
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char copy[NUMBER_BYTES];
    size_t length;
    const char *text = scan_number(pull, &length);

    if (text && length >= sizeof(copy)) {
        pull->at = text;
        fail(pull, "a number is too long");
    } else if (text) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        *ret_number = strtod_l(copy, NULL, c_locale);
    }
    freelocale(c_locale);
    return !pull->error;
}

/* ---- the rest ---- */

static void word(struct mhcs_pull *pull, const char *text)
{
    const size_t length = strlen(text);

    if ((size_t)(pull->end - pull->at) < length || memcmp(pull->at, text, length) != 0)
        fail(pull, "a value is expected");
    else
        pull->at += length;
}

static void skip_scalar(struct mhcs_pull *pull)
{
    size_t length;

    switch (mhcs_pull_kind(pull)) {
    case '"':
        string(pull, NULL, 0);
        break;
    case '0':
        scan_number(pull, &length);
        break;
    case 't':
        word(pull, "true");
        break;
    case 'f':
        word(pull, "false");
        break;
    case 'n':
        word(pull, "null");
        break;
    default:
        fail(pull, "a value is expected");
    }
}

/* Without recursion: the library's thread has a small stack. */
void mhcs_pull_skip(struct mhcs_pull *pull)
{
    const uint32_t outside = pull->depth;
    bool in_object[MHCS_PULL_DEPTH + 1];

    do {
        bool more = true;

        if (pull->depth > outside) {
            const bool is_object = in_object[pull->depth];

            more =
                next(pull, is_object ? '}' : ']') &&
                (!is_object || (string(pull, NULL, 0) && take(pull, ':', "a colon is expected")));
        }
        if (!more)
            continue;
        if (mhcs_pull_kind(pull) == '{') {
            if (mhcs_pull_object(pull))
                in_object[pull->depth] = true;
        } else if (mhcs_pull_kind(pull) == '[') {
            if (mhcs_pull_array(pull))
                in_object[pull->depth] = false;
        } else {
            skip_scalar(pull);
        }
    } while (pull->depth > outside && !pull->error);
}

bool mhcs_pull_end(struct mhcs_pull *pull)
{
    if (!pull->error && (peek(pull) != '\0' || pull->at < pull->end))
        fail(pull, "something follows the end");
    return !pull->error;
}
