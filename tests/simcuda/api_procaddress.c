/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: cuGetProcAddress, from the list of all functions. */
#include "api.h"

#include <stdlib.h>
#include <string.h>

#define TWIN_NONE(name, parameters)
#define TWIN_PTSZ(name, parameters) CUresult CUDAAPI name##_ptsz parameters;
#define TWIN_PTDS(name, parameters) CUresult CUDAAPI name##_ptds parameters;
#define API(base, suffix, since, needs, twin, parameters, arguments)                               \
    CUresult CUDAAPI base##suffix parameters;                                                      \
    TWIN_##twin(base##suffix, parameters)
#include "api_list.h"
#undef API
#undef TWIN_NONE
#undef TWIN_PTSZ
#undef TWIN_PTDS

static const struct entry {
    const char *name;
    int since;
    void *plain, *per_thread;
} entries[] = {
#define TWIN_NONE(name) (void *)name
#define TWIN_PTSZ(name) (void *)name##_ptsz
#define TWIN_PTDS(name) (void *)name##_ptds
#define API(base, suffix, since, needs, twin, parameters, arguments)                               \
    {#base, since, (void *)base##suffix, TWIN_##twin(base##suffix)},
#include "api_list.h"
#undef API
};

/* Says each unknown name once, if SIMCUDA_TRACE asks for it. */
static void trace_unknown(const char *symbol)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct sim_table said; /* by interned name */
    const char *trace = getenv("SIMCUDA_TRACE");
    const char *name;

    if (!trace || strcmp(trace, "1") != 0)
        return;
    pthread_mutex_lock(&lock);
    name = sim_intern(symbol);
    if (name && !sim_table_get(&said, (uintptr_t)name)) {
        sim_table_put(&said, (uintptr_t)name, (void *)(uintptr_t)name);
        sim_say("cuGetProcAddress: %s is not simulated", symbol);
    }
    pthread_mutex_unlock(&lock);
}

CUresult impl_cuGetProcAddress_v2(const char *symbol, void **ret_function, int version,
                                  cuuint64_t flags, CUdriverProcAddressQueryResult *ret_status)
{
    const struct entry *best = NULL;
    bool known = false;

    if (!symbol || !ret_function || version > sim_driver_version() ||
        (flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                               CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        const struct entry *e = &entries[i];

        if (strcmp(e->name, symbol) != 0)
            continue;
        known = true;
        if (e->since <= version && (!best || e->since > best->since))
            best = e;
    }
    if (!known)
        trace_unknown(symbol);
    if (ret_status)
        *ret_status = best    ? CU_GET_PROC_ADDRESS_SUCCESS
                      : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!best)
        *ret_function = NULL;
    else if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        *ret_function = best->per_thread;
    else
        *ret_function = best->plain;
    return best ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult impl_cuGetProcAddress(const char *symbol, void **ret_function, int version,
                               cuuint64_t flags)
{
    return impl_cuGetProcAddress_v2(symbol, ret_function, version, flags, NULL);
}
