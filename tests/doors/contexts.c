/* SPDX-License-Identifier: Apache-2.0 */
/* Where a GEMM may run: on any kind of stream, through many handles or one for many threads, in
 * several contexts and on several devices, which end under us and come again. Prints a checksum of
 * the results and the mixing GEMMs made.
 *
 *     contexts streams | handles | shared-handle | contexts | devices | destroy | reset | stale
 *              | generations N
 *
 * Ends with 77 where there are too few devices for a mode.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "problem.h"
#include "tests/must.h"

/* cuda.h calls others cuCtxCreate, depending on its version. */
CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned flags, CUdevice device);

#define DEVICES 3
#define THREADS 4

/* What a thread has done. */
struct tally {
    uint64_t sum;
    unsigned made;
};

static const struct problem mixing = {
    .hook = MHCS_HOOK_cublasGemmEx, .m = 24, .n = 3, .k = 64, .ta = true, .alpha = 1};

static struct problem numbered(unsigned i)
{
    struct problem p = mixing;

    p.seed = i;
    p.beta = i % 2 ? 0.5f : 0; /* with an early snapshot */
    return p;
}

static void call(struct tally *tally, const struct problem_handles *handles, CUstream stream)
{
    const struct problem p = numbered(tally->made++);

    tally->sum = mhcs_mix64(tally->sum ^ problem_run(&p, handles, stream));
}

/* Calls that nobody waits for. */
static void leave_in_flight(struct tally *tally, const struct problem_handles *handles,
                            CUstream stream, unsigned calls)
{
    MUST(cublasSetStream_v2(handles->cublas, stream));
    while (calls-- > 0) {
        const struct problem p = numbered(tally->made++);

        MUST(problem_make(problem_prepare(&p, stream), handles, stream));
    }
}

static CUcontext primary(int device)
{
    CUcontext context;

    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    return context;
}

static CUcontext new_context(int device)
{
    CUcontext context;

    MUST(cuCtxCreate_v2(&context, 0, device));
    return context;
}

static CUstream new_stream(unsigned flags)
{
    CUstream stream;

    MUST(cuStreamCreate(&stream, flags));
    return stream;
}

/* ---- streams and handles ---- */

/* A blocking stream is ordered with the legacy one, and only with that. */
static void each_kind_of_stream(struct tally *tally)
{
    struct problem_handles handles;

    problem_open(&handles);
    for (int i = 0; i < 3; i++) {
        call(tally, &handles, NULL);
        call(tally, &handles, CU_STREAM_LEGACY);
        call(tally, &handles, CU_STREAM_PER_THREAD);
        call(tally, &handles, new_stream(CU_STREAM_DEFAULT));
        call(tally, &handles, new_stream(CU_STREAM_NON_BLOCKING));
    }
    problem_close(&handles);
}

static void many_handles(struct tally *tally)
{
    struct problem_handles handles[40];
    CUstream streams[5];

    for (int i = 0; i < 5; i++) {
        streams[i] = new_stream(CU_STREAM_NON_BLOCKING);
    }
    for (int i = 0; i < 40; i++) {
        problem_open(&handles[i]);
    }
    for (int i = 0; i < 40; i++) { /* each sets its handle to another stream */
        call(tally, &handles[i % 13], streams[i % 5]);
        call(tally, &handles[i], streams[(i + 1) % 5]);
    }
    for (int i = 0; i < 40; i++) {
        problem_close(&handles[i]);
    }
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    CUcontext context;
    struct problem_handles *handles; /* NULL: its own */
    CUstream stream;
    struct tally tally;
};

static void *work(void *arg)
{
    struct worker *const w = arg;
    struct problem_handles own;

    MUST(cuCtxSetCurrent(w->context));
    if (!w->handles) {
        problem_open(&own);
        MUST(cublasSetStream_v2(own.cublas, w->stream));
    }
    for (unsigned i = 0; i < 20; i++) {
        const struct problem p = numbered(i);
        struct problem_call *const prepared = problem_prepare(&p, w->stream);

        MUST(problem_make(prepared, w->handles ? w->handles : &own, w->stream));
        w->tally.sum = mhcs_mix64(w->tally.sum ^ problem_result(prepared, true, w->stream));
        w->tally.made++;
        problem_drop(prepared);
    }
    if (!w->handles) {
        problem_close(&own);
    }
    return NULL;
}

static void run_workers(struct tally *tally, struct worker workers[THREADS])
{
    for (int i = 0; i < THREADS; i++) {
        MUST(pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        tally->sum = mhcs_mix64(tally->sum ^ workers[i].tally.sum);
        tally->made += workers[i].tally.made;
    }
}

/* Its stream is the per-thread default one: another for each thread. */
static void a_handle_for_all_threads(struct tally *tally)
{
    const CUstream streams[] = {CU_STREAM_PER_THREAD, new_stream(CU_STREAM_NON_BLOCKING)};
    struct problem_handles handles;

    problem_open(&handles);
    for (int i = 0; i < 2; i++) {
        struct worker workers[THREADS] = {0};

        MUST(cublasSetStream_v2(handles.cublas, streams[i]));
        for (int t = 0; t < THREADS; t++) {
            MUST(cuCtxGetCurrent(&workers[t].context));
            workers[t].handles = &handles;
            workers[t].stream = streams[i];
        }
        run_workers(tally, workers);
    }
    problem_close(&handles);
}

/* Two threads in each; and one more that goes from one to the other at each call. */
static void contexts_on(struct tally *tally, const CUcontext *contexts, int count)
{
    struct worker workers[THREADS] = {0};
    struct problem_handles handles[DEVICES];

    for (int i = 0; i < THREADS; i++) {
        workers[i].context = contexts[i % count];
        workers[i].stream = CU_STREAM_PER_THREAD;
    }
    run_workers(tally, workers);
    for (int i = 0; i < count; i++) {
        MUST(cuCtxSetCurrent(contexts[i]));
        problem_open(&handles[i]);
    }
    for (int i = 0; i < 6 * count; i++) {
        MUST(cuCtxSetCurrent(contexts[i % count]));
        call(tally, &handles[i % count], NULL);
    }
}

static void several_contexts(struct tally *tally)
{
    const CUcontext contexts[] = {primary(0), new_context(0), new_context(0)};

    contexts_on(tally, contexts, 3);
}

static int device_count(void)
{
    int count;

    MUST(cuDeviceGetCount(&count));
    return count;
}

static void several_devices(struct tally *tally)
{
    if (device_count() < DEVICES) {
        printf("fewer than %d GPUs\n", DEVICES);
        exit(77);
    }

    const CUcontext contexts[] = {primary(0), primary(1), primary(2)};

    contexts_on(tally, contexts, DEVICES);
}

/* ---- ends ---- */

static void destroy(struct tally *tally)
{
    for (int i = 0; i < 5; i++) {
        const CUcontext context = new_context(0);
        struct problem_handles handles;

        problem_open(&handles);
        leave_in_flight(tally, &handles, new_stream(CU_STREAM_NON_BLOCKING), 10);
        MUST(cuCtxDestroy(context));
    }
}

/* The primary context keeps its address. */
static void reset(struct tally *tally)
{
    const int devices = device_count() > 1 ? 2 : 1;

    for (int i = 0; i < 5; i++) {
        struct problem_handles handles;

        MUST(cudaSetDevice(i % devices));
        problem_open(&handles);
        leave_in_flight(tally, &handles, NULL, 10);
        MUST(cudaDeviceReset());
    }
}

/* cuBLAS refuses, or not: the library must not add to it. */
static void handles_that_outlive_their_context(struct tally *tally)
{
    const CUcontext first = new_context(0);
    const struct problem p = numbered(0);
    struct problem_handles old;
    struct problem_call *prepared;
    CUstream stream;

    problem_open(&old);
    stream = new_stream(CU_STREAM_NON_BLOCKING);
    call(tally, &old, stream);
    MUST(cuCtxDestroy(first));
    new_context(0);
    prepared = problem_prepare(&p, NULL);
    for (int i = 0; i < 3; i++, tally->made++) {
        const cublasStatus_t status = problem_make(prepared, &old, stream);

        tally->sum = mhcs_mix64(tally->sum ^ (uint64_t)status);
        printf("stale handle: status %d\n", (int)status);
    }
    problem_open(&old);
    call(tally, &old, NULL);
}

static int generation_count;

static void generations(struct tally *tally)
{
    for (int i = 0; i < generation_count; i++) {
        /* Of 100: then more resets in a row than the table has entries. */
        const bool own = i < generation_count * 2 / 5 && i % 2;
        const CUcontext context = own ? new_context(0) : primary(0);
        struct problem_handles handles;

        problem_open(&handles);
        for (int n = 0; n < 2; n++) {
            call(tally, &handles, NULL);
        }
        problem_close(&handles);
        if (own) {
            MUST(cuCtxDestroy(context));
        } else {
            MUST(cudaDeviceReset());
        }
    }
}

static const struct mode {
    const char *name;
    void (*run)(struct tally *tally);
} modes[] = {
    {"streams", each_kind_of_stream},
    {"handles", many_handles},
    {"shared-handle", a_handle_for_all_threads},
    {"contexts", several_contexts},
    {"devices", several_devices},
    {"destroy", destroy},
    {"reset", reset},
    {"stale", handles_that_outlive_their_context},
    {"generations", generations},
};

int main(int argc, char **argv)
{
    struct tally tally = {0};

    MUST(cuInit(0));
    primary(0);
    generation_count = argc == 3 ? atoi(argv[2]) : 0;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (argc >= 2 && strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run(&tally);
            printf("made %u, results %016llx\n", tally.made, (unsigned long long)tally.sum);
            return 0;
        }
    }
    fprintf(stderr, "contexts: no such mode\n");
    return 2;
}
