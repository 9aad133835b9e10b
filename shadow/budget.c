/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's time budget. */
#include "shadow/budget.h"

bool mhcs_budget_allows(const struct mhcs_budget *budget, double share, int64_t now)
{
    return share <= 0 || atomic_load_explicit(&budget->paid_until, memory_order_relaxed) <=
                             now + MHCS_BUDGET_AHEAD;
}

void mhcs_budget_spend(struct mhcs_budget *budget, double share, int64_t now, int64_t cost)
{
    int_fast64_t old = atomic_load_explicit(&budget->paid_until, memory_order_relaxed);
    int_fast64_t paid;

    atomic_fetch_add_explicit(&budget->spent, cost, memory_order_relaxed);
    if (share <= 0) {
        return;
    }
    do {
        paid = (old > now ? old : now) + (int64_t)((double)cost / share);
    } while (!atomic_compare_exchange_weak_explicit(&budget->paid_until, &old, paid,
                                                    memory_order_relaxed, memory_order_relaxed));
}
