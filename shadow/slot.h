/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: the memory a sample lives in from its snapshot to its record.
 *
 * The arena is cut into 64 chunks. A sample takes as many neighbouring ones as its call needs, and
 * is named by the first of them: how many samples fit at a time follows from the calls that are
 * made, not from the largest that could be. The free set is one 64-bit word, so taking never waits.
 *
 * A slot belongs to the application thread that acquired it until it is posted, then to the drain
 * thread until it is released.
 */
#ifndef MHCS_SLOT_H
#define MHCS_SLOT_H

#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shadow/shadow.h"

#define MHCS_CHUNKS 64

/* Byte offsets inside a slot: what the snapshot writes, then what the reference kernel writes, for
 * the operands and for the checkpoint's weights. */
struct mhcs_layout {
    uint64_t fn, x, c, old_c, scalars;
    uint64_t raw, abs_dot, square_sum;
    uint64_t checkpoint_raw, checkpoint_abs_dot;
    uint64_t bytes;
};
void mhcs_layout_set(struct mhcs_layout *layout, const struct mhcs_gemm *gemm, uint32_t rows);

/* Bytes that hold any GEMM of these settings: the largest K in force, fp32, MHCSHADOW_ROWS rows;
 * any weight matrix, and any sampled rows of x. */
uint64_t mhcs_layout_largest(const struct mhcs_settings *settings);
uint64_t mhcs_weights_largest(const struct mhcs_settings *settings);
uint64_t mhcs_rows_largest(const struct mhcs_settings *settings);

/* What a slot holds. `gemm` is a copy; its alpha and beta pointers are dead after the call. */
struct mhcs_slot_call {
    struct mhcs_gemm gemm;
    struct mhcs_layout layout;
    int64_t number, time; /* time: unix ns */
    uint64_t seed;        /* of mhcs_row_index() */
    uint32_t rows, chunks;
    float alpha, beta;    /* valid unless gemm.scalars_on_device */
    uint32_t parts_early; /* enum mhcs_part bits snapshot before the GEMM */
    bool abandoned;       /* no sample: only wait for the early snapshot, then release */
    bool graph;           /* of a replay */

    /* The drain thread's. */
    const struct mhcs_site *site;       /* NULL: not yet known */
    bool compared;                      /* the comparator was launched */
    bool checkpoint;                    /* and the checkpoint's weights were in it */
    struct mhcs_own_cublas *own_cublas; /* asked for the reference; NULL: the own kernel is */
    bool by_cublas;                     /* and it does it */
};

struct mhcs_slot {
    CUevent ready;    /* recorded on the application's stream behind the snapshot */
    CUevent done;     /* recorded on the spare stream behind the comparator */
    uint64_t address; /* as the device sees it */
    char *host;       /* the same memory as the host sees it; NULL in device memory */
    struct mhcs_row_result *results;           /* [MHCSHADOW_ROWS], pinned */
    struct mhcs_fingerprint_row *fingerprints; /* [MHCS_COEFFICIENTS], pinned */
    uint64_t results_address, fingerprints_address;
    struct mhcs_slot_call call;
};

struct mhcs_slot_pool {
    atomic_uint_fast64_t
        free; /* bit i: chunk i is free. Any thread. Acquire takes, release gives */
};
void mhcs_slot_pool_fill(struct mhcs_slot_pool *pool);
/* The first of `chunks` neighbouring ones; -1: so many are not free. */
int mhcs_slot_acquire(struct mhcs_slot_pool *pool, uint32_t chunks);
void mhcs_slot_release(struct mhcs_slot_pool *pool, uint32_t slot, uint32_t chunks);

#endif
