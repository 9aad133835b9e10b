/* SPDX-License-Identifier: Apache-2.0 */
/* Token rows that are no tokens. A decode graph has a fixed number of rows, and those that no
 * request fills hold zeros, or the same stale values over and over. */
#ifndef MHCS_PADDING_H
#define MHCS_PADDING_H

#include <stdbool.h>

#include "kernels/kernels.h"

/* Whether x of the row is zero, or that of an earlier row of its sample again, bit for bit: told by
 * what the comparator made of it. 24 coefficients, y and the size of x are functions of x that do
 * not agree by chance; and a row whose x was seen before but whose result in production was not is
 * worth looking at. */
bool mhcs_is_padding(const struct mhcs_row_result *results, uint32_t row);

#endif
