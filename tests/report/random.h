/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of the report's tests, from a seed that is printed: MHCSHADOW_TEST_SEED or 1. */
#ifndef MHCS_TEST_REPORT_RANDOM_H
#define MHCS_TEST_REPORT_RANDOM_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/kernels.h"

static inline uint64_t test_seed(const char *test)
{
    const char *text = getenv("MHCSHADOW_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 10) : 1;

    printf("%s: MHCSHADOW_TEST_SEED=%llu\n", test, (unsigned long long)seed);
    return seed;
}

static inline uint64_t next_bits(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return mhcs_mix64(*state);
}

/* In (0, 1). */
static inline double uniform(uint64_t *state)
{
    return ((double)(next_bits(state) >> 11) + 0.5) * 0x1p-53;
}

static inline double gaussian(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));

    return radius * cos(6.283185307179586 * uniform(state));
}

/* Below n. */
static inline size_t pick(uint64_t *state, size_t n)
{
    return (size_t)(next_bits(state) % n);
}

/* A random order of 0 .. n-1. */
static inline void shuffle(uint64_t *state, size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t j = pick(state, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}

#endif
