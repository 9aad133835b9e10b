/* SPDX-License-Identifier: Apache-2.0 */
/* Which matched calls become samples: stratified at random, per weight matrix.
 *
 * A forward pass makes a fixed number of matched calls, so "every 64th" would see some sites for
 * ever and others never, and independent draws would leave a fifth of 86 sites unseen after a
 * hundred passes. So the calls of one fn address are counted in windows of N = floor(1/p), and one
 * call of each window, drawn at random, is taken with probability N*p (1 for p = 1/N). Every call
 * has probability p, whatever the period of the model, and for p = 1/N every site is seen once in
 * N of its calls.
 */
#ifndef MHCS_SAMPLE_H
#define MHCS_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MHCS_SAMPLE_BUCKET_BITS 10
#define MHCS_SAMPLE_BUCKETS     (1 << MHCS_SAMPLE_BUCKET_BITS)

/* The calls of one fn address. */
struct mhcs_sample_bucket {
    _Atomic(uintptr_t) fn;      /* 0 free; set once, by the first thread that comes (relaxed) */
    atomic_uint_fast64_t calls; /* any thread adds (relaxed); its value is the call's place */
    atomic_uint_fast64_t next;  /* a lower bound for the place of the next draw: stored (release) by
                                   whoever passes it, loaded (acquire) before `calls` is added to */
    atomic_int_fast32_t order;  /* 1 + order of appearance, 0 not yet given; stored once by the
                                   thread that set fn (relaxed: an int that orders nothing else) */
};

/* Any thread may draw once it is initialised; lock-free. */
struct mhcs_sampler {
    uint64_t window;    /* N; 0: sampling is off. Constant, like seed and threshold */
    uint64_t threshold; /* a window is used if its draw is below; UINT64_MAX: always */
    uint64_t seed;
    atomic_int_fast32_t appeared; /* buckets given out (relaxed) */
    /* The last one is shared by all who find no place of their own. */
    struct mhcs_sample_bucket buckets[MHCS_SAMPLE_BUCKETS + 1];
};

/* `sampler` is zeroed memory. p in 0..1. */
void mhcs_sampler_init(struct mhcs_sampler *sampler, double p, uint64_t seed);

/* A seed that no other process has. */
uint64_t mhcs_sampler_seed(void);

/* Counts one call with this fn; true if it is to be sampled. *order: order of first appearance of
 * fn, -1 if it shares a bucket (or another thread is just about to number it). */
bool mhcs_sampler_draw(struct mhcs_sampler *sampler, const void *fn, int32_t *order);

/* The order alone; counts nothing. */
int32_t mhcs_sampler_order(struct mhcs_sampler *sampler, const void *fn);

#endif
