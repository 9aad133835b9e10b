/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions in which the lanes of a warp see each other: shfl, vote, match, redux, ... */
#include <string.h>

#include "ptx_parse.h"
#include "ptx_run.h"

/* The scheduler runs these once every lane of each membermask is in `mask`. */
static uint32_t members(const struct ptx_warp *w, const struct ptx_insn *in, uint32_t lane)
{
    return (uint32_t)ptx_get(w, in->src[3], 4, lane);
}

enum shuffle { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };

/* Source lane by the pseudo-code of the PTX ISA; false: out of range, the lane keeps its own. */
static bool shuffle_source(enum shuffle mode, uint32_t lane, uint32_t b, uint32_t c,
                           uint32_t *ret_from)
{
    const uint32_t segment = c >> 8 & 31, clamp = c & 31;
    const uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    uint32_t from = lane;
    bool in_range = false;
    b &= 31;
    switch (mode) {
    case SHUFFLE_UP:
        in_range = (int32_t)(lane - b) >= (int32_t)last;
        from = lane - b;
        break;
    case SHUFFLE_DOWN:
        from = lane + b;
        in_range = from <= last;
        break;
    case SHUFFLE_BFLY:
        from = lane ^ b;
        in_range = from <= last;
        break;
    case SHUFFLE_IDX:
        from = first | (b & ~segment);
        in_range = from <= last;
        break;
    }
    *ret_from = in_range ? from : lane;
    return in_range;
}

/* Of sums over a warp: all lanes, with the partner that lies as far away for each. */
static bool is_butterfly_of_all(const struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const uint32_t *b = (const uint32_t *)(const void *)(w->regs + in->src[1]);
    const uint32_t *c = (const uint32_t *)(const void *)(w->regs + in->src[2]);
    uint32_t off = b[0] & ~31u;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        off |= (b[lane] ^ b[0]) | (c[lane] ^ 31);
    return in->mode == SHUFFLE_BFLY && mask == PTX_ALL_LANES && off == 0;
}

static bool exec_shfl(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    uint32_t value[PTX_LANES], predicate = 0;
    memcpy(value, w->regs + in->src[0], sizeof(value));
    if (is_butterfly_of_all(w, in, mask)) {
        const uint32_t apart = (uint32_t)ptx_get(w, in->src[1], 4, 0);
        PTX_FOR_LANES(lane, mask)
        ptx_set(w, in->dst, 4, lane, value[lane ^ apart]);
        if (in->dst2 != PTX_NO_REGISTER)
            ptx_set_predicate(w, in->dst2, mask, mask);
        return true;
    }
    PTX_FOR_LANES(lane, mask)
    {
        const uint32_t b = (uint32_t)ptx_get(w, in->src[1], 4, lane);
        const uint32_t c = (uint32_t)ptx_get(w, in->src[2], 4, lane);
        uint32_t from;
        if (shuffle_source((enum shuffle)in->mode, lane, b, c, &from))
            predicate |= 1u << lane;
        if (!(mask >> from & 1))
            return ptx_fault(w, in, 1u << lane, PTX_FAULT_LAUNCH,
                             "%s reads lane %u, which does not take part", in->name, from);
        ptx_set(w, in->dst, 4, lane, value[from]);
    }
    if (in->dst2 != PTX_NO_REGISTER)
        ptx_set_predicate(w, in->dst2, mask, predicate);
    return true;
}

enum vote { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static bool exec_vote(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const uint32_t value = *ptx_predicate(w, in->src[2]) ^ (in->negate_c ? PTX_ALL_LANES : 0);
    uint32_t result = 0;
    PTX_FOR_LANES(lane, mask)
    {
        const uint32_t all = members(w, in, lane) & mask, set = value & all;
        const bool results[] = {
            [VOTE_ALL] = set == all, [VOTE_ANY] = set != 0, [VOTE_UNI] = set == all || set == 0};
        if (in->mode == VOTE_BALLOT)
            ptx_set(w, in->dst, 4, lane, set);
        else if (results[in->mode])
            result |= 1u << lane;
    }
    if (in->mode != VOTE_BALLOT)
        ptx_set_predicate(w, in->dst, mask, result);
    return true;
}

/* mode 0: match.any, 1: match.all */
static bool exec_match(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    uint32_t same[PTX_LANES], all_same = 0;
    PTX_FOR_LANES(lane, mask)
    {
        const uint64_t value = ptx_get(w, in->src[0], in->type.bytes, lane);
        same[lane] = 0;
        PTX_FOR_LANES(other, members(w, in, lane) & mask)
        {
            if (ptx_get(w, in->src[0], in->type.bytes, other) == value)
                same[lane] |= 1u << other;
        }
        if (same[lane] == (members(w, in, lane) & mask))
            all_same |= 1u << lane;
    }
    PTX_FOR_LANES(lane, mask)
    ptx_set(w, in->dst, 4, lane, in->mode == 0 || all_same >> lane & 1 ? same[lane] : 0);
    if (in->dst2 != PTX_NO_REGISTER)
        ptx_set_predicate(w, in->dst2, mask, all_same);
    return true;
}

enum reduction { REDUCE_ADD, REDUCE_MIN, REDUCE_MAX, REDUCE_AND, REDUCE_OR, REDUCE_XOR };

static uint32_t reduced(const struct ptx_insn *in, uint32_t a, uint32_t b)
{
    const bool less = in->type.kind == PTX_SIGNED ? (int32_t)a < (int32_t)b : a < b;
    const uint32_t results[] = {
        [REDUCE_ADD] = a + b, [REDUCE_MIN] = less ? a : b, [REDUCE_MAX] = less ? b : a,
        [REDUCE_AND] = a & b, [REDUCE_OR] = a | b,         [REDUCE_XOR] = a ^ b};
    return results[in->mode];
}

static bool exec_redux(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    uint32_t value[PTX_LANES];
    memcpy(value, w->regs + in->src[0], sizeof(value));
    PTX_FOR_LANES(lane, mask)
    {
        const uint32_t all = members(w, in, lane) & mask;
        uint32_t result = value[__builtin_ctz(all)];
        PTX_FOR_LANES(other, all & (all - 1))
        result = reduced(in, result, value[other]);
        ptx_set(w, in->dst, 4, lane, result);
    }
    return true;
}

static bool exec_activemask(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    PTX_FOR_LANES(lane, mask)
    ptx_set(w, in->dst, 4, lane, mask);
    return true;
}

/* The lowest member is elected. */
static bool exec_elect(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    PTX_FOR_LANES(lane, mask)
    {
        const uint32_t leader = (uint32_t)__builtin_ctz(members(w, in, lane) & mask);
        ptx_set(w, in->dst, 4, lane, leader);
        if (in->dst2 != PTX_NO_REGISTER)
            ptx_set_predicate(w, in->dst2, 1u << lane, lane == leader ? PTX_ALL_LANES : 0);
    }
    return true;
}

static void emit_sync(struct ptx_parser *p, struct ptx_text *t, ptx_exec_fn *exec, int mode,
                      const struct ptx_operand *mask)
{
    t->insn.src[3] = ptx_source(p, mask, 4);
    t->insn.class = PTX_SYNC;
    t->insn.sync = PTX_SYNC_TOGETHER;
    t->insn.exec = exec;
    t->insn.mode = (uint8_t)mode;
    ptx_emit(p, t);
}

static void decode_shfl(struct ptx_parser *p, struct ptx_text *t, int mode)
{
    ptx_take(t, "b32");
    ptx_all_taken(p, t, 5);
    for (uint32_t i = 0; i < 3; i++)
        t->insn.src[i] = ptx_source(p, &t->operands[1 + i], 4);
    t->insn.dst2 = ptx_second_predicate(p, &t->operands[0]);
    t->insn.dst = ptx_destination(p, &t->operands[0], 4);
    emit_sync(p, t, exec_shfl, mode, &t->operands[4]);
}

static void decode_vote(struct ptx_parser *p, struct ptx_text *t, int mode)
{
    ptx_take(t, mode == VOTE_BALLOT ? "b32" : "pred");
    ptx_all_taken(p, t, 3);
    struct ptx_operand value = t->operands[1];
    t->insn.negate_c = value.negated;
    value.negated = false;
    t->insn.src[2] = ptx_source(p, &value, 0);
    t->insn.dst = ptx_destination(p, &t->operands[0], mode == VOTE_BALLOT ? 4 : 0);
    emit_sync(p, t, exec_vote, mode, &t->operands[2]);
}

static void decode_match(struct ptx_parser *p, struct ptx_text *t, int mode)
{
    t->insn.type = ptx_take_type(p, t);
    ptx_all_taken(p, t, 3);
    t->insn.src[0] = ptx_source(p, &t->operands[1], t->insn.type.bytes);
    t->insn.dst2 = ptx_second_predicate(p, &t->operands[0]);
    t->insn.dst = ptx_destination(p, &t->operands[0], 4);
    emit_sync(p, t, exec_match, mode, &t->operands[2]);
}

static void decode_redux(struct ptx_parser *p, struct ptx_text *t, int mode)
{
    t->insn.type = ptx_take_type(p, t);
    if (t->insn.type.bytes != 4 || t->insn.type.kind == PTX_FLOAT)
        ptx_fail(&p->lex, "unknown instruction \"%s\"", t->opcode);
    ptx_all_taken(p, t, 3);
    t->insn.src[0] = ptx_source(p, &t->operands[1], 4);
    t->insn.dst = ptx_destination(p, &t->operands[0], 4);
    emit_sync(p, t, exec_redux, mode, &t->operands[2]);
}

static bool decode_activemask(struct ptx_parser *p, struct ptx_text *t)
{
    ptx_take(t, "b32");
    ptx_all_taken(p, t, 1);
    t->insn.dst = ptx_destination(p, &t->operands[0], 4);
    t->insn.class = PTX_EXEC;
    t->insn.exec = exec_activemask;
    ptx_emit(p, t);
    return true;
}

bool ptx_decode_warp(struct ptx_parser *p, struct ptx_text *t)
{
    static const struct {
        const char *base;
        void (*decode)(struct ptx_parser *, struct ptx_text *, int mode);
        const char *modes[8];
    } families[] = {{"shfl", decode_shfl, {"up", "down", "bfly", "idx", NULL}},
                    {"vote", decode_vote, {"all", "any", "uni", "ballot", NULL}},
                    {"match", decode_match, {"any", "all", NULL}},
                    {"redux", decode_redux, {"add", "min", "max", "and", "or", "xor", NULL}}};
    if (strcmp(t->base, "activemask") == 0)
        return decode_activemask(p, t);
    if (strcmp(t->base, "elect") == 0 && ptx_take(t, "sync")) {
        ptx_all_taken(p, t, 2);
        t->insn.dst2 = ptx_second_predicate(p, &t->operands[0]);
        t->insn.dst = ptx_destination(p, &t->operands[0], 4);
        emit_sync(p, t, exec_elect, 0, &t->operands[1]);
        return true;
    }
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (strcmp(t->base, families[i].base) != 0)
            continue;
        const int mode = ptx_take_one(t, families[i].modes);
        if (mode < 0 || !ptx_take(t, "sync"))
            return false; /* the forms without .sync are gone since sm_70 */
        families[i].decode(p, t, mode);
        return true;
    }
    return false;
}
