/* SPDX-License-Identifier: Apache-2.0 */
/* The exported driver functions, made from api_list.h: check, lock, call, unlock. */
#include "api.h"
#include "capture.h"

#include <stdlib.h>

enum needs { FREE, INIT, CTX, UNSAFE };

static uint64_t next_thread_id; /* guarded by the engine's lock */

static CUresult enter(const char *call, enum needs needs, bool per_thread_default)
{
    CUcontext context;
    CUresult r = CUDA_SUCCESS;

    if (needs == FREE)
        return CUDA_SUCCESS;
    /* Before the lock: in a forked child some thread that is no more may hold it. */
    if (sim_forked())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (sim_thread.in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    sim_lock();
    if (sim_thread.id == 0)
        sim_thread.id = ++next_thread_id;
    context = sim_context_current();
    if (!sim.ready)
        r = CUDA_ERROR_NOT_INITIALIZED;
    else if (needs != INIT && !context)
        r = CUDA_ERROR_INVALID_CONTEXT;
    else if (needs != INIT && !context->alive)
        r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    else if (needs != INIT)
        r = context->error;
    if (r == CUDA_SUCCESS && needs == UNSAFE)
        r = sim_capture_permits_unsafe(call);
    if (r != CUDA_SUCCESS)
        pthread_mutex_unlock(&sim.lock);
    else
        sim_thread.per_thread_default = per_thread_default;
    return r;
}

static CUresult leave(enum needs needs, CUresult r)
{
    if (needs == FREE)
        return r;
    /* An operation that ran during the call, or just before, may have been at fault. */
    if (needs != INIT && sim_context_current()->error != CUDA_SUCCESS)
        r = sim_context_current()->error;
    pthread_mutex_unlock(&sim.lock);
    return r;
}

#define EXPORT(name, needs, per_thread_default, impl, parameters, arguments)                       \
    CUresult CUDAAPI name parameters; /* not every toolkit declares the newest */                  \
    __attribute__((visibility("default"))) CUresult CUDAAPI name parameters                        \
    {                                                                                              \
        CUresult r = enter(#name, needs, per_thread_default);                                      \
                                                                                                   \
        return r == CUDA_SUCCESS ? leave(needs, impl arguments) : r;                               \
    }

#define TWIN_NONE(name, needs, impl, parameters, arguments)
#define TWIN_PTSZ(name, needs, impl, parameters, arguments)                                        \
    EXPORT(name##_ptsz, needs, true, impl, parameters, arguments)
#define TWIN_PTDS(name, needs, impl, parameters, arguments)                                        \
    EXPORT(name##_ptds, needs, true, impl, parameters, arguments)

#define API(base, suffix, since, needs, twin, parameters, arguments)                               \
    EXPORT(base##suffix, needs, false, impl_##base##suffix, parameters, arguments)                 \
    TWIN_##twin(base##suffix, needs, impl_##base##suffix, parameters, arguments)
#include "api_list.h"
#undef API

CUresult simcuda_enqueue(CUstream stream, const char *what, simcuda_body *body, void *arg)
{
    const struct sim_work work = {.what = what, .body = body, .arg = arg};
    CUresult r = enter(what, CTX, false);

    if (r != CUDA_SUCCESS) {
        free(arg);
        return r;
    }
    r = sim_stream_resolve(stream, &stream);
    if (r == CUDA_SUCCESS)
        r = sim_submit(stream, &work, NULL);
    else
        free(arg);
    return leave(CTX, r);
}
