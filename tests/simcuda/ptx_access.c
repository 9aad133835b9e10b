/* SPDX-License-Identifier: Apache-2.0 */
/* ld, st, and instructions that only hint at memory. */
#include "ptx_access.h"

#include <string.h>

#include "ptx_parse.h"

/* Lanes that one check covers: neighbours at neighbouring addresses, or reading the same one. */
struct run {
    uint32_t first, count;
    bool same; /* all at the address of the first */
};

static struct run next_run(const uint64_t address[PTX_LANES], uint32_t mask, uint64_t size,
                           bool reads)
{
    struct run r = {.first = (uint32_t)__builtin_ctz(mask), .count = 1};
    const uint32_t i = r.first;
    r.same = reads && i + 1 < PTX_LANES && mask >> (i + 1) & 1 && address[i + 1] == address[i];
    const uint64_t step = r.same ? 0 : size;
    while (i + r.count < PTX_LANES && mask >> (i + r.count) & 1 &&
           address[i + r.count] == address[i] + step * r.count)
        r.count++;
    return r;
}

static uint32_t run_mask(struct run r)
{
    return (PTX_ALL_LANES >> (PTX_LANES - r.count)) << r.first;
}

/* Elements of `r` from memory to registers; lane i's bytes start at p + i*step. */
static void load_run(const struct ptx_warp *w, const struct ptx_access *a, struct run r,
                     const uint8_t *p, uint64_t step)
{
    for (uint32_t e = 0; e < a->count; e++) {
        uint8_t *to = w->regs + a->regs[e] + r.first * a->register_bytes;
        const uint8_t *from = p + e * a->type.bytes;
        if (a->sink[e])
            continue;
        if (a->register_bytes == a->type.bytes && step == a->type.bytes) {
            memcpy(to, from, (size_t)r.count * a->type.bytes);
        } else if (a->register_bytes == 4 && a->type.bytes == 4) {
            for (uint32_t i = 0; i < r.count; i++)
                memcpy(to + 4 * i, from + i * step, 4);
        } else {
            for (uint32_t i = 0; i < r.count; i++) {
                uint64_t value = 0;
                memcpy(&value, from + i * step, a->type.bytes);
                value = ptx_extend(value, a->type);
                memcpy(to + i * a->register_bytes, &value, a->register_bytes);
            }
        }
    }
}

static void store_run(const struct ptx_warp *w, const struct ptx_access *a, struct run r,
                      uint8_t *p, uint64_t step)
{
    for (uint32_t e = 0; e < a->count; e++) {
        const uint8_t *from = w->regs + a->regs[e] + r.first * a->register_bytes;
        for (uint32_t i = 0; i < r.count; i++)
            memcpy(p + i * step + e * a->type.bytes, from + i * a->register_bytes, a->type.bytes);
    }
}

/* All lanes of a warp read the same address: one reader, or two, stand for all of them. */
static const uint8_t *reach_same(struct ptx_warp *w, const struct ptx_insn *in, struct run r,
                                 enum ptx_space space, uint64_t address, uint64_t size)
{
    const uint32_t last = r.first + r.count - 1;
    if (r.count > 1 && ptx_reach(w, in, last, 1, space, address, size, SIM_READ) == NULL)
        return NULL;
    return ptx_reach(w, in, r.first, 1, space, address, size, SIM_READ);
}

static bool exec_access(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const struct ptx_access *a = in->access;
    const uint64_t size = (uint64_t)a->count * a->type.bytes;
    const bool reads = a->access == SIM_READ;
    uint64_t address[PTX_LANES];
    if (!ptx_addresses(w, in, mask, size, address))
        return false;
    while (mask != 0) {
        struct run r = next_run(address, mask, size, reads);
        uint64_t at = address[r.first];
        const enum ptx_space space = a->space == PTX_GENERIC ? ptx_resolve_generic(&at) : a->space;
        if (space == PTX_LOCAL || space == PTX_PARAM) { /* each lane has its own */
            r.count = 1;
            r.same = false;
        }
        uint8_t *p = r.same ? (uint8_t *)(uintptr_t)reach_same(w, in, r, space, at, size)
                            : ptx_reach(w, in, r.first, r.count, space, at, size, a->access);
        if (p == NULL)
            return false;
        if (reads)
            load_run(w, a, r, p, r.same ? 0 : size);
        else
            store_run(w, a, r, p, size);
        mask &= ~run_mask(r);
    }
    return true;
}

/* Cache policies and memory orders: blocks run one after the other, so every access is ordered. */
static void take_hints(struct ptx_text *t)
{
    static const char *const hints[] = {"weak",
                                        "volatile",
                                        "relaxed",
                                        "acquire",
                                        "release",
                                        "cta",
                                        "cluster",
                                        "gpu",
                                        "sys",
                                        "nc",
                                        "ca",
                                        "cg",
                                        "cs",
                                        "lu",
                                        "cv",
                                        "wb",
                                        "wt",
                                        "L1::evict_normal",
                                        "L1::evict_unchanged",
                                        "L1::evict_first",
                                        "L1::evict_last",
                                        "L1::no_allocate",
                                        "L2::evict_normal",
                                        "L2::evict_first",
                                        "L2::evict_last",
                                        "L2::64B",
                                        "L2::128B",
                                        "L2::256B",
                                        NULL};
    while (ptx_take_one(t, hints) >= 0) {
    }
}

static void take_elements(struct ptx_parser *p, const struct ptx_operand *o, struct ptx_access *a)
{
    const struct ptx_operand *items = o->kind == PTX_OPERAND_VECTOR ? o->items : o;
    const uint32_t count = o->kind == PTX_OPERAND_VECTOR ? o->count : 1;
    if (count != a->count)
        ptx_fail(&p->lex, "%u registers where %u are needed", count, a->count);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t bytes;
        a->sink[i] = items[i].kind == PTX_OPERAND_SINK;
        if (a->sink[i])
            continue;
        a->regs[i] = a->access == SIM_READ
                         ? ptx_destination_wide(p, &items[i], a->type.bytes, &bytes)
                         : ptx_source_wide(p, &items[i], a->type.bytes, &bytes);
        if (a->register_bytes != 0 && a->register_bytes != bytes)
            ptx_fail(&p->lex, "registers of different sizes in one vector");
        a->register_bytes = bytes;
    }
}

static bool exec_hint(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    return true;
}

/* Fences order accesses that a simulated block makes in order anyway; prefetches change nothing. */
static bool decode_hint(struct ptx_parser *p, struct ptx_text *t)
{
    static const char *const known[] = {
        "membar.cta",        "membar.gl",          "membar.sys",
        "fence.sc.cta",      "fence.sc.cluster",   "fence.sc.gpu",
        "fence.sc.sys",      "fence.acq_rel.cta",  "fence.acq_rel.cluster",
        "fence.acq_rel.gpu", "fence.acq_rel.sys",  "fence.sc",
        "fence.acq_rel",     "prefetch.global.L1", "prefetch.global.L2",
        "prefetch.L1",       "prefetch.L2",        "prefetchu.L1",
        "prefetch.local.L1", "prefetch.local.L2",  NULL};
    for (int i = 0; known[i] != NULL; i++) {
        if (strcmp(t->opcode, known[i]) != 0)
            continue;
        t->insn.class = PTX_EXEC;
        t->insn.exec = exec_hint;
        ptx_emit(p, t);
        return true;
    }
    return false;
}

bool ptx_decode_access(struct ptx_parser *p, struct ptx_text *t)
{
    static const char *const vectors[] = {"v2", "v4", "v8", NULL};
    const bool load = strcmp(t->base, "ld") == 0 || strcmp(t->base, "ldu") == 0;
    if (!load && strcmp(t->base, "st") != 0)
        return decode_hint(p, t);
    struct ptx_access *a = ptx_module_alloc(p->module, sizeof(*a));
    a->access = load ? SIM_READ : SIM_WRITE;
    ptx_take_space(t, a);
    take_hints(t);
    const int vector = ptx_take_one(t, vectors);
    a->count = (uint8_t)(vector < 0 ? 1 : 2 << vector);
    a->type = ptx_take_type(p, t);
    ptx_all_taken(p, t, 2);
    if (a->type.kind == PTX_PREDICATE || a->count * a->type.bytes > 32)
        ptx_fail(&p->lex, "unknown instruction \"%s\"", t->opcode);
    take_elements(p, &t->operands[load ? 0 : 1], a);
    ptx_take_address(p, &t->operands[load ? 1 : 0], a);
    t->insn.class = PTX_EXEC;
    t->insn.exec = exec_access;
    t->insn.access = a;
    ptx_emit(p, t);
    return true;
}
