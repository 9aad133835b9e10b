/* SPDX-License-Identifier: Apache-2.0 */
/* Extended-precision integers: add.cc, addc, sub.cc, subc, mad.lo.cc, madc, ... */
#include <string.h>

#include "ptx_parse.h"
#include "ptx_run.h"

enum { TAKES_CARRY = 1, GIVES_CARRY = 2, SUBTRACTS = 4, HIGH_PRODUCT = 8, LOW_PRODUCT = 16 };

/* The carry is a predicate register of the function, src[3]; sub keeps its borrow there. */
static bool exec_carry(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const uint8_t bytes = in->type.bytes;
    uint32_t carry = in->mode & TAKES_CARRY ? *ptx_predicate(w, in->src[3]) : 0, next = 0;
    PTX_FOR_LANES(lane, mask)
    {
        const uint64_t a = ptx_get(w, in->src[0], bytes, lane);
        const uint64_t b = ptx_get(w, in->src[1], bytes, lane);
        const unsigned __int128 one = carry >> lane & 1;
        unsigned __int128 x = a, y = b;
        if (in->mode & (HIGH_PRODUCT | LOW_PRODUCT)) {
            const bool is_signed = in->type.kind == PTX_SIGNED;
            const unsigned __int128 product =
                is_signed ? (unsigned __int128)((__int128)(int64_t)ptx_extend(a, in->type) *
                                                (int64_t)ptx_extend(b, in->type))
                          : (unsigned __int128)a * b;
            x = in->mode & HIGH_PRODUCT ? product >> 8 * bytes : product;
            y = ptx_get(w, in->src[2], bytes, lane);
        }
        x &= UINT64_MAX >> (64 - 8 * bytes);
        const unsigned __int128 sum = in->mode & SUBTRACTS ? x - y - one : x + y + one;
        next |= (uint32_t)(sum >> 8 * bytes & 1) << lane;
        ptx_set(w, in->dst, bytes, lane, (uint64_t)sum);
    }
    if (in->mode & GIVES_CARRY)
        ptx_set_predicate(w, in->src[3], mask, next);
    return true;
}

static uint32_t carry_register(struct ptx_parser *p)
{
    if (p->carry == PTX_NO_REGISTER)
        p->carry = ptx_new_registers(p, 0, 1);
    return p->carry;
}

bool ptx_decode_carry(struct ptx_parser *p, struct ptx_text *t)
{
    static const struct {
        const char *name;
        uint8_t mode;
    } bases[] = {{"add", 0},         {"addc", TAKES_CARRY},
                 {"sub", SUBTRACTS}, {"subc", SUBTRACTS | TAKES_CARRY},
                 {"mad", 0},         {"madc", TAKES_CARRY}};
    const bool gives = ptx_take(t, "cc");
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        uint8_t mode = bases[i].mode;
        if (strcmp(t->base, bases[i].name) != 0 || (!gives && !(mode & TAKES_CARRY)))
            continue;
        const bool product = t->base[0] == 'm';
        if (product)
            mode |= ptx_take(t, "hi") ? HIGH_PRODUCT : ptx_take(t, "lo") ? LOW_PRODUCT : 0;
        t->insn.type = ptx_take_type(p, t);
        t->insn.mode = (uint8_t)(mode | (gives ? GIVES_CARRY : 0));
        ptx_all_taken(p, t, product ? 4 : 3);
        for (uint32_t k = 0; k < (product ? 3u : 2u); k++)
            t->insn.src[k] = ptx_source(p, &t->operands[1 + k], t->insn.type.bytes);
        t->insn.src[3] = carry_register(p);
        t->insn.dst = ptx_destination(p, &t->operands[0], t->insn.type.bytes);
        t->insn.class = PTX_EXEC;
        t->insn.exec = exec_carry;
        ptx_emit(p, t);
        return true;
    }
    return false;
}
