/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling decision: one hash look-up, one atomic add, one division. */
#include "interpose/sample.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>

#include "kernels/kernels.h"

#define PROBES 16

/* Increment of splitmix64: neighbouring windows draw unrelated numbers. */
#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* 1/N is not exact in binary: within this much of one, floor(1/p) is N and N*p is 1. */
#define RATIO_SLACK 1e-9

/* Longer windows than any process lives through; keeps the conversion below in range. */
#define WINDOW_MAX (UINT64_C(1) << 60)

void mhcs_sampler_init(struct mhcs_sampler *sampler, double p, uint64_t seed)
{
    double used;

    sampler->seed = seed;
    if (!(p > 0)) {
        return;
    }
    if (p * (double)WINDOW_MAX < 1) {
        sampler->window = WINDOW_MAX;
    } else {
        sampler->window = (uint64_t)(1 / p * (1 + RATIO_SLACK));
    }
    if (sampler->window == 0) {
        sampler->window = 1;
    }
    used = (double)sampler->window * p;
    sampler->threshold = used > 1 - RATIO_SLACK ? UINT64_MAX : (uint64_t)(used * 0x1p64);
}

uint64_t mhcs_sampler_seed(void)
{
    const void *const at_random = (const void *)getauxval(AT_RANDOM);
    struct timespec now = {0, 0};
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed)) {
        return seed;
    }
    if (at_random) { /* 16 bytes from the kernel */
        memcpy(&seed, at_random, sizeof(seed));
        return seed;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    return mhcs_mix64((uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec);
}

static struct mhcs_sample_bucket *claim(struct mhcs_sampler *sampler, uintptr_t fn)
{
    const size_t home = (size_t)((fn * GOLDEN) >> (64 - MHCS_SAMPLE_BUCKET_BITS));

    for (size_t i = 0; fn != 0 && i < PROBES; i++) {
        struct mhcs_sample_bucket *const bucket =
            &sampler->buckets[(home + i) % MHCS_SAMPLE_BUCKETS];
        uintptr_t held = atomic_load_explicit(&bucket->fn, memory_order_relaxed);

        if (held == fn) {
            return bucket;
        }
        if (held == 0 && atomic_compare_exchange_strong_explicit(
                             &bucket->fn, &held, fn, memory_order_relaxed, memory_order_relaxed)) {
            const int_fast32_t before =
                atomic_fetch_add_explicit(&sampler->appeared, 1, memory_order_relaxed);

            atomic_store_explicit(&bucket->order, before + 1, memory_order_relaxed);
            return bucket;
        }
        if (held == fn) { /* another thread claimed it for the same fn */
            return bucket;
        }
    }
    return &sampler->buckets[MHCS_SAMPLE_BUCKETS];
}

/* A number below `bound`, from the high bits of a 64-bit draw. */
static uint64_t below(uint64_t draw, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)draw * bound) >> 64);
}

/* Salted by the bucket, not by fn: calls that share a bucket must agree on the window's draw. */
static uint64_t draw_of(const struct mhcs_sampler *sampler, const struct mhcs_sample_bucket *bucket,
                        uint64_t window)
{
    const uint64_t salt = mhcs_mix64((uint64_t)(bucket - sampler->buckets));

    return mhcs_mix64((sampler->seed ^ salt) + (window + 1) * GOLDEN);
}

/* The place in `window` that is taken, if the window is used. */
static uint64_t place_of(const struct mhcs_sampler *sampler, uint64_t window, uint64_t draw)
{
    return window * sampler->window + below(draw, sampler->window);
}

/* The whole decision, for the few calls that reach the bound. */
static bool decide(const struct mhcs_sampler *sampler, struct mhcs_sample_bucket *bucket,
                   uint64_t call)
{
    const uint64_t window = call / sampler->window;
    const uint64_t draw = draw_of(sampler, bucket, window);
    uint64_t place = place_of(sampler, window, draw);
    const bool taken = call == place;

    if (call >= place) {
        place = place_of(sampler, window + 1, draw_of(sampler, bucket, window + 1));
    }
    atomic_store_explicit(&bucket->next, place, memory_order_release);
    return taken &&
           (sampler->threshold == UINT64_MAX || mhcs_mix64(draw + GOLDEN) < sampler->threshold);
}

static int32_t order_of(const struct mhcs_sample_bucket *bucket)
{
    return (int32_t)atomic_load_explicit(&bucket->order, memory_order_relaxed) - 1;
}

int32_t mhcs_sampler_order(struct mhcs_sampler *sampler, const void *fn)
{
    return order_of(claim(sampler, (uintptr_t)fn));
}

bool mhcs_sampler_draw(struct mhcs_sampler *sampler, const void *fn, int32_t *order)
{
    struct mhcs_sample_bucket *bucket;
    uint64_t next, call;

    *order = -1;
    if (sampler->window == 0) {
        return false;
    }
    bucket = claim(sampler, (uintptr_t)fn);
    *order = order_of(bucket);
    /* `next` was computed from a call before this one, and there is no taken place in between. An
     * older value of it only costs a decision that says the same. */
    next = atomic_load_explicit(&bucket->next, memory_order_acquire);
    call = atomic_fetch_add_explicit(&bucket->calls, 1, memory_order_relaxed);
    return call >= next && decide(sampler, bucket, call);
}
