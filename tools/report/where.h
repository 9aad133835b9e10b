/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the results of calls wrong values lie, and what stands there instead. Counts alone, so
 * that groups merge in any order. */
#ifndef MHCS_REPORT_WHERE_H
#define MHCS_REPORT_WHERE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/kernels.h"

/* X(NAME, what a wrong row holds); a row is of the first kind that fits. */
#define MHCS_WRONGS(X)                                                                             \
    X(NONFINITE, "NaN or Inf")                                                                     \
    X(ZERO, "zeros")                                                                               \
    X(SCALED, "the right values times a factor")                                                   \
    X(MOVED, "right values at the wrong coefficients")                                             \
    X(FEW, "wrong values beside right ones")                                                       \
    X(ADDED, "the right sums plus others of their size")                                           \
    X(UNRELATED, "values unrelated to the right ones")                                             \
    X(OTHER, "wrong values")

enum mhcs_wrong {
#define MHCS_WRONG_ENUM(name, what) MHCS_WRONG_##name,
    MHCS_WRONGS(MHCS_WRONG_ENUM)
#undef MHCS_WRONG_ENUM
        MHCS_WRONG_COUNT
};

/* Of one row. */
struct mhcs_place {
    int32_t row;
    uint32_t off; /* bit mask of the wrong coefficients; 0: the row is fine */
    enum mhcs_wrong wrong;
};
/* Of rows in calls of so many token rows. */
#define MHCS_PLACES 32
struct mhcs_places {
    int32_t tokens;
    uint32_t count, off; /* and how many are not fine */
    struct mhcs_place place[MHCS_PLACES];
};

#define MHCS_WHERE_PERIOD 32
#define MHCS_WHERE_TAILS  4  /* 16, 32, 64, 128 token rows */
#define MHCS_WHERE_TILES  64 /* of MHCS_WHERE_TILE token rows, the last one of all beyond */
#define MHCS_WHERE_TILE   16

/* All zero: empty. */
struct mhcs_where {
    uint64_t rows[MHCS_WHERE_PERIOD], off[MHCS_WHERE_PERIOD]; /* by token row modulo the period */
    uint64_t tail_rows[MHCS_WHERE_TAILS], tail_off[MHCS_WHERE_TAILS]; /* behind the last tile */
    uint64_t coefficient[MHCS_COEFFICIENTS];                          /* rows in which it is off */
    uint64_t wrong[MHCS_WRONG_COUNT];
    uint64_t tile[MHCS_WHERE_TILES]; /* rows */
    uint32_t last, first_down; /* wrong token rows: the last one; INT32_MAX less the first one */
};

void mhcs_where_add(struct mhcs_where *where, const struct mhcs_places *places);
void mhcs_where_merge(struct mhcs_where *where, const struct mhcs_where *other);
uint64_t mhcs_where_off(const struct mhcs_where *where);
enum mhcs_wrong mhcs_where_wrong(const struct mhcs_where *where); /* the most frequent kind */
const char *mhcs_wrong_name(enum mhcs_wrong wrong);

/* Token rows that all wrong ones are among, and by no accident. */
struct mhcs_pattern {
    enum {
        MHCS_ANYWHERE, /* there is none */
        MHCS_TAIL,     /* behind a call's last whole tile */
        MHCS_STRETCH,  /* from `first` to `last` */
        MHCS_PERIOD,   /* each number that is `residue` modulo `period` */
    } kind;
    int tail; /* number of the tile's size */
    uint32_t first, last;
    int period, residue;
};

struct mhcs_pattern mhcs_where_pattern(const struct mhcs_where *where);
/* How many of a group's rows lie in it (of a stretch: about), and how many of those are wrong. */
struct mhcs_share {
    double rows, off;
};
struct mhcs_share mhcs_where_share(const struct mhcs_where *where,
                                   const struct mhcs_pattern *pattern);
/* "odd token rows", "token rows 48 to 63", "the token rows behind a call's last whole tile of 16",
 * "token rows". */
void mhcs_pattern_say(FILE *out, const struct mhcs_pattern *pattern);

/* "coefficient 13 (comb[1][1])"; nothing if it may be any of them. */
void mhcs_where_say_coefficients(FILE *out, const struct mhcs_where *where);
bool mhcs_where_any_coefficient(const struct mhcs_where *where);

/* What lies in a pattern with a smaller probability than this does so for a reason. */
#define MHCS_WHERE_CHANCE 1e-3

#endif
