/* SPDX-License-Identifier: Apache-2.0 */
/* The coefficients of many rows at once, against one reference: what is counted of them, and their
 * errors in ulps. The rows may belong to any calls. */
#ifndef MHCS_REPORT_VIEW_H
#define MHCS_REPORT_VIEW_H

#include "shadow/path.h"
#include "tools/report/rows.h"

/* What a coefficient counts as; look.c and classify.h say why. */
enum mhcs_count {
    MHCS_COUNT_OVER_BF16, /* error above half an ulp of bf16, and above fp32 sums' */
    MHCS_COUNT_OVER_F16,
    MHCS_COUNT_ERRORS, /* not zero */
    MHCS_COUNT_INWARD, /* of these, towards zero */
    MHCS_COUNT_OFF,    /* no rounding explains the error; if something is expected */
    MHCS_COUNT_ZEROS,  /* the reference is zero */
};
enum mhcs_low_bits { MHCS_LOW_BITS_COARSE, MHCS_LOW_BITS_ON_F16, MHCS_LOW_BITS_ON_BF16 };

/* Counts of all kinds in one number: one addition adds them all, of up to MHCS_VIEW_ROWS rows. */
#define MHCS_COUNT_BITS 10
static inline uint32_t mhcs_count_of(uint64_t counts, uint32_t kind)
{
    return counts >> kind * MHCS_COUNT_BITS & ((1 << MHCS_COUNT_BITS) - 1);
}

#define MHCS_VIEW_ROWS 32
#define MHCS_VIEW_SIZE (MHCS_VIEW_ROWS * MHCS_COEFFICIENTS)
_Static_assert(MHCS_VIEW_SIZE < 1 << MHCS_COUNT_BITS, "counts don't run over");
struct mhcs_view {
    const struct mhcs_columns *columns;
    uint32_t begin, rows;  /* which of the columns' rows they are */
    uint32_t coefficients; /* of each row */
    enum mhcs_path reference;
    const struct mhcs_precision *precision; /* the declared path; NULL: unknown */
    double expected;                        /* rms rel that it predicts; NaN: not known */
    double inner;                           /* as in struct mhcs_noise, if that is known */
    double rms[MHCS_VIEW_ROWS];             /* of a row's reference */
    uint64_t counts[MHCS_VIEW_ROWS];   /* by enum mhcs_count; of any value if rel is not finite */
    uint64_t low_bits[MHCS_VIEW_ROWS]; /* by enum mhcs_low_bits; 0 unless the output is fp32 */
    /* In bf16 ulps, of the rows whose rel is finite: errors at the row's rms or above, and at the
     * coefficient's own size, if that is not zero. */
    uint32_t floored_count, own_count;
    float floored[MHCS_VIEW_SIZE], own[MHCS_VIEW_SIZE];
};

/* `rows` at most MHCS_VIEW_ROWS, of one path and one number of coefficients. `columns` and
 * `precision` must outlive the view. */
void mhcs_view_init(struct mhcs_view *view, const struct mhcs_columns *columns, uint32_t begin,
                    uint32_t rows, enum mhcs_path reference,
                    const struct mhcs_precision *precision);
/* Bit mask of the coefficients that are off, of one of the columns' rows. */
uint32_t mhcs_view_off(const struct mhcs_view *view, uint32_t row);

/* A coefficient is off if its error is more than half an ulp of the output's format and this many
 * times what else is expected, over the row's rms. Rounding of operands and partial sums follows
 * the size of a coefficient's products, which may be ten times that of its neighbours and cancel:
 * hence so many. Of rows with 24 coefficients; a head's own norm is too small too often. */
#define MHCS_OFF_RATIO 64.0

#endif
