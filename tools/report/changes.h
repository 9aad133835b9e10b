/* SPDX-License-Identifier: Apache-2.0 */
/* Printing of a comparison: one table for each reference, largest changes first, then what they
 * come to. */
#ifndef MHCS_REPORT_CHANGES_H
#define MHCS_REPORT_CHANGES_H

#include "tools/report/compare.h"
#include "tools/report/input.h"

/* On stdout; `all`: also sites and sizes of call that did not change. MHCS_EXIT_OVER if errors
 * grew, MHCS_EXIT_DAMAGED if nothing could be tested or memory ran out (said on stderr), else
 * MHCS_EXIT_FINE. */
enum mhcs_exit mhcs_changes_print(const struct mhcs_comparison *comparison, bool all);

#endif
