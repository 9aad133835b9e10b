/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of a block (bar, barrier) and of a warp (bar.warp.sync). */
#include <string.h>

#include "ptx_parse.h"
#include "ptx_run.h"

enum { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };

/* Lets a warp that waited go on. */
static void release(struct ptx_warp *w, const struct ptx_barrier *b, uint32_t epoch)
{
    const struct ptx_insn *in = w->waits;
    w->where.epoch = w->where.barrier = epoch;
    w->waits = NULL;
    if (in->mode == BAR_POPC) {
        PTX_FOR_LANES(lane, w->all)
        ptx_set(w, in->dst, 4, lane, b->count);
    } else if (in->mode == BAR_AND || in->mode == BAR_OR) {
        const bool result = in->mode == BAR_AND ? b->all : b->any;
        ptx_set_predicate(w, in->dst, w->all, result ? PTX_ALL_LANES : 0);
    }
}

static void complete(struct ptx_block *block, uint32_t id)
{
    struct ptx_barrier *b = &block->barriers[id];
    block->epoch++;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        if (block->warps[i].waits != NULL && block->warps[i].barrier == id)
            release(&block->warps[i], b, block->epoch);
    }
    *b = (struct ptx_barrier){.arrived = 0};
}

/* The whole warp has come. */
static bool exec_barrier(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(mask);
    const uint32_t id = (uint32_t)ptx_get(w, in->src[0], 4, lane);
    const uint32_t all = w->block->warp_count * PTX_LANES;
    const uint32_t given =
        in->src[1] == PTX_NO_REGISTER ? all : (uint32_t)ptx_get(w, in->src[1], 4, lane);
    if (id >= PTX_BARRIERS)
        return ptx_fault(w, in, mask, PTX_FAULT_LAUNCH, "waits at barrier %u; there are %u", id,
                         PTX_BARRIERS);
    if (given == 0 || given % PTX_LANES != 0 || given > all)
        return ptx_fault(w, in, mask, PTX_FAULT_LAUNCH,
                         "waits at barrier %u for %u threads: not a number of whole warps of the "
                         "block",
                         id, given);
    struct ptx_barrier *b = &w->block->barriers[id];
    if (b->arrived == 0)
        *b = (struct ptx_barrier){.expected = given, .all = 1};
    if (b->expected != given)
        return ptx_fault(w, in, mask, PTX_FAULT_LAUNCH,
                         "waits at barrier %u for %u threads, where another warp waits for %u", id,
                         given, b->expected);
    if (in->mode >= BAR_POPC) {
        const uint32_t value =
            (*ptx_predicate(w, in->src[2]) ^ (in->negate_c ? PTX_ALL_LANES : 0)) & w->all;
        b->all &= value == w->all;
        b->any |= value != 0;
        b->count += (uint32_t)__builtin_popcount(value);
    }
    b->arrived += PTX_LANES;
    if (in->mode != BAR_ARRIVE) {
        w->waits = in;
        w->barrier = id;
    }
    if (b->arrived == b->expected)
        complete(w->block, id);
    return true;
}

static bool exec_warp_barrier(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    w->where.epoch = ++w->block->epoch;
    return true;
}

static void decode_warp_barrier(struct ptx_parser *p, struct ptx_text *t)
{
    ptx_take(t, "sync");
    ptx_all_taken(p, t, 1);
    t->insn.src[3] = ptx_source(p, &t->operands[0], 4);
    t->insn.class = PTX_SYNC;
    t->insn.sync = PTX_SYNC_WARP;
    t->insn.exec = exec_warp_barrier;
    ptx_emit(p, t);
}

static int take_mode(struct ptx_text *t)
{
    static const char *const reductions[] = {"popc", "and", "or", NULL};
    if (ptx_take(t, "sync"))
        return BAR_SYNC;
    if (ptx_take(t, "arrive"))
        return BAR_ARRIVE;
    if (!ptx_take(t, "red"))
        return -1;
    const int op = ptx_take_one(t, reductions);
    return op < 0 || !ptx_take(t, op == 0 ? "u32" : "pred") ? -1 : BAR_POPC + op;
}

bool ptx_decode_barrier(struct ptx_parser *p, struct ptx_text *t)
{
    const bool bar = strcmp(t->base, "bar") == 0;
    if (!bar && strcmp(t->base, "barrier") != 0)
        return false;
    if (bar && ptx_take(t, "warp")) {
        decode_warp_barrier(p, t);
        return true;
    }
    ptx_take(t, "cta");
    const bool aligned = ptx_take(t, "aligned") || bar;
    const int mode = take_mode(t);
    if (mode < 0)
        return false;
    const uint32_t first = mode >= BAR_POPC; /* of the operands: the barrier's number */
    const uint32_t last = mode >= BAR_POPC;  /* and behind it the predicate */
    if (t->count < first + 1 + last || t->count > first + 2 + last)
        ptx_fail(&p->lex, "\"%s\" has %u operands", t->opcode, t->count);
    ptx_all_taken(p, t, t->count);
    t->insn.src[0] = ptx_source(p, &t->operands[first], 4);
    t->insn.src[1] =
        t->count - first - last == 2 ? ptx_source(p, &t->operands[first + 1], 4) : PTX_NO_REGISTER;
    if (mode >= BAR_POPC) {
        struct ptx_operand value = t->operands[t->count - 1];
        t->insn.negate_c = value.negated;
        value.negated = false;
        t->insn.src[2] = ptx_source(p, &value, 0);
        t->insn.dst = ptx_destination(p, &t->operands[0], mode == BAR_POPC ? 4 : 0);
    }
    t->insn.class = PTX_SYNC;
    t->insn.sync = aligned || mode != BAR_SYNC ? PTX_SYNC_BLOCK : PTX_SYNC_BLOCK_UNALIGNED;
    t->insn.exec = exec_barrier;
    t->insn.mode = (uint8_t)mode;
    ptx_emit(p, t);
    return true;
}
