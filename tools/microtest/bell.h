/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded random numbers: splitmix64, and bell-shaped integers as sums of its four 16-bit parts. The
 * generator of tests/vectors/README.md.
 */
#ifndef MHCS_BELL_H
#define MHCS_BELL_H

#include <stdint.h>

/* Standard deviation of bell_next(): the square root of 4 (2^32 - 1) / 12. */
#define BELL_DEVIATION 37837.227

static inline uint64_t mix64(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t random_next(uint64_t *state)
{
    return mix64(*state += 0x9e3779b97f4a7c15u);
}

/* In (0, 1). */
static inline double random_unit(uint64_t *state)
{
    return ((double)(random_next(state) >> 12) + 0.5) * 0x1p-52;
}

/* Mean 0, |result| <= 131070. */
static inline int32_t bell_next(uint64_t *state)
{
    uint64_t z = random_next(state);

    return (int32_t)((z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48)) - 131070;
}

#endif
