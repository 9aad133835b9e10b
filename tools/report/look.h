/* SPDX-License-Identifier: Apache-2.0 */
/* What one row shows of its error, against one reference: worked out once, then added to every
 * group that the row belongs to. */
#ifndef MHCS_REPORT_LOOK_H
#define MHCS_REPORT_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/path.h"
#include "shadow/trace/trace.h"
#include "tools/report/classify.h"
#include "tools/report/where.h"

struct mhcs_look {
    bool defined;    /* rel is finite; else nothing below but nonfinite and place is set */
    bool nonfinite;  /* production is not finite; reference and x are */
    double expected; /* rms rel that the declared path predicts; NaN: not known */
    bool reduced;    /* it allows partial sums in the output's type */
    double rel;
    double excess; /* q = (rel / expected)^2 */
    uint32_t rank; /* coarsest class that the path predicts */
    struct mhcs_traits traits;
    struct mhcs_place place; /* off: the coefficients that rounding does not explain */
    bool wrong;              /* some are, against the operands: arithmetic, not weights */
};

/* `precision`: the declared path, NULL: unknown. */
void mhcs_look_at(struct mhcs_look *ret_look, const struct mhcs_record *record,
                  enum mhcs_path reference, const struct mhcs_precision *precision);

/* A coefficient is off if its error is more than half an ulp of the output's format and this many
 * times what else is expected, over the row's rms. Rounding of operands and partial sums follows
 * the size of a coefficient's products, which may be ten times that of its neighbours and cancel:
 * hence so many. Of rows with 24 coefficients; a head's own norm is too small too often. */
#define MHCS_OFF_RATIO 64.0

#endif
