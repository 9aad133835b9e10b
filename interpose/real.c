/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the real function, and remembering it per call site.
 *
 * Order: the caller's own scope, the next definition in the global scope, any libcublas that is
 * loaded. The first serves plugins loaded RTLD_LOCAL, for whom RTLD_NEXT knows no cuBLAS or another
 * one's; the second linked programs, and whoever is preloaded behind us; the third callers whose
 * scope holds no cuBLAS (ctypes, code made at run time). Nothing is ever loaded afresh: a second
 * copy of cuBLAS would not know the application's handles.
 *
 * A remembered call site must not outlive its code: after a dlclose another plugin may sit at the
 * same address, with the same return address and another cuBLAS. Comparing dlpi_subs would find
 * that out, but takes the linker's lock on every call. So the caller and its cuBLAS are pinned
 * (dlopen without dlclose) before they are remembered, and an entry is true for ever. The price is
 * that a plugin which has called cuBLAS stays mapped after its dlclose.
 */
#include "interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "interpose/objects.h"
#include "shadow/log.h"

#define PROBES 16

struct mhcs_call_site mhcs_call_sites[MHCS_FUNCTIONS][MHCS_CALL_SITES];

#define LIBRARY_ONE     "libcublas.so"
#define LIBRARY_BATCH   "libcublas.so"
#define LIBRARY_GROUPS  "libcublas.so"
#define LIBRARY_LT      "libcublasLt.so"
#define LIBRARY_RUNTIME "libcudart.so"

/* Stand-ins of the right type, so that no caller needs to check for NULL. */
#define HOOK(name, family, index)                                                                  \
    static cublasStatus_t missing_##name(MHCS_PARAMS(family, index))                               \
    {                                                                                              \
        return CUBLAS_STATUS_NOT_INITIALIZED;                                                      \
    }
MHCS_HOOKS(HOOK)
#undef HOOK
#define HOOK(name, family, stream)                                                                 \
    static cudaError_t missing_##name(MHCS_GRAPH_PARAMS(family))                                   \
    {                                                                                              \
        return cudaErrorInitializationError;                                                       \
    }
MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK

/* The functions, what the file of a library that has them is called, and what stands in. */
static const struct {
    const char *name, *file;
    void *missing;
} hooks[MHCS_FUNCTIONS] = {
#define FILE_OF(kind)      FILE_OF_KIND(kind)
#define FILE_OF_KIND(kind) LIBRARY_##kind
#define HOOK(name, family, index)                                                                  \
    [MHCS_HOOK_##name] = {#name, FILE_OF(MHCS_KIND_##family), (void *)missing_##name},
    MHCS_HOOKS(HOOK)
#undef HOOK
#define HOOK(name, family, stream)                                                                 \
    [MHCS_HOOK_COUNT + MHCS_GRAPH_HOOK_##name] = {#name, LIBRARY_RUNTIME, (void *)missing_##name},
        MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK
};

/* Set by the first thread that finds no library at all. */
static atomic_bool missing_said;

static struct mhcs_target missing(unsigned hook)
{
    if (!atomic_exchange_explicit(&missing_said, true, memory_order_relaxed)) {
        mhcs_log(MHCS_LOG_ERROR,
                 "%s was called, but no loaded library has it; returning an error of "
                 "initialisation (load %s before the first call)",
                 hooks[hook].name, hooks[hook].file);
    }
    return (struct mhcs_target){.function = hooks[hook].missing};
}

static const struct link_map *object_of(const void *address)
{
    struct link_map *map;
    Dl_info info;

    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

static void *real_or_null(void *scope, const char *name)
{
    void *const function = dlsym(scope, name);

    return function && object_of(function) != object_of((const void *)mhcs_real_find) ? function
                                                                                      : NULL;
}

/* Whether an object stands before us in the order that symbols are searched in. Those that do were
 * there from the start and stay. */
static bool is_in_front(const struct link_map *map)
{
    const struct link_map *before = object_of((const void *)mhcs_real_find);

    while (before && before != map) {
        before = before->l_prev;
    }
    return before != NULL;
}

/* The caller's own scope. Another wrapper, preloaded in front of us, has come here by RTLD_NEXT:
 * what its scope finds first is itself, and the call would go round for ever. */
static void *real_in_scope(void *scope, const char *name, const void *caller)
{
    void *const function = real_or_null(scope, name);
    const struct link_map *const map = object_of(caller);

    return function && object_of(function) == map && is_in_front(map) ? NULL : function;
}

/* Whether the file of a path is called `name`, or that and more ("libcublas.so.13"). */
static bool is_called(const char *path, const char *name)
{
    const char *const slash = strrchr(path, '/');

    return strncmp(slash ? slash + 1 : path, name, strlen(name)) == 0;
}

/* Pins the object that holds `caller`. *scope: its handle, or NULL for the main program, whose
 * scope is the global one and starts with us. False: code in no object (made at run time), or in
 * another link namespace. */
static bool pin_caller(const void *caller, void **scope, bool *is_cublas)
{
    const struct link_map *const map = object_of(caller);

    *scope = NULL;
    *is_cublas = false;
    if (!map) {
        return false;
    }
    if (!map->l_name[0]) {
        return true;
    }
    *is_cublas = is_called(map->l_name, LIBRARY_ONE) || is_called(map->l_name, LIBRARY_LT);
    *scope = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    return *scope != NULL;
}

struct nth_library {
    const char *file;
    size_t skip;
    bool found;
    char path[PATH_MAX];
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct nth_library *const want = arg;
    int n;

    if (!is_called(info->dlpi_name, want->file) || want->skip-- != 0) {
        return 0;
    }
    n = snprintf(want->path, sizeof(want->path), "%s", info->dlpi_name);
    want->found = n > 0 && (size_t)n < sizeof(want->path);
    return 1;
}

/* Paths are copied out and opened afterwards: the walk holds a lock that dlopen takes second. */
static void *search_loaded(unsigned hook)
{
    for (size_t i = 0;; i++) {
        struct nth_library want = {.file = hooks[hook].file, .skip = i};
        void *handle, *function;

        mhcs_objects_walk(visit_object, &want);
        if (!want.found) {
            return NULL;
        }
        handle = dlopen(want.path, RTLD_LAZY | RTLD_NOLOAD);
        function = handle ? real_or_null(handle, hooks[hook].name) : NULL;
        if (function) {
            return function; /* the handle stays open: the library is pinned */
        }
        if (handle) {
            dlclose(handle);
        }
    }
}

static const struct mhcs_call_site *lookup(unsigned hook, const void *caller)
{
    const size_t home = mhcs_call_site_home(caller);

    for (size_t i = 0; i < PROBES; i++) {
        const struct mhcs_call_site *const site =
            &mhcs_call_sites[hook][(home + i) % MHCS_CALL_SITES];

        if (atomic_load_explicit(&site->caller, memory_order_acquire) == caller) {
            return site;
        }
    }
    return NULL;
}

/* Two threads may remember the same call site in two slots, with the same target. No free slot: it
 * is not remembered, and each of its calls is looked up again. */
static void remember(unsigned hook, const void *caller, struct mhcs_target target)
{
    static const char claim;
    const size_t home = mhcs_call_site_home(caller);

    for (size_t i = 0; i < PROBES; i++) {
        struct mhcs_call_site *const site = &mhcs_call_sites[hook][(home + i) % MHCS_CALL_SITES];
        const void *empty = NULL;

        if (atomic_compare_exchange_strong_explicit(&site->caller, &empty, &claim,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            site->target = target;
            atomic_store_explicit(&site->caller, caller, memory_order_release);
            return;
        }
    }
}

static struct mhcs_target resolve(unsigned hook, const void *caller)
{
    struct mhcs_target target = {0};
    void *scope;
    const bool pinned = pin_caller(caller, &scope, &target.internal);

    if (scope) {
        target.function = real_in_scope(scope, hooks[hook].name, caller);
    }
    if (!target.function) {
        target.function = real_or_null(RTLD_NEXT, hooks[hook].name);
    }
    if (!target.function) {
        target.function = search_loaded(hook);
    }
    if (!target.function) {
        return missing(hook);
    }
    target.library = mhcs_library_of(target.function);
    if (pinned && target.library) {
        remember(hook, caller, target);
    }
    return target;
}

struct mhcs_target mhcs_real_find(unsigned hook, const void *caller)
{
    const struct mhcs_call_site *const site = lookup(hook, caller);
    const int saved_errno = errno;
    struct mhcs_target target;

    if (site) {
        return site->target;
    }
    target = resolve(hook, caller);
    errno = saved_errno;
    return target;
}
