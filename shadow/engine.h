/* SPDX-License-Identifier: Apache-2.0 */
/* One engine per CUDA context: the module, a stream of least priority, an arena cut into slots.
 *
 * Engines live in a fixed table. An application thread finds its engine by the current context; the
 * first one to come arms it, others meanwhile drop their samples. When the context is gone the
 * drain thread gives back what is left of the engine, and its entry serves another context: whoever
 * uses an engine must hold it, and who comes back to it later asks for it by its key.
 */
#ifndef MHCS_ENGINE_H
#define MHCS_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shadow/driver.h"
#include "shadow/shadow.h"
#include "shadow/slot.h"

#define MHCS_ENGINES_MAX 32

struct mhcs_model_site;
struct mhcs_own_cublas;

enum mhcs_engine_state {
    MHCS_ENGINE_FREE,
    MHCS_ENGINE_ARMING, /* from the moment the entry is claimed */
    MHCS_ENGINE_ARMED,
    MHCS_ENGINE_DISARMING, /* one thread is writing down why */
    MHCS_ENGINE_DISARMED,  /* until its context is gone */
};

enum mhcs_mode {
    MHCS_MODE_KERNEL, /* snapshot, reference and comparator on the device */
    MHCS_MODE_HOST,   /* the snapshot kernel writes to pinned memory, the drain thread computes */
    MHCS_MODE_COPY,   /* stream-ordered copies in place of the snapshot kernel */
};
const char *mhcs_mode_name(enum mhcs_mode mode);
/* Where the reference comes from then, in words. */
const char *mhcs_mode_meaning(enum mhcs_mode mode);

/* A step down from what was asked for. */
struct mhcs_fallback {
    enum mhcs_mode mode;
    char why[160];
};
#define MHCS_FALLBACKS_MAX 3

struct mhcs_engine {
    atomic_uint_fast64_t
        key;          /* of the context; 0: it is nobody's any more. seq_cst, as is `held` */
    atomic_int state; /* enum mhcs_engine_state; ARMED is stored with release */
    atomic_uint held; /* any thread, while it uses what follows. */

    /* Written by the arming thread, constant once `state` is ARMED. */
    const struct mhcs_driver *driver;
    CUcontext context;
    int device, sm_count;
    enum mhcs_mode mode;
    struct mhcs_fallback fallbacks[MHCS_FALLBACKS_MAX];
    uint32_t fallback_count;
    CUmodule module;
    CUfunction snapshot, reference, compare, fingerprint, widen;
    CUstream spare;
    CUdeviceptr arena;
    char *pinned; /* host memory of ours, registered with the driver */
    uint64_t pinned_bytes;
    char *staging; /* pinned; inputs of one slot, for the fp64 check in MHCS_MODE_KERNEL */
    /* One weight matrix of the checkpoint: pinned, and in the arena. With MHCSHADOW_MODEL in
     * MHCS_MODE_KERNEL; else NULL and 0. */
    char *weights;
    CUdeviceptr weights_address;
    uint64_t weights_bytes;
    CUdeviceptr scratch; /* in the arena, with MHCSHADOW_REFERENCE=cublas; else 0 (own_cublas.h) */
    uint64_t chunk_bytes;
    uint64_t largest;        /* bytes of the largest call that is taken */
    struct mhcs_slot *slots; /* [MHCS_CHUNKS], by first chunk */

    struct mhcs_slot_pool pool;
    atomic_uint_fast64_t posted; /* bit i: slot i waits for the drain thread. Application threads
                                    set, the drain thread takes; seq_cst, see sleep_until() */

    /* Written by the thread in MHCS_ENGINE_DISARMING, constant once DISARMED. */
    const char *disarm_what;
    CUresult disarm_result;

    /* The drain thread's alone. */
    struct {
        uint8_t queue[MHCS_CHUNKS]; /* slots in flight, oldest first */
        uint32_t queued;
        uint64_t checks; /* samples since the start, to choose those that are checked */
        int staged;      /* slot whose inputs are copied to `staging`; -1: none */
        int uploading;   /* slot whose comparator reads `weights`; -1: none */
        const struct mhcs_model_site *uploaded; /* whose weights are there */
        struct mhcs_own_cublas *own_cublas;     /* list */
        bool greeted, parted;
        bool gone; /* the context is no more */
    } drain;
};

/* Chunks that hold so many bytes. */
static inline uint32_t mhcs_engine_chunks(const struct mhcs_engine *engine, uint64_t bytes)
{
    return (uint32_t)((bytes + engine->chunk_bytes - 1) / engine->chunk_bytes);
}

/* What identifies `context`, which is current: a new one may get the address of one destroyed. 0:
 * it is destroyed. */
uint64_t mhcs_engine_key(const struct mhcs_driver *driver, CUcontext context);

/* The engine of `key`, held. NULL: there is none, or none any more. Any thread; never waits. */
struct mhcs_engine *mhcs_engine_hold(uint64_t key);

/* The engine of entry i, held. NULL: it is nobody's. */
struct mhcs_engine *mhcs_engine_hold_at(uint32_t i);

/* A free entry for `key`, which had none, held and in state ARMING. -EAGAIN: another thread is just
 * claiming one; -ENOSPC: the table is full. */
int mhcs_engine_claim(uint64_t key, struct mhcs_engine **ret_engine);

void mhcs_engine_let_go(struct mhcs_engine *engine);

/* Entry i, NULL where not in use. For the drain thread, which holds all engines: it alone gives
 * them back. */
struct mhcs_engine *mhcs_engine_at(uint32_t i);

/* Drain thread, when the context is gone: what the host holds for it is given back, and the entry
 * is free again. The context has taken the rest along. False: someone holds it; to be called again.
 */
bool mhcs_engine_retire(struct mhcs_engine *engine);

static inline enum mhcs_engine_state mhcs_engine_state(const struct mhcs_engine *engine)
{
    return (enum mhcs_engine_state)atomic_load_explicit(&engine->state, memory_order_acquire);
}

/* Arms a claimed engine in the current context, on the claiming thread; the outcome is its state.
 * Logs. (arm.c) */
void mhcs_engine_arm(struct mhcs_engine *engine, const struct mhcs_driver *driver,
                     CUcontext context, const struct mhcs_settings *settings);

/* Any thread that holds it: no more samples from this engine. `what` is a string constant. Nothing
 * is freed while the context lives: kernels may be in flight, and cuMemFree waits for the device
 * with the driver's locks held, on which the application's next launch would wait in turn. */
void mhcs_engine_disarm(struct mhcs_engine *engine, const char *what, CUresult result);

/* In a forked child: the parent's contexts are not ours. */
void mhcs_engines_forget(void);

#endif
