/* SPDX-License-Identifier: Apache-2.0 */
/* What the measuring programs share: times, medians, and the lines that tests/gpu/run reads:
 *
 *     figure NAME VALUE UNIT
 *     fact NAME TEXT
 *
 * Exit status 77: there is no GPU.
 */
#ifndef GPU_MEASURE_H
#define GPU_MEASURE_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "tests/must.h"

#define MEASURE_ROUNDS 31 /* at most */

/* A simulated GPU takes its time: $MEASURE_ROUNDS may ask for fewer. */
static inline int measure_rounds(void)
{
    const char *const given = getenv("MEASURE_ROUNDS");
    const int rounds = given ? atoi(given) : MEASURE_ROUNDS;

    return rounds < 1 ? 1 : rounds < MEASURE_ROUNDS ? rounds : MEASURE_ROUNDS;
}

/* ns */
static inline double measure_now(void)
{
    return bench_now() * 1e9;
}

/* Of measure_rounds() values, which it sorts. */
static inline double measure_median(double *values)
{
    return bench_spread(values, (size_t)measure_rounds()).median;
}

static inline void measure_figure(const char *name, double value, const char *unit)
{
    printf("figure %-36s %12.6g %s\n", name, value, unit);
    fflush(stdout);
}

#endif
