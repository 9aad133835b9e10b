/* SPDX-License-Identifier: Apache-2.0 */
/* The table of engines and their states. */
#include "shadow/engine.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shadow/own_cublas.h"

static struct mhcs_engine engines[MHCS_ENGINES_MAX];
static atomic_bool claiming; /* a thread is taking an entry */

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
    CUdevice device;

    if (!driver->cuCtxGetId) {
        return driver->cuCtxGetDevice(&device) == CUDA_SUCCESS ? (uint64_t)(uintptr_t)context : 0;
    }
    if (driver->cuCtxGetId(NULL, &id) != CUDA_SUCCESS) {
        return 0;
    }
    return id + 1;
}

/* The second look at the key follows the hold, and retirement clears the key before it looks for
 * holds: one of the two sees the other. */
struct mhcs_engine *mhcs_engine_hold(uint64_t key)
{
    assert(key != 0);
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        struct mhcs_engine *const engine = &engines[i];

        if (atomic_load(&engine->key) == key) {
            atomic_fetch_add(&engine->held, 1);
            if (atomic_load(&engine->key) == key) {
                return engine;
            }
            mhcs_engine_let_go(engine);
        }
    }
    return NULL;
}

struct mhcs_engine *mhcs_engine_hold_at(uint32_t i)
{
    const uint64_t key = atomic_load(&engines[i].key);

    return key != 0 ? mhcs_engine_hold(key) : NULL;
}

void mhcs_engine_let_go(struct mhcs_engine *engine)
{
    atomic_fetch_sub(&engine->held, 1);
}

static struct mhcs_engine *free_entry(void)
{
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        if (mhcs_engine_state(&engines[i]) == MHCS_ENGINE_FREE) {
            return &engines[i];
        }
    }
    return NULL;
}

int mhcs_engine_claim(uint64_t key, struct mhcs_engine **ret_engine)
{
    struct mhcs_engine *engine;
    int error = -EAGAIN;

    if (atomic_exchange(&claiming, true)) {
        return error;
    }
    engine = mhcs_engine_hold(key);
    if (engine) { /* claimed since the caller looked */
        mhcs_engine_let_go(engine);
        goto out;
    }
    engine = free_entry();
    error = engine ? 0 : -ENOSPC;
    if (engine) {
        atomic_fetch_add(&engine->held, 1);
        atomic_store(&engine->state, MHCS_ENGINE_ARMING);
        atomic_store(&engine->key, key);
        *ret_engine = engine;
    }
out:
    atomic_store(&claiming, false);
    return error;
}

struct mhcs_engine *mhcs_engine_at(uint32_t i)
{
    return mhcs_engine_state(&engines[i]) == MHCS_ENGINE_FREE ? NULL : &engines[i];
}

bool mhcs_engine_retire(struct mhcs_engine *engine)
{
    const size_t start = offsetof(struct mhcs_engine, held) + sizeof(engine->held);

    atomic_store(&engine->key, 0);
    if (atomic_load(&engine->held) != 0) {
        return false;
    }
    if (engine->pinned) {
        munmap(engine->pinned, engine->pinned_bytes);
    }
    free(engine->slots);
    mhcs_own_cublas_forget(engine);
    memset((char *)engine + start, 0, sizeof(*engine) - start); /* who looks it up still counts */
    atomic_store_explicit(&engine->state, MHCS_ENGINE_FREE, memory_order_release);
    return true;
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
    memset(engines, 0, sizeof(engines));
    atomic_store(&claiming, false);
}
