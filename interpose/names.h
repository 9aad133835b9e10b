/* SPDX-License-Identifier: Apache-2.0 */
/* What someone who mistyped a name most likely meant. */
#ifndef MHCS_NAMES_H
#define MHCS_NAMES_H

#include <stddef.h>

/* Insertions, deletions and replacements between a[0..a_length) and b; letter case counts for
 * nothing. Of longer names only the first 63 bytes are compared. */
size_t mhcs_names_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* The one of names[0..count), count > 0, that is nearest to text[0..length); the first of equals.
 */
const char *mhcs_names_nearest(const char *const *names, size_t count, const char *text,
                               size_t length);

#endif
