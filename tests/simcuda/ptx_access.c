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

/* Are all lanes `step` apart? Without a branch: the usual access of a whole warp. */
static bool evenly_apart(const uint64_t address[PTX_LANES], uint64_t step)
{
    uint64_t off = 0;
    for (uint32_t i = 1; i < PTX_LANES; i++)
        off |= address[i] ^ (address[0] + step * i);
    return off == 0;
}

static struct run next_run(const uint64_t address[PTX_LANES], uint32_t mask, uint64_t size,
                           bool reads)
{
    if (mask == PTX_ALL_LANES && evenly_apart(address, size))
        return (struct run){.first = 0, .count = PTX_LANES};
    if (mask == PTX_ALL_LANES && reads && evenly_apart(address, 0))
        return (struct run){.first = 0, .count = PTX_LANES, .same = true};
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

/* Of a whole warp, lane after lane: vectors of four words, each into four registers. */
static void load_quads(const struct ptx_warp *w, const struct ptx_access *a, const uint8_t *p)
{
    uint32_t words[PTX_LANES][4];
    memcpy(words, p, sizeof(words));
    for (uint32_t e = 0; e < 4; e++) {
        uint32_t *to = (uint32_t *)(void *)(w->regs + a->regs[e]);
        for (uint32_t i = 0; i < PTX_LANES && !a->sink[e]; i++)
            to[i] = words[i][e];
    }
}

/* One element of `count` lanes, `step` bytes apart in memory; inlined for each pair of sizes. */
static inline __attribute__((always_inline)) void load_lanes(uint8_t *to, uint32_t wide,
                                                             const uint8_t *from, uint32_t bytes,
                                                             const struct ptx_access *a,
                                                             uint32_t count, uint64_t step)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = 0;
        memcpy(&value, from + i * step, bytes);
        if (wide > bytes)
            value = ptx_extend(value, a->type);
        memcpy(to + (size_t)i * wide, &value, wide);
    }
}

static inline __attribute__((always_inline)) void store_lanes(const uint8_t *from, uint32_t wide,
                                                              uint8_t *to, uint32_t bytes,
                                                              uint32_t count, uint64_t step)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(to + i * step, from + (size_t)i * wide, bytes);
}

/* Elements of `r` from memory to registers; lane i's bytes start at p + i*step. */
static void load_run(const struct ptx_warp *w, const struct ptx_access *a, struct run r,
                     const uint8_t *p, uint64_t step)
{
    if (r.count == PTX_LANES && a->count == 4 && a->register_bytes == 4 && a->type.bytes == 4 &&
        step == 16) {
        load_quads(w, a, p);
        return;
    }
    for (uint32_t e = 0; e < a->count; e++) {
        const uint32_t wide = a->register_bytes, bytes = a->type.bytes;
        uint8_t *to = w->regs + a->regs[e] + r.first * wide;
        const uint8_t *from = p + e * bytes;
        if (a->sink[e])
            continue;
        if (wide == 4 && bytes == 4)
            load_lanes(to, 4, from, 4, a, r.count, step);
        else if (wide == 2 && bytes == 2)
            load_lanes(to, 2, from, 2, a, r.count, step);
        else if (wide == 8 && bytes == 8)
            load_lanes(to, 8, from, 8, a, r.count, step);
        else
            load_lanes(to, wide, from, bytes, a, r.count, step);
    }
}

static void store_run(const struct ptx_warp *w, const struct ptx_access *a, struct run r,
                      uint8_t *p, uint64_t step)
{
    for (uint32_t e = 0; e < a->count; e++) {
        const uint32_t wide = a->register_bytes, bytes = a->type.bytes;
        const uint8_t *from = w->regs + a->regs[e] + r.first * wide;
        uint8_t *to = p + e * bytes;
        if (wide == 4 && bytes == 4)
            store_lanes(from, 4, to, 4, r.count, step);
        else if (wide == 2 && bytes == 2)
            store_lanes(from, 2, to, 2, r.count, step);
        else
            store_lanes(from, wide, to, bytes, r.count, step);
    }
}

/* All lanes of a run read the same address: one reader, or two, stand for all of them. */
static const uint8_t *reach_same(struct ptx_warp *w, const struct ptx_insn *in, struct run r,
                                 enum ptx_space space, uint64_t address, uint64_t size)
{
    const uint32_t last = r.first + r.count - 1;
    if (r.count > 1 && space != PTX_PARAM &&
        ptx_reach(w, in, last, 1, space, address, size, SIM_READ) == NULL)
        return NULL;
    return ptx_reach(w, in, r.first, 1, space, address, size, SIM_READ);
}

/* Does .param memory hold the same in all lanes there? What a function is called with differs. */
static bool is_parameter(const struct ptx_warp *w, uint64_t address, uint64_t size)
{
    const struct ptx_kernel *f = w->top->function;
    return f->entry && address <= f->param_bytes && size <= f->param_bytes - address;
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
        /* Each lane has its own; but a kernel's parameters are the same in all. */
        if (space == PTX_LOCAL || (space == PTX_PARAM && !is_parameter(w, at, size))) {
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
