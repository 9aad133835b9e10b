/* SPDX-License-Identifier: Apache-2.0 */
/* The free set of chunks, and how a slot's memory is divided. */
#include "shadow/slot.h"

#include <assert.h>

/* cuMemAlloc aligns to 256; keeping that for every part lets the kernels use 16-byte accesses. */
#define ALIGNMENT 256

#define K_LARGEST 28672 /* DeepSeek-V4-Pro; used where no shape is named */

static uint64_t reserve(uint64_t *end, uint64_t bytes)
{
    const uint64_t start = *end;

    *end = (start + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return start;
}

static void layout_set(struct mhcs_layout *l, uint64_t m, uint64_t k, uint64_t rows,
                       uint32_t fn_size, uint32_t x_size, uint32_t c_size)
{
    uint64_t end = 0;

    l->fn = reserve(&end, m * k * fn_size);
    l->x = reserve(&end, rows * k * x_size);
    l->c = reserve(&end, rows * m * c_size);
    l->old_c = reserve(&end, rows * m * c_size);
    l->scalars = reserve(&end, 2 * sizeof(float));
    l->raw = reserve(&end, rows * MHCS_COEFFICIENTS * sizeof(float));
    l->abs_dot = reserve(&end, rows * MHCS_COEFFICIENTS * sizeof(float));
    l->square_sum = reserve(&end, rows * sizeof(float));
    l->checkpoint_raw = reserve(&end, rows * MHCS_COEFFICIENTS * sizeof(float));
    l->checkpoint_abs_dot = reserve(&end, rows * MHCS_COEFFICIENTS * sizeof(float));
    l->bytes = end;
}

void mhcs_layout_set(struct mhcs_layout *layout, const struct mhcs_gemm *gemm, uint32_t rows)
{
    layout_set(layout, gemm->coefficients, gemm->k, rows, mhcs_dtype_size(gemm->fn.dtype),
               mhcs_dtype_size(gemm->x.dtype), mhcs_dtype_size(gemm->c.dtype));
}

static uint32_t largest_k(const struct mhcs_settings *settings)
{
    uint32_t k = settings->shape_count > 0 ? 0 : K_LARGEST;

    for (uint32_t i = 0; i < settings->shape_count; i++) {
        k = settings->shapes[i].k > k ? settings->shapes[i].k : k;
    }
    return k;
}

uint64_t mhcs_layout_largest(const struct mhcs_settings *settings)
{
    struct mhcs_layout layout;

    layout_set(&layout, MHCS_COEFFICIENTS, largest_k(settings), settings->rows, 4, 4, 4);
    return layout.bytes;
}

uint64_t mhcs_weights_largest(const struct mhcs_settings *settings)
{
    uint64_t end = 0;

    reserve(&end, (uint64_t)MHCS_COEFFICIENTS * largest_k(settings) * sizeof(float));
    return end;
}

uint64_t mhcs_rows_largest(const struct mhcs_settings *settings)
{
    uint64_t end = 0;

    reserve(&end, (uint64_t)settings->rows * largest_k(settings) * sizeof(float));
    return end;
}

void mhcs_slot_pool_fill(struct mhcs_slot_pool *pool)
{
    atomic_store_explicit(&pool->free, UINT64_MAX, memory_order_release);
}

static uint64_t span(uint32_t slot, uint32_t chunks)
{
    assert(chunks >= 1 && slot + chunks <= MHCS_CHUNKS);
    return UINT64_MAX >> (MHCS_CHUNKS - chunks) << slot;
}

int mhcs_slot_acquire(struct mhcs_slot_pool *pool, uint32_t chunks)
{
    uint_fast64_t free = atomic_load_explicit(&pool->free, memory_order_relaxed);

    for (;;) {
        uint64_t starts = free; /* bit i: chunks i, i+1, ... are free */
        uint32_t slot;

        for (uint32_t i = 1; i < chunks && starts != 0; i++) {
            starts &= free >> i;
        }
        if (starts == 0) {
            return -1;
        }
        slot = (uint32_t)__builtin_ctzll(starts);
        if (atomic_compare_exchange_weak_explicit(&pool->free, &free, free & ~span(slot, chunks),
                                                  memory_order_acquire, memory_order_relaxed)) {
            return (int)slot;
        }
    }
}

void mhcs_slot_release(struct mhcs_slot_pool *pool, uint32_t slot, uint32_t chunks)
{
    const uint64_t bits = span(slot, chunks);
    const uint64_t before = atomic_fetch_or_explicit(&pool->free, bits, memory_order_release);

    assert((before & bits) == 0);
    (void)before;
}
