/* SPDX-License-Identifier: Apache-2.0 */
/* The table of executable graphs, and finding the nodes in a graph.
 *
 * A launch looks up its graph without a lock, by handle. Entries come and go under a lock that is
 * held for a few look-ups and never while the driver is called; only instantiating, updating and
 * destroying graphs takes it, which cost the driver a thousand times as much.
 */
#include "shadow/follow.h"

#include <pthread.h>
#include <stdlib.h>

#include "shadow/clock.h"
#include "shadow/find.h"
#include "shadow/process.h"
#include "shadow/reason.h"

#define EXECS  4096
#define PROBES 64

atomic_uint_fast64_t mhcs_graph_nodes;
atomic_int mhcs_graphs_followed;

/* Open addressing. `handle`: 0 free, never used; GONE free, look on behind it. Its store (release)
 * publishes `exec`. */
static struct {
    atomic_uintptr_t handle;
    struct mhcs_exec *exec;
} table[EXECS];
#define GONE ((uintptr_t)1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t home_of(uintptr_t handle)
{
    return (size_t)(mhcs_mix64(handle) % EXECS);
}

bool mhcs_follow_possible(const struct mhcs_driver *driver)
{
    return driver->cuStreamGetCaptureInfo_v3 && driver->cuFuncGetName && driver->cuGraphGetNodes &&
           driver->cuGraphNodeGetType && driver->cuGraphKernelNodeGetParams_v2 &&
           driver->cuGraphChildGraphNodeGetGraph && driver->cuGraphExecKernelNodeSetParams_v2 &&
           driver->cuGraphNodeSetEnabled;
}

/* Index of an entry, EXECS: there is none. */
static size_t index_of(uintptr_t handle)
{
    const size_t home = home_of(handle);

    for (size_t i = 0; i < PROBES; i++) {
        const size_t at = (home + i) % EXECS;
        const uintptr_t held = atomic_load_explicit(&table[at].handle, memory_order_acquire);

        if (held == handle) {
            return at;
        }
        if (held == 0) {
            break;
        }
    }
    return EXECS;
}

struct mhcs_exec *mhcs_follow_find(CUgraphExec handle)
{
    const size_t at = handle ? index_of((uintptr_t)handle) : EXECS;

    return at < EXECS ? table[at].exec : NULL;
}

/* Under the lock. False: no place. */
static bool enter(struct mhcs_exec *exec)
{
    const size_t home = home_of((uintptr_t)exec->handle);

    for (size_t i = 0; i < PROBES; i++) {
        const size_t at = (home + i) % EXECS;
        const uintptr_t held = atomic_load_explicit(&table[at].handle, memory_order_relaxed);

        if (held == 0 || held == GONE) {
            table[at].exec = exec;
            atomic_store_explicit(&table[at].handle, (uintptr_t)exec->handle, memory_order_release);
            atomic_fetch_add_explicit(&mhcs_graphs_followed, 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

/* Under the lock; takes the entry out and leaves *exec to the caller. */
static struct mhcs_exec *leave(uintptr_t handle)
{
    const size_t at = index_of(handle);

    if (at == EXECS) {
        return NULL;
    }
    atomic_store_explicit(&table[at].handle, GONE, memory_order_relaxed);
    atomic_fetch_sub_explicit(&mhcs_graphs_followed, 1, memory_order_relaxed);
    return table[at].exec;
}

static void free_exec(struct mhcs_exec *exec)
{
    if (exec) {
        free(exec->turns.order);
        free(exec->site);
        free(exec);
    }
}

/* Nobody tells us of executable graphs that end with their context, whose handles the driver may
 * give to others. Under the lock. */
static void sweep(void)
{
    for (size_t i = 0; i < EXECS; i++) {
        const uintptr_t handle = atomic_load_explicit(&table[i].handle, memory_order_relaxed);

        if (handle > GONE) {
            struct mhcs_engine *const engine = mhcs_engine_hold(table[i].exec->engine);

            if (engine) {
                mhcs_engine_let_go(engine);
            } else {
                free_exec(leave(handle));
            }
        }
    }
}

static struct mhcs_exec *make_exec(CUgraphExec handle, CUgraph graph, struct mhcs_found *found)
{
    struct mhcs_exec *exec = calloc(1, sizeof(*exec));
    uint32_t *order = calloc(found->count, sizeof(*order));
    const uint64_t seed = mhcs_mix64((uint64_t)mhcs_clock(CLOCK_MONOTONIC) ^ (uintptr_t)handle);
    uint64_t first;

    if (!exec || !order) {
        free(exec);
        free(order);
        return NULL;
    }
    exec->handle = handle;
    exec->graph = graph;
    exec->engine = found->engine;
    exec->sites = found->count;
    exec->site = found->site;
    found->site = NULL;
    first = mhcs_turns_init(&exec->turns, exec->sites, MHCS_REPLAY_SITES,
                            mhcs_process_settings()->sample, seed, order);
    atomic_store_explicit(&exec->next, first, memory_order_relaxed);
    return exec;
}

void mhcs_graph_instantiated(void *handle, void *graph)
{
    struct mhcs_found found = {0};
    struct mhcs_exec *exec = NULL;
    bool entered = false;

    mhcs_find_nodes(&found, graph);
    mhcs_find_disable(&found, handle);
    if (found.count > 0) {
        exec = make_exec(handle, graph, &found);
    }
    pthread_mutex_lock(&lock);
    sweep();
    free_exec(leave((uintptr_t)handle)); /* destroyed behind our back, and its handle given again */
    entered = exec && enter(exec);
    pthread_mutex_unlock(&lock);
    if (!entered) {
        mhcs_turn_away_many(MHCS_REASON_TOO_MANY_GRAPHS, found.count);
        free_exec(exec);
    }
    mhcs_found_free(&found);
}

void mhcs_follow_stop(struct mhcs_exec *exec)
{
    atomic_store_explicit(&exec->next, MHCS_TURNS_NEVER, memory_order_relaxed);
}

/* An update pairs the nodes of two graphs that are alike; captured alike, their GEMMs come in the
 * same order. */
static bool is_alike(const struct mhcs_exec *exec, const struct mhcs_found *found)
{
    for (uint32_t i = 0; i < exec->sites && found->count == exec->sites; i++) {
        const struct mhcs_graph_site *a = &exec->site[i], *b = &found->site[i];

        if (a->memo.gemm.k != b->memo.gemm.k || !a->early != !b->early ||
            a->memo.gemm.coefficients != b->memo.gemm.coefficients) {
            return false;
        }
    }
    return found->count == exec->sites && found->engine == exec->engine;
}

/* The header of cuGraphExecUpdate does not say what becomes of disabled nodes. */
static void keep_disabled(const struct mhcs_exec *exec)
{
    const struct mhcs_driver *driver;

    for (uint32_t i = 0; mhcs_driver(&driver) == 0 && i < exec->sites; i++) {
        driver->cuGraphNodeSetEnabled(exec->handle, exec->site[i].last, 0);
        if (exec->site[i].early) {
            driver->cuGraphNodeSetEnabled(exec->handle, exec->site[i].early, 0);
        }
    }
}

/* The executable graph keeps the handles of the graph it was made from, and gets the parameters of
 * this one: that is, new addresses. */
void mhcs_graph_updated(void *handle, void *graph)
{
    struct mhcs_exec *const exec = mhcs_follow_find(handle);
    struct mhcs_found found = {0};

    if (!exec) {
        return;
    }
    mhcs_find_nodes(&found, graph);
    if (is_alike(exec, &found)) {
        for (uint32_t i = 0; i < exec->sites; i++) {
            exec->site[i].memo = found.site[i].memo;
        }
        keep_disabled(exec);
    } else {
        mhcs_follow_stop(exec);
        mhcs_turn_away_many(MHCS_REASON_REFUSED, exec->sites);
    }
    mhcs_found_free(&found);
}

/* Any executable graph of it. Under the lock. */
static struct mhcs_exec *made_from(CUgraph graph)
{
    for (size_t i = 0; i < EXECS; i++) {
        if (atomic_load_explicit(&table[i].handle, memory_order_relaxed) > GONE &&
            table[i].exec->graph == graph) {
            return table[i].exec;
        }
    }
    return NULL;
}

bool mhcs_graph_keep(void *graph, mhcs_graph_destroy *destroy)
{
    struct mhcs_exec *exec;

    pthread_mutex_lock(&lock);
    exec = made_from(graph);
    if (exec) {
        exec->destroy = destroy;
    }
    pthread_mutex_unlock(&lock);
    return exec != NULL;
}

/* A graph that several executable graphs were made from waits for the last one. */
struct mhcs_graph_left mhcs_graph_exec_destroyed(void *handle)
{
    struct mhcs_graph_left left = {NULL, NULL};
    struct mhcs_exec *exec, *other;

    pthread_mutex_lock(&lock);
    exec = leave((uintptr_t)handle);
    other = exec ? made_from(exec->graph) : NULL;
    if (exec && exec->destroy) {
        if (other) {
            other->destroy = exec->destroy;
        } else {
            left = (struct mhcs_graph_left){exec->graph, exec->destroy};
        }
    }
    pthread_mutex_unlock(&lock);
    free_exec(exec);
    return left;
}

/* The lock may have been another thread's. */
void mhcs_follow_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (size_t i = 0; i < EXECS; i++) {
        atomic_store(&table[i].handle, 0);
    }
    atomic_store(&mhcs_graphs_followed, 0);
}
