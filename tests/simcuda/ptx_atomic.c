/* SPDX-License-Identifier: Apache-2.0 */
/* atom and red: one lane after the other, in the order of the lanes. */
#include <math.h>
#include <string.h>

#include "ptx_parse.h"
#include "ptx_access.h"

enum atomic_op {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCH,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_CAS
};
static const char *const op_names[] = {"add",  "min", "max", "and", "or", "xor",
                                       "exch", "inc", "dec", "cas", NULL};

static uint64_t float_sum(uint64_t a, uint64_t b, uint8_t bytes)
{
    if (bytes == 8) {
        double x, y;
        memcpy(&x, &a, 8);
        memcpy(&y, &b, 8);
        x += y;
        memcpy(&a, &x, 8);
        return a;
    }
    float x, y;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    x += y;
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return isnan(x) ? 0x7fffffffu : bits;
}

/* The new value; old, b and c are extended by the type. */
static uint64_t updated(const struct ptx_insn *in, uint64_t old, uint64_t b, uint64_t c)
{
    const struct ptx_type type = in->access->type;
    const bool less = type.kind == PTX_SIGNED ? (int64_t)old < (int64_t)b : old < b;
    switch ((enum atomic_op)in->mode) {
    case ATOMIC_ADD:
        return type.kind == PTX_FLOAT ? float_sum(old, b, type.bytes) : old + b;
    case ATOMIC_MIN:
        return less ? old : b;
    case ATOMIC_MAX:
        return less ? b : old;
    case ATOMIC_AND:
        return old & b;
    case ATOMIC_OR:
        return old | b;
    case ATOMIC_XOR:
        return old ^ b;
    case ATOMIC_EXCH:
        return b;
    case ATOMIC_INC:
        return old >= b ? 0 : old + 1;
    case ATOMIC_DEC:
        return old == 0 || old > b ? b : old - 1;
    case ATOMIC_CAS:
        return old == b ? c : old;
    }
    return old;
}

static bool exec_atomic(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const struct ptx_access *a = in->access;
    const uint8_t bytes = a->type.bytes;
    uint64_t address[PTX_LANES];
    if (!ptx_addresses(w, in, mask, bytes, address))
        return false;
    PTX_FOR_LANES(lane, mask)
    {
        uint64_t at = address[lane], old = 0;
        const enum ptx_space space = a->space == PTX_GENERIC ? ptx_resolve_generic(&at) : a->space;
        void *p = ptx_reach(w, in, lane, 1, space, at, bytes, SIM_ATOMIC);
        if (p == NULL)
            return false;
        memcpy(&old, p, bytes);
        const uint64_t b = ptx_extend(ptx_get(w, in->src[0], bytes, lane), a->type);
        const uint64_t c = ptx_get(w, in->src[1], bytes, lane);
        const uint64_t new = updated(in, ptx_extend(old, a->type), b, c);
        memcpy(p, &new, bytes);
        if (in->dst != PTX_NO_REGISTER)
            ptx_set(w, in->dst, bytes, lane, old);
    }
    return true;
}

static bool op_allowed(enum atomic_op op, struct ptx_type type)
{
    const bool wide = type.bytes == 4 || type.bytes == 8;
    switch (op) {
    case ATOMIC_ADD:
        return wide && type.kind != PTX_BITS;
    case ATOMIC_MIN:
    case ATOMIC_MAX:
        return wide && (type.kind == PTX_SIGNED || type.kind == PTX_UNSIGNED);
    case ATOMIC_INC:
    case ATOMIC_DEC:
        return type.bytes == 4 && type.kind == PTX_UNSIGNED;
    case ATOMIC_CAS:
        return type.kind == PTX_BITS && type.bytes >= 2;
    default:
        return wide && type.kind == PTX_BITS;
    }
}

bool ptx_decode_atomic(struct ptx_parser *p, struct ptx_text *t)
{
    static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel", "cta",
                                         "cluster", "gpu",     "sys",     NULL};
    const bool red = strcmp(t->base, "red") == 0;
    if (!red && strcmp(t->base, "atom") != 0)
        return false;
    struct ptx_access *a = ptx_module_alloc(p->module, sizeof(*a));
    a->access = SIM_ATOMIC;
    ptx_take_space(t, a);
    while (ptx_take_one(t, orders) >= 0) {
    }
    const int op = ptx_take_one(t, op_names);
    a->type = ptx_take_type(p, t);
    if (op < 0 || !op_allowed((enum atomic_op)op, a->type) ||
        (red && (op == ATOMIC_EXCH || op == ATOMIC_CAS)) || a->space == PTX_LOCAL ||
        a->space == PTX_PARAM)
        ptx_fail(&p->lex, "unknown instruction \"%s\"", t->opcode);
    const uint32_t first = red ? 0 : 1; /* of the operands: the address */
    ptx_all_taken(p, t, first + (op == ATOMIC_CAS ? 3 : 2));
    ptx_take_address(p, &t->operands[first], a);
    t->insn.src[0] = ptx_source(p, &t->operands[first + 1], a->type.bytes);
    t->insn.src[1] =
        op == ATOMIC_CAS ? ptx_source(p, &t->operands[first + 2], a->type.bytes) : t->insn.src[0];
    t->insn.dst = red ? PTX_NO_REGISTER : ptx_destination(p, &t->operands[0], a->type.bytes);
    t->insn.class = PTX_EXEC;
    t->insn.exec = exec_atomic;
    t->insn.mode = (uint8_t)op;
    t->insn.access = a;
    ptx_emit(p, t);
    return true;
}
