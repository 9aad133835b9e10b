/* SPDX-License-Identifier: Apache-2.0 */
/* Process-wide state, and what a fork does to it. */
#include "shadow/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "shadow/budget.h"
#include "shadow/capture.h"
#include "shadow/drain.h"
#include "shadow/driver.h"
#include "shadow/engine.h"
#include "shadow/follow.h"

static _Atomic(const struct mhcs_settings *) settings; /* set once, with release */
static mhcs_bypass_look *bypass_look;                  /* written before `settings` is published */
static atomic_int off = MHCS_REASONS_COUNT;            /* any thread; relaxed, a hint */

/* Set once by the first thread to come, read by the drain thread. */
static _Atomic(const struct mhcs_cublas *) first_cublas;
static atomic_int first_device = -1;

/* The child has neither the drain thread nor the CUDA of the parent; it starts over at its own
 * first match. Only the forking thread lives here, so plain writes are safe; but no other thread's
 * memory is freed, since that thread may have been changing it when the process forked. */
static void forget_parent(void)
{
    mhcs_drain_forget();
    mhcs_driver_forget();
    mhcs_engines_forget();
    mhcs_captures_forget();
    mhcs_follow_forget();
    mhcs_hook_budget = (struct mhcs_budget){0};
    atomic_store(&off, MHCS_REASONS_COUNT);
    atomic_store(&first_cublas, NULL);
    atomic_store(&first_device, -1);
}

void mhcs_shadow_configure(const struct mhcs_settings *new_settings, mhcs_bypass_look *look)
{
    bypass_look = look;
    if (!atomic_exchange_explicit(&settings, new_settings, memory_order_acq_rel)) {
        pthread_atfork(NULL, NULL, forget_parent);
    }
}

const struct mhcs_settings *mhcs_process_settings(void)
{
    return atomic_load_explicit(&settings, memory_order_acquire);
}

mhcs_bypass_look *mhcs_process_bypass_look(void)
{
    return bypass_look;
}

enum mhcs_reason mhcs_process_off(void)
{
    return (enum mhcs_reason)atomic_load_explicit(&off, memory_order_relaxed);
}

void mhcs_process_turn_off(enum mhcs_reason why)
{
    atomic_store_explicit(&off, (int)why, memory_order_relaxed);
}

void mhcs_process_note(const struct mhcs_cublas *cublas, int device)
{
    const struct mhcs_cublas *no_cublas = NULL;
    int no_device = -1;

    if (cublas && !atomic_load_explicit(&first_cublas, memory_order_relaxed)) {
        atomic_compare_exchange_strong(&first_cublas, &no_cublas, cublas);
    }
    if (device >= 0) {
        atomic_compare_exchange_strong(&first_device, &no_device, device);
    }
}

const struct mhcs_cublas *mhcs_process_cublas(void)
{
    return atomic_load_explicit(&first_cublas, memory_order_acquire);
}

int mhcs_process_device(void)
{
    return atomic_load_explicit(&first_device, memory_order_relaxed);
}
