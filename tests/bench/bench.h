/* SPDX-License-Identifier: Apache-2.0 */
/* What benchmarks have in common: the clock, the spread of many rounds, and comparing a program
 * under the preloaded library with itself alone.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>

double bench_now(void); /* seconds; only differences mean anything */

struct bench_spread {
    double low, median, high; /* quartiles */
};
struct bench_spread bench_spread(double *values, size_t count); /* sorts them */

/* A row of the table. */
struct bench_mode {
    const char *name;
    bool alone;            /* not preloaded either: the ratio shows the noise */
    long parameter;        /* the program's own */
    const char *set[2][2]; /* environment: names and values; MHCSHADOW_DIR is set for all */
};

struct bench {
    const char *unit;    /* "ns per call" */
    const char *counted; /* what prepare() returns; NULL: it isn't shown */
    int decimals;
    const struct bench_mode *modes;
    size_t count;
    /* In the process that is measured. The first may be NULL. */
    unsigned (*prepare)(const struct bench_mode *mode);
    double (*round)(const struct bench_mode *mode); /* in the unit */
};

/* `PROGRAM LIBRARY.SO`: for each mode starts the program twice, alone and under the library. The
 * two take rounds by turns, so that a ratio compares like with like on a busy machine. Prints the
 * medians of the rounds, of the differences and of the ratios of each two, these with quartiles. */
int bench_main(int argc, char **argv, const struct bench *bench);

#endif
