/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that make mixing GEMMs through many doors of cuBLAS, ordinary ones, and ones that cuBLAS
 * refuses, all mixed at random: 8 threads over 4 streams and handles on 2 devices (1 where there is
 * one), so that two threads share each. Prints a checksum of each thread's results, which depend on
 * all of its calls, and what was made in all.
 *
 *     stress CALLS-PER-THREAD ended|alive      the threads, when the process ends
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "problem.h"
#include "tests/must.h"

#define DEVICES     2
#define STREAMS     4
#define THREADS     8
#define K           16
#define PASS        50 /* calls, until a thread looks at its results and pauses, as a server does */
#define PAUSE_US    2000
#define ORDINARY(p) ((p)->m == 8)

static const struct problem kinds[] = {
    {MHCS_HOOK_cublasGemmEx, 24, 1, K, .ta = true, .alpha = 1},
    {MHCS_HOOK_cublasGemmEx, 24, 2, K, .ta = true, .alpha = 0.5f, .beta = 0.5f},
    {MHCS_HOOK_cublasGemmEx_64, 4, 1, K, .ta = true, .alpha = 1},
    {MHCS_HOOK_cublasSgemm_v2, 1, 24, K, .tb = true, .alpha = 1},
    {MHCS_HOOK_cublasHgemm, 24, 1, K, .ta = true, .alpha = 1},
    {MHCS_HOOK_cublasGemmStridedBatchedEx, 24, 1, K, .ta = true, .alpha = 1},
    {MHCS_HOOK_cublasSgemmBatched_64, 24, 1, K, .ta = true, .alpha = 1},
    {MHCS_HOOK_cublasSgemmGroupedBatched, 24, 1, K, .ta = true, .alpha = 1},
    {MHCS_HOOK_cublasLtMatmul, 24, 1, K, .ta = true, .alpha = 0.5f, .beta = 0.5f},
    {MHCS_HOOK_cublasLtMatmul, 24, 1, K, .alpha = 1, .device_scalars = true},
    {MHCS_HOOK_cublasGemmEx, 8, 1, K, .ta = true, .alpha = 0.5f, .beta = 0.5f},
    {MHCS_HOOK_cublasSgemm_v2_64, 8, 1, K, .alpha = 1},
    {MHCS_HOOK_cublasGemmBatchedEx, 8, 1, K, .alpha = 1},
    {MHCS_HOOK_cublasSgemmGroupedBatched_64, 8, 1, K, .alpha = 1},
    {MHCS_HOOK_cublasLtMatmul, 8, 1, K, .alpha = 1},
    {MHCS_HOOK_cublasGemmEx, 24, 1, K, .ta = true, .alpha = 1, .refused = true},
    {MHCS_HOOK_cublasGemmEx, 24, 1, K, .ta = true, .alpha = 1, .beta = 1, .refused = true},
    {MHCS_HOOK_cublasGemmStridedBatchedEx_64, 24, 1, K, .alpha = 1, .refused = true},
    {MHCS_HOOK_cublasGemmEx_64, 8, 1, K, .alpha = 1, .refused = true},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct lane {
    CUcontext context;
    CUstream stream;
    struct problem_handles handles;
};

static pthread_barrier_t all_done;
static bool stay_alive;

struct worker {
    pthread_t thread;
    const struct lane *lane;
    uint64_t number, calls;
    uint64_t sum, seen, matched, refused;
};

static void open_lane(struct lane *lane, int device)
{
    MUST(cuDevicePrimaryCtxRetain(&lane->context, device));
    MUST(cuCtxSetCurrent(lane->context));
    MUST(cuStreamCreate(&lane->stream, CU_STREAM_NON_BLOCKING));
    problem_open(&lane->handles);
    MUST(cublasSetStream_v2(lane->handles.cublas, lane->stream));
}

static void count(struct worker *w, const struct problem *p)
{
    const unsigned gemms = ORDINARY(p) ? 1 : problem_gemms(p);

    w->seen += gemms;
    w->matched += ORDINARY(p) ? 0 : gemms;
    w->refused += p->refused;
}

static void *work(void *arg)
{
    struct worker *const w = arg;
    struct problem_call *calls[KINDS];

    MUST(cuCtxSetCurrent(w->lane->context));
    for (size_t i = 0; i < KINDS; i++) {
        struct problem p = kinds[i];

        p.seed = w->number * KINDS + i;
        calls[i] = problem_prepare(&p, w->lane->stream);
    }
    for (uint64_t i = 1; i <= w->calls; i++) {
        const size_t kind = mhcs_mix64(w->number << 32 | i) % KINDS;
        const cublasStatus_t status = problem_make(calls[kind], &w->lane->handles, w->lane->stream);

        MUST((status != CUBLAS_STATUS_SUCCESS) != kinds[kind].refused);
        count(w, &kinds[kind]);
        if (i % PASS == 0) {
            w->sum = mhcs_mix64(w->sum ^ problem_result(calls[kind], false, w->lane->stream));
            usleep(PAUSE_US);
        }
    }
    for (size_t i = 0; i < KINDS; i++) {
        w->sum = mhcs_mix64(w->sum ^ problem_result(calls[i], true, w->lane->stream));
        problem_drop(calls[i]);
    }
    pthread_barrier_wait(&all_done);
    while (stay_alive) {
        pause();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const uint64_t calls = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
    struct worker workers[THREADS] = {0}, all = {0};
    struct lane lanes[STREAMS];
    int devices;

    MUST(calls > 0 ? cuInit(0) : 1);
    MUST(cuDeviceGetCount(&devices));
    devices = devices < DEVICES ? devices : DEVICES;
    stay_alive = strcmp(argv[2], "alive") == 0;
    pthread_barrier_init(&all_done, NULL, THREADS + 1);
    for (int i = 0; i < STREAMS; i++) {
        open_lane(&lanes[i], i % devices);
    }
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.lane = &lanes[i % STREAMS], .number = i, .calls = calls};
        MUST(pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    pthread_barrier_wait(&all_done);
    for (int i = 0; i < THREADS; i++) {
        if (!stay_alive) {
            pthread_join(workers[i].thread, NULL);
        }
        printf("thread %d %016llx\n", i, (unsigned long long)workers[i].sum);
        all.seen += workers[i].seen;
        all.matched += workers[i].matched;
        all.refused += workers[i].refused;
    }
    for (int i = 0; i < STREAMS; i++) {
        MUST(cuCtxSetCurrent(lanes[i].context));
        problem_close(&lanes[i].handles);
    }
    printf("calls %llu seen %llu matched %llu refused %llu\n", (unsigned long long)calls * THREADS,
           (unsigned long long)all.seen, (unsigned long long)all.matched,
           (unsigned long long)all.refused);
    return 0;
}
