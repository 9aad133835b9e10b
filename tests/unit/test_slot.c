/* SPDX-License-Identifier: Apache-2.0 */
/* The free set of chunks under many threads, and the division of a slot's memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "shadow/slot.h"

static void a_pool_gives_each_chunk_once(void **state)
{
    for (uint32_t chunks = 1; chunks <= MHCS_CHUNKS; chunks++) {
        struct mhcs_slot_pool pool;
        uint64_t seen = 0;

        mhcs_slot_pool_fill(&pool);
        for (uint32_t n = 0; n < MHCS_CHUNKS / chunks; n++) {
            const int slot = mhcs_slot_acquire(&pool, chunks);

            assert_in_range(slot, 0, MHCS_CHUNKS - chunks);
            for (uint32_t i = 0; i < chunks; i++) {
                assert_int_equal(seen >> ((uint32_t)slot + i) & 1, 0);
                seen |= UINT64_C(1) << ((uint32_t)slot + i);
            }
        }
        assert_int_equal(mhcs_slot_acquire(&pool, chunks), -1);
        mhcs_slot_release(&pool, 0, chunks);
        assert_int_equal(mhcs_slot_acquire(&pool, chunks), 0);
    }
}

static void only_neighbouring_chunks_make_a_slot(void **state)
{
    struct mhcs_slot_pool pool;

    mhcs_slot_pool_fill(&pool);
    assert_int_equal(mhcs_slot_acquire(&pool, 64), 0);
    mhcs_slot_release(&pool, 3, 1);
    mhcs_slot_release(&pool, 5, 2);
    mhcs_slot_release(&pool, 63, 1);
    assert_int_equal(mhcs_slot_acquire(&pool, 3), -1);
    assert_int_equal(mhcs_slot_acquire(&pool, 2), 5);
    assert_int_equal(mhcs_slot_acquire(&pool, 2), -1); /* 63 has no neighbour above */
    assert_int_equal(mhcs_slot_acquire(&pool, 1), 3);
    assert_int_equal(mhcs_slot_acquire(&pool, 1), 63);
    assert_int_equal(mhcs_slot_acquire(&pool, 1), -1);
}

#define THREADS 8
#define ROUNDS  20000

struct contest {
    struct mhcs_slot_pool pool;
    int held[MHCS_CHUNKS]; /* plain: the pool must order its writers, TSan looks at that */
    atomic_int misses, clashes;
    atomic_uint next_thread;
};

/* Slots of 20, 21 and 22 chunks: no four fit, so threads miss and collide. */
static void *compete(void *arg)
{
    struct contest *c = arg;
    const uint32_t chunks = 20 + atomic_fetch_add(&c->next_thread, 1) % 3;

    for (int i = 0; i < ROUNDS; i++) {
        const int slot = mhcs_slot_acquire(&c->pool, chunks);

        if (slot < 0) {
            atomic_fetch_add(&c->misses, 1);
            continue;
        }
        for (uint32_t n = 0; n < chunks; n++) {
            if (c->held[(uint32_t)slot + n]++ != 0) {
                atomic_fetch_add(&c->clashes, 1);
            }
        }
        for (uint32_t n = 0; n < chunks; n++) {
            c->held[(uint32_t)slot + n]--;
        }
        mhcs_slot_release(&c->pool, (uint32_t)slot, chunks);
    }
    return NULL;
}

static void no_two_threads_hold_one_chunk(void **state)
{
    static struct contest c;
    pthread_t threads[THREADS];

    mhcs_slot_pool_fill(&c.pool);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, compete, &c), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(c.clashes, 0);
    assert_true(c.misses < THREADS * ROUNDS);
    assert_true(atomic_load(&c.pool.free) == UINT64_MAX);
}

static void the_parts_of_a_slot_do_not_overlap(void **state)
{
    static const uint32_t dtypes[] = {MHCS_F32, MHCS_BF16, MHCS_F16};

    for (uint32_t rows = 1; rows <= MHCS_ROWS_MAX; rows = rows * 3 + 1) {
        for (int i = 0; i < 27; i++) {
            const struct mhcs_gemm gemm = {
                .fn.dtype = dtypes[i % 3],
                .x.dtype = dtypes[i / 3 % 3],
                .c.dtype = dtypes[i / 9],
                .k = 16384,
                .coefficients = i % 2 ? 4 : 24,
            };
            const uint64_t m = gemm.coefficients;
            struct mhcs_layout l;

            mhcs_layout_set(&l, &gemm, rows);
            const uint64_t parts[][2] = {
                {l.fn, m * 16384 * mhcs_dtype_size(gemm.fn.dtype)},
                {l.x, rows * UINT64_C(16384) * mhcs_dtype_size(gemm.x.dtype)},
                {l.c, rows * m * mhcs_dtype_size(gemm.c.dtype)},
                {l.old_c, rows * m * mhcs_dtype_size(gemm.c.dtype)},
                {l.scalars, 8},
                {l.raw, rows * UINT64_C(24) * 4},
                {l.abs_dot, rows * UINT64_C(24) * 4},
                {l.square_sum, rows * UINT64_C(4)},
            };
            uint64_t end = 0;

            for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
                assert_true(parts[p][0] >= end);
                assert_int_equal(parts[p][0] % 16, 0);
                end = parts[p][0] + parts[p][1];
            }
            assert_true(l.bytes >= end);
        }
    }
}

static void the_largest_slot_holds_every_shape_in_force(void **state)
{
    struct mhcs_settings settings = {
        .rows = 16, .shapes = {{24, 16384}, {24, 20480}, {4, 4096}}, .shape_count = 3};
    struct mhcs_gemm gemm = {.coefficients = 24, .k = 20480};
    struct mhcs_layout layout;

    mhcs_layout_set(&layout, &gemm, 16);
    assert_int_equal(mhcs_layout_largest(&settings), layout.bytes);
    settings.shape_count = 0;
    gemm.k = 28672;
    mhcs_layout_set(&layout, &gemm, 16);
    assert_int_equal(mhcs_layout_largest(&settings), layout.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_gives_each_chunk_once),
        cmocka_unit_test(only_neighbouring_chunks_make_a_slot),
        cmocka_unit_test(no_two_threads_hold_one_chunk),
        cmocka_unit_test(the_parts_of_a_slot_do_not_overlap),
        cmocka_unit_test(the_largest_slot_holds_every_shape_in_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
