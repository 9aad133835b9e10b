/* SPDX-License-Identifier: Apache-2.0 */
/* The table of engines and their states. */
#include "shadow/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/own_cublas.h"

static struct mhcs_engine engines[MHCS_ENGINES_MAX];

const char *mhcs_mode_name(enum mhcs_mode mode)
{
    static const char *const names[] = {"kernel", "host", "copy"};

    return names[mode];
}

const char *mhcs_mode_meaning(enum mhcs_mode mode)
{
    static const char *const meanings[] = {
        [MHCS_MODE_KERNEL] = "the reference is the library's own kernel",
        [MHCS_MODE_HOST] = "the reference runs on the CPU, in fp64",
        [MHCS_MODE_COPY] = "rows are copied and the reference runs on the CPU, in fp64",
    };

    return meanings[mode];
}

uint64_t mhcs_engine_key(const struct mhcs_driver *driver, CUcontext context)
{
    unsigned long long id;

    if (!driver->cuCtxGetId) {
        return (uint64_t)(uintptr_t)context;
    }
    if (driver->cuCtxGetId(context, &id) != CUDA_SUCCESS) {
        return 0;
    }
    return id + 1;
}

struct mhcs_engine *mhcs_engine_find(uint64_t key, bool *ret_claimed)
{
    assert(key != 0);
    *ret_claimed = false;
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        uint_fast64_t found = atomic_load_explicit(&engines[i].key, memory_order_acquire);

        if (found == 0 && atomic_compare_exchange_strong(&engines[i].key, &found, key)) {
            *ret_claimed = true;
            return &engines[i];
        }
        if (found == key) {
            return &engines[i];
        }
    }
    return NULL;
}

struct mhcs_engine *mhcs_engine_at(uint32_t i)
{
    return atomic_load_explicit(&engines[i].key, memory_order_acquire) ? &engines[i] : NULL;
}

void mhcs_engine_disarm(struct mhcs_engine *engine, const char *what, CUresult result)
{
    int expected = MHCS_ENGINE_ARMED;

    if (!atomic_compare_exchange_strong(&engine->state, &expected, MHCS_ENGINE_DISARMING)) {
        return;
    }
    engine->disarm_what = what;
    engine->disarm_result = result;
    atomic_store_explicit(&engine->state, MHCS_ENGINE_DISARMED, memory_order_release);
}

void mhcs_engines_forget(void)
{
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        free(engines[i].slots);
        mhcs_own_cublas_forget(&engines[i]);
    }
    memset(engines, 0, sizeof(engines));
}
