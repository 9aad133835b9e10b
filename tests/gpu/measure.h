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
#include <time.h>

#define MEASURE_ROUNDS 31 /* at most */

/* There is nothing to recover: what fails ends the program with a line that names the call. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        const int must_result = (int)(call);                                                       \
                                                                                                   \
        if (must_result != 0) {                                                                    \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, must_result);            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

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
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int measure_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of measure_rounds() values, which it sorts. */
static inline double measure_median(double *values)
{
    const size_t count = (size_t)measure_rounds();

    qsort(values, count, sizeof(*values), measure_ascending);
    return values[count / 2];
}

static inline void measure_figure(const char *name, double value, const char *unit)
{
    printf("figure %-36s %12.6g %s\n", name, value, unit);
    fflush(stdout);
}

#endif
