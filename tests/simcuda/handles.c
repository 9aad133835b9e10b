/* SPDX-License-Identifier: Apache-2.0 */
/* Which handles are live objects, so that a stale or foreign one is an error and not a crash. */
#include "engine.h"

bool sim_handle_add(enum sim_kind kind, const void *object)
{
    return sim_table_put(&sim.handles[kind], (uintptr_t)object, (void *)(uintptr_t)object);
}

bool sim_handle_is(enum sim_kind kind, const void *object)
{
    return sim_table_get(&sim.handles[kind], (uintptr_t)object) != NULL;
}

void sim_handle_remove(enum sim_kind kind, const void *object)
{
    sim_table_remove(&sim.handles[kind], (uintptr_t)object);
}
