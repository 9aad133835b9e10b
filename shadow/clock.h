/* SPDX-License-Identifier: Apache-2.0 */
/* Nanoseconds of CLOCK_MONOTONIC or CLOCK_REALTIME; both are vDSO reads of some 20 ns. */
#ifndef MHCS_CLOCK_H
#define MHCS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define MHCS_SECOND INT64_C(1000000000)

static inline int64_t mhcs_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec * MHCS_SECOND + t.tv_nsec;
}

#endif
