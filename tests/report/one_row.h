/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at one row whose coefficients don't matter. */
#ifndef MHCS_TEST_REPORT_ONE_ROW_H
#define MHCS_TEST_REPORT_ONE_ROW_H

#include <string.h>

#include "tools/report/look.h"

/* `expected`: rms rel of its path, NaN: not known. `wrong`: its first coefficient is off. */
static inline void look_at_one_row(struct mhcs_look *ret_look, double rel, double expected,
                                   bool wrong)
{
    memset(ret_look, 0, sizeof(*ret_look));
    ret_look->rows = 1;
    ret_look->places = (struct mhcs_places){.count = 1, .off = wrong, .place = {{.off = wrong}}};
    mhcs_look_sizes(ret_look, &rel, expected, &wrong);
}

#endif
