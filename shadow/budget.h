/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the time spent on application threads below a share of wall time, without a lock.
 *
 * Time spent is paid off at `share` of the clock's pace: c ns of work are paid after c / share ns.
 * What is not yet paid may reach MHCS_BUDGET_AHEAD ahead: a burst, or a run of seconds, is not cut
 * short before it has cost share * 10 s (50 ms by default), and idle hours do not save up for a
 * flood.
 */
#ifndef MHCS_BUDGET_H
#define MHCS_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shadow/clock.h"

#define MHCS_BUDGET_AHEAD (10 * MHCS_SECOND)

struct mhcs_budget {                /* zero-initialise; any thread reads and writes, relaxed */
    atomic_int_fast64_t paid_until; /* CLOCK_MONOTONIC ns */
    atomic_int_fast64_t spent;      /* ns in all */
};

/* `share` 0: no limit. */
bool mhcs_budget_allows(const struct mhcs_budget *budget, double share, int64_t now);
void mhcs_budget_spend(struct mhcs_budget *budget, double share, int64_t now, int64_t cost);

#endif
