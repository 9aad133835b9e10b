/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a running launch, shared by the scheduler (ptx_run.c) and the instructions. */
#ifndef PTX_RUN_H
#define PTX_RUN_H

#include "ptx_internal.h"
#include "race.h"

#define PTX_BARRIERS 16

#define PTX_FAULT_LAUNCH     719 /* CUDA_ERROR_LAUNCH_FAILED */
#define PTX_FAULT_ADDRESS    700 /* CUDA_ERROR_ILLEGAL_ADDRESS */
#define PTX_FAULT_MISALIGNED 716 /* CUDA_ERROR_MISALIGNED_ADDRESS */

enum ptx_group_state {
    PTX_GROUP_READY,
    PTX_GROUP_WAITS, /* at a PTX_SYNC instruction for other lanes */
    PTX_GROUP_LETS   /* at a call: lets the others come first, but does not need them */
};

/* Lanes of a warp at the same program counter. */
struct ptx_group {
    uint32_t pc, mask;
    enum ptx_group_state state;
};

/* A function that a warp is in. */
struct ptx_frame {
    size_t bytes; /* all of it */
    const struct ptx_kernel *function;
    struct ptx_frame *below; /* caller, or next spare frame */
    uint32_t entered;        /* lanes that came */
    struct ptx_group groups[PTX_LANES];
    uint32_t group_count;
    uint64_t local_base; /* address of the frame's local memory, in each lane */
    uint8_t *params;     /* .param variables, one lane after the other */
    uint8_t *local;      /* likewise; local_bytes of values, then as many initialised flags */
    _Alignas(64) uint8_t regs[];
};

struct ptx_block;

struct ptx_warp {
    struct ptx_block *block;
    struct ptx_frame *top;
    uint8_t *regs;   /* of the top frame */
    uint32_t index;  /* in the block */
    uint32_t all;    /* lanes that exist */
    uint32_t exited; /* lanes that are done */
    struct sim_where where;
    const struct ptx_insn *waits; /* at a block barrier, or NULL */
    uint32_t barrier;             /* its number */
    uint32_t vote;                /* lanes with a true predicate, for bar.red */
    uint32_t lanes_mask;          /* what `lanes` stands for */
    _Alignas(64) uint32_t lanes[PTX_LANES];
};

struct ptx_barrier {
    uint32_t expected, arrived; /* threads; arrived 0: idle */
    uint32_t all, any, count;   /* bar.red: of the predicates so far */
};

struct ptx_block {
    const struct ptx_launch *launch;
    struct sim_fault *fault;
    struct ptx_warp *warps;
    uint32_t warp_count;
    uint32_t index[3];
    uint32_t epoch; /* barriers passed: see struct sim_where */
    struct ptx_barrier barriers[PTX_BARRIERS];
    uint8_t *shared, *shared_init;
    uint32_t shared_bytes;
    uint32_t dynamic_shared; /* address of what .extern .shared names */
    struct race_area shared_races;
    uint64_t steps; /* warp instructions, of the whole launch */
    uint64_t steps_limit;
};

/* Sets the fault of the lowest lane in `mask`, unless one stands; returns false. */
bool ptx_fault(struct ptx_warp *w, const struct ptx_insn *insn, uint32_t mask, int code,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Expands a mask to one word per lane, for the lane functions. */
static inline const uint32_t *ptx_lanes(struct ptx_warp *w, uint32_t mask)
{
    if (w->lanes_mask != mask) {
        w->lanes_mask = mask;
        for (uint32_t i = 0; i < PTX_LANES; i++)
            w->lanes[i] = mask & (1u << i) ? PTX_ALL_LANES : 0;
    }
    return w->lanes;
}

static inline uint32_t *ptx_predicate(const struct ptx_warp *w, uint32_t slot)
{
    return (uint32_t *)(void *)(w->regs + slot);
}

static inline void ptx_set_predicate(const struct ptx_warp *w, uint32_t slot, uint32_t mask,
                                     uint32_t value)
{
    uint32_t *p = ptx_predicate(w, slot);
    *p = (*p & ~mask) | (value & mask);
}

/* One lane of a register of 2, 4 or 8 bytes. */
static inline uint64_t ptx_get(const struct ptx_warp *w, uint32_t slot, uint8_t bytes,
                               uint32_t lane)
{
    const void *r = w->regs + slot;
    return bytes == 4   ? ((const uint32_t *)r)[lane]
           : bytes == 8 ? ((const uint64_t *)r)[lane]
                        : ((const uint16_t *)r)[lane];
}

static inline void ptx_put(void *to, uint8_t bytes, uint32_t lane, uint64_t value)
{
    if (bytes == 4)
        ((uint32_t *)to)[lane] = (uint32_t)value;
    else if (bytes == 8)
        ((uint64_t *)to)[lane] = value;
    else
        ((uint16_t *)to)[lane] = (uint16_t)value;
}

static inline void ptx_set(const struct ptx_warp *w, uint32_t slot, uint8_t bytes, uint32_t lane,
                           uint64_t value)
{
    ptx_put(w->regs + slot, bytes, lane, value);
}

/* Value of `type` held in the low bytes of x, extended to 64 bits by its sign. */
static inline uint64_t ptx_extend(uint64_t x, struct ptx_type type)
{
    const unsigned shift = 64u - 8u * type.bytes;
    return type.kind == PTX_SIGNED ? (uint64_t)((int64_t)(x << shift) >> shift)
                                   : x << shift >> shift;
}

/* <fenv.h> names of .rn, .rz, .rm, .rp. */
extern const int ptx_rounding_modes[4];

/* Loops over the lanes of a mask. */
#define PTX_FOR_LANES(lane, mask)                                                                  \
    for (uint32_t lane##_rest = (mask), lane;                                                      \
         lane##_rest != 0 && ((lane = (uint32_t)__builtin_ctz(lane##_rest)), true);                \
         lane##_rest &= lane##_rest - 1)

#endif
