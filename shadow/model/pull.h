/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON text value by value, without a tree and without allocation.
 *
 * Why not a packaged parser: this runs inside the preload library, which may bring no shared
 * library along, and of the static ones Debian and Ubuntu have none for cJSON, and one for jansson
 * that is not position-independent. A sharded checkpoint's index lists some 70,000 tensors of which
 * 300 are wanted, so a tree would be mostly waste.
 *
 * Strict (RFC 8259): no trailing commas, comments, leading zeros, control characters in strings,
 * bytes that are not UTF-8, or lone surrogates; at most MHCS_PULL_DEPTH levels. The first error is
 * kept with its place, and from then on every call answers as at the end.
 */
#ifndef MHCS_PULL_H
#define MHCS_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MHCS_PULL_DEPTH 32

struct mhcs_pull {
    const char *text, *at, *end;
    const char *error; /* NULL: none so far; else a string constant */
    size_t error_at;   /* byte */
    uint32_t depth;
    bool first[MHCS_PULL_DEPTH + 1]; /* no member of this level was read yet */
};

void mhcs_pull_begin(struct mhcs_pull *pull, const char *text, size_t size);

/* '{', '[', '"', '0' for any number, 't', 'f', 'n'; 0 at an error or the end. */
char mhcs_pull_kind(struct mhcs_pull *pull);

/* Enters an object or array; false (an error) if the next value is none. */
bool mhcs_pull_object(struct mhcs_pull *pull);
bool mhcs_pull_array(struct mhcs_pull *pull);

/* The next member's key, its value to be read next; false behind the last one, which leaves the
 * object. */
bool mhcs_pull_key(struct mhcs_pull *pull, char *key, size_t size);
/* Another value follows in the array; false behind the last one, which leaves it. */
bool mhcs_pull_item(struct mhcs_pull *pull);

/* A string that does not fit is an error where `size` says so, and so is a NUL in it. */
bool mhcs_pull_string(struct mhcs_pull *pull, char *text, size_t size);
/* A whole number from 0 to 2^63 - 1, written without sign, fraction and exponent. */
bool mhcs_pull_count(struct mhcs_pull *pull, uint64_t *ret_count);
bool mhcs_pull_number(struct mhcs_pull *pull, double *ret_number);
void mhcs_pull_skip(struct mhcs_pull *pull);

/* Nothing but white space follows. False also after an error. */
bool mhcs_pull_end(struct mhcs_pull *pull);

#endif
