/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the driver table from the libcuda.so.1 that is already there. */
#include "shadow/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shadow/log.h"

enum need { MAY, MUST };

struct entry {
    enum need need;
    const char *symbol, *name;
    int version;
    size_t offset;
};

static const struct entry entries[] = {
#define STRING(text) #text
#define ENTRY(need, symbol, name, version)                                                         \
    {need, STRING(symbol), name, version, offsetof(struct mhcs_driver, symbol)},
    MHCS_DRIVER_ENTRIES(ENTRY)
#undef ENTRY
#undef STRING
};

enum state { UNFILLED, FILLING, FILLED, UNUSABLE };

/* Written by the one thread that moves `state` from UNFILLED to FILLING; read by all after an
 * acquire load sees FILLED. */
static struct mhcs_driver table;
static atomic_int state;

/* The versioned symbol by dlsym, since cuGetProcAddress of drivers before 12.0 has another
 * signature. Streams are always passed explicitly, so the legacy variants are right for all. */
static void *find(void *libcuda, const char *symbol, const char *name, int version)
{
    const __typeof__(&cuGetProcAddress_v2) get_proc_address =
        (__typeof__(get_proc_address))dlsym(libcuda, "cuGetProcAddress_v2");
    CUdriverProcAddressQueryResult status;
    void *function = NULL;

    if (get_proc_address &&
        get_proc_address(name, &function, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status) ==
            CUDA_SUCCESS &&
        function) {
        return function;
    }
    return dlsym(libcuda, symbol);
}

static void *loaded_driver(void)
{
    return dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
}

static bool fill(void)
{
    void *const libcuda = loaded_driver();

    if (!libcuda) {
        mhcs_log(MHCS_LOG_ERROR, "libcuda.so.1 is not loaded in this process, though cuBLAS was "
                                 "called; nothing is sampled");
        return false;
    }
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *const function =
            find(libcuda, entries[i].symbol, entries[i].name, entries[i].version);

        if (!function && entries[i].need == MUST) {
            mhcs_log(MHCS_LOG_ERROR,
                     "the CUDA driver has no %s; nothing is sampled (update the driver)",
                     entries[i].symbol);
            return false;
        }
        memcpy((char *)&table + entries[i].offset, &function, sizeof(function));
    }
    return true;
}

int mhcs_driver(const struct mhcs_driver **ret_driver)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);

    if (now == UNFILLED && atomic_compare_exchange_strong(&state, &now, FILLING)) {
        now = fill() ? FILLED : UNUSABLE;
        atomic_store_explicit(&state, now, memory_order_release);
    }
    *ret_driver = now == FILLED ? &table : NULL;
    return now == FILLED ? 0 : now == UNUSABLE ? -ENODEV : -EAGAIN;
}

void *mhcs_driver_find(const char *symbol, const char *name, int version)
{
    void *const libcuda = loaded_driver();

    return libcuda ? find(libcuda, symbol, name, version) : NULL;
}

void mhcs_driver_forget(void)
{
    if (atomic_load(&state) != UNFILLED) {
        atomic_store(&state, UNUSABLE);
    }
}

const char *mhcs_driver_error(const struct mhcs_driver *driver, CUresult result)
{
    const char *name = NULL;

    if (driver->cuGetErrorName) {
        driver->cuGetErrorName(result, &name);
    }
    return name ? name : "CUDA error";
}
