/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/names.h"

#include <stdint.h>
#include <string.h>

#define NAME_MAX_BYTES 63

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

size_t mhcs_names_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[NAME_MAX_BYTES + 1]; /* distances of a's prefix so far to each prefix of b */

    a_length = least(a_length, NAME_MAX_BYTES);
    b_length = least(b_length, NAME_MAX_BYTES);
    for (size_t j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (size_t i = 0; i < a_length; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            const size_t replaced = diagonal + (lower(a[i]) != lower(b[j]));

            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[b_length];
}

const char *mhcs_names_nearest(const char *const *names, size_t count, const char *text,
                               size_t length)
{
    const char *nearest = names[0];
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        /* A name cut short is one slip, whatever its length. */
        const size_t distance = strncmp(names[i], text, length) == 0
                                    ? strlen(names[i]) != length
                                    : mhcs_names_distance(names[i], strlen(names[i]), text, length);

        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
