/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of a run show of their errors, against one reference: worked out once, then added
 * to every group that the rows belong to. */
#ifndef MHCS_REPORT_LOOK_H
#define MHCS_REPORT_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/report/classify.h"
#include "tools/report/exact.h"
#include "tools/report/view.h"
#include "tools/report/where.h"

/* Not to be copied: it points into itself. */
struct mhcs_look {
    uint32_t rows;      /* whose rel is finite: all below is of them alone, but for places */
    uint32_t nonfinite; /* rows: production is not finite; reference and x are */
    bool reduced;       /* the declared path allows partial sums in the output's type */
    uint32_t rank;      /* coarsest class that it predicts */
    struct mhcs_traits traits;
    float max;      /* of rel */
    uint32_t wrong; /* rows: some coefficients are off, against the operands: not due to weights */
    struct mhcs_addends squares, fourths;       /* of rel */
    struct mhcs_addends excess, excess_squares; /* q = (rel / expected)^2; empty if not known */
    struct mhcs_addends rest;  /* q of rows of 24 coefficients none of which is wrong */
    struct mhcs_places places; /* off: the coefficients that rounding does not explain */
    double square[MHCS_RUN_ROWS], fourth[MHCS_RUN_ROWS]; /* the addends' values */
    double q[MHCS_RUN_ROWS], q_square[MHCS_RUN_ROWS], q_rest[MHCS_RUN_ROWS];
};
/* The run is one of the view's. */
void mhcs_look_at(struct mhcs_look *ret_look, const struct mhcs_view *view,
                  const struct mhcs_run *run);
/* Works out all that follows from rel, expected (NaN: not known) and wrong[] of look->rows rows. */
void mhcs_look_sizes(struct mhcs_look *look, const double *rel, double expected, const bool *wrong);

#endif
