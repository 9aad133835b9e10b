/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in environment values. The C library's own parsers follow the locale, and bind
 * __isoc23_* where they are built on a new glibc, which an older one then can't load.
 */
#ifndef MHCS_NUMBER_H
#define MHCS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of text[0..length) must be the number. *value is untouched on failure. */

/* Decimal digits alone. */
bool mhcs_number_integer(const char *text, size_t length, uint64_t *value);

/* "1/64", "0.015625", ".5", "1.5%": a share of one; may exceed 1. */
bool mhcs_number_share(const char *text, size_t length, double *value);

#endif
