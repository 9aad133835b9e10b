/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of an address are, with the checks of each state space. */
#include <string.h>

#include "ptx_parse.h"
#include "ptx_access.h"
#include "ptx_schedule.h"

enum ptx_space ptx_resolve_generic(uint64_t *address)
{
    const uint64_t window = *address >> PTX_WINDOW_SHIFT;
    if (window != PTX_SHARED && window != PTX_LOCAL && window != PTX_PARAM)
        return PTX_GLOBAL;
    *address -= window << PTX_WINDOW_SHIFT;
    return (enum ptx_space)window;
}

static const char *verb(enum sim_access access)
{
    return access == SIM_READ ? "reads" : access == SIM_WRITE ? "writes" : "atomically updates";
}

static void *reach_global(struct ptx_warp *w, const struct ptx_insn *in, uint32_t lane,
                          uint32_t count, uint64_t address, uint64_t size, enum sim_access access)
{
    const struct ptx_launch *launch = w->block->launch;
    w->where.thread = (uint16_t)(w->index * PTX_LANES + lane);
    w->where.file = in->file;
    w->where.line = in->line;
    void *p = sim_memory_access(launch->memory, launch->op, &w->where, address, size, count, access,
                                w->block->fault);
    if (!w->block->fault->set)
        return p;
    ptx_append_line(w->block->fault, in);
    return NULL;
}

static void *reach_shared(struct ptx_warp *w, const struct ptx_insn *in, uint32_t lane,
                          uint32_t count, uint64_t address, uint64_t size, enum sim_access access)
{
    struct ptx_block *b = w->block;
    const uint64_t bytes = size * count;
    if (address > b->shared_bytes || bytes > b->shared_bytes - address) {
        const uint64_t fit = address > b->shared_bytes ? 0 : (b->shared_bytes - address) / size;
        ptx_fault(w, in, 1u << (lane + fit), PTX_FAULT_ADDRESS,
                  "%s %llu bytes at 0x%llx of the block's %u bytes of shared memory: out of bounds",
                  verb(access), (unsigned long long)size,
                  (unsigned long long)(address + fit * size), b->shared_bytes);
        return NULL;
    }
    uint8_t *init = b->shared_init + address;
    if (access == SIM_WRITE) {
        memset(init, 1, bytes);
    } else {
        const uint8_t *hole = memchr(init, 0, bytes);
        if (hole != NULL) {
            ptx_fault(w, in, 1u << (lane + (uint64_t)(hole - init) / size), PTX_FAULT_ADDRESS,
                      "%s shared memory at 0x%llx that this block has not written: uninitialised",
                      verb(access), (unsigned long long)(address + (uint64_t)(hole - init)));
            return NULL;
        }
    }
    race_area_refine(&b->shared_races, race_shift(size));
    const size_t first = address >> b->shared_races.shift;
    const uint32_t per_lane = (uint32_t)(size >> b->shared_races.shift);
    w->where.thread = (uint16_t)(w->index * PTX_LANES + lane);
    const int64_t hit = race_access(&b->shared_races, first, &w->where, count, per_lane, access);
    if (hit >= 0) {
        char whom[100];
        const uint32_t hit_lane = (uint32_t)hit / per_lane;
        race_describe(&b->shared_races.cells[first + (size_t)hit], &w->where, hit_lane, access,
                      whom, sizeof(whom));
        ptx_fault(w, in, 1u << (lane + hit_lane), PTX_FAULT_ADDRESS,
                  "%s shared memory at 0x%llx: race with %s, and no barrier orders the two",
                  verb(access), (unsigned long long)(address + hit_lane * size), whom);
        return NULL;
    }
    return b->shared + address;
}

static struct ptx_frame *frame_of_local(struct ptx_warp *w, uint64_t address)
{
    struct ptx_frame *f = w->top;
    while (f != NULL && address < f->local_base)
        f = f->below;
    return f != NULL && address - f->local_base < f->function->local_bytes ? f : NULL;
}

static void *reach_local(struct ptx_warp *w, const struct ptx_insn *in, uint32_t lane,
                         uint64_t address, uint64_t size, enum sim_access access)
{
    struct ptx_frame *f = frame_of_local(w, address);
    const uint64_t bytes = f == NULL ? 0 : f->function->local_bytes;
    if (f == NULL || size > bytes - (address - f->local_base)) {
        ptx_fault(w, in, 1u << lane, PTX_FAULT_ADDRESS,
                  "%s %llu bytes at 0x%llx of local memory: out of bounds", verb(access),
                  (unsigned long long)size, (unsigned long long)address);
        return NULL;
    }
    uint8_t *p = f->local + 2 * bytes * lane + (address - f->local_base), *init = p + bytes;
    if (access == SIM_WRITE) {
        memset(init, 1, size);
    } else if (memchr(init, 0, size) != NULL) {
        ptx_fault(w, in, 1u << lane, PTX_FAULT_ADDRESS,
                  "%s %llu bytes at 0x%llx of local memory, not written before: uninitialised",
                  verb(access), (unsigned long long)size, (unsigned long long)address);
        return NULL;
    }
    return p;
}

static void *reach_param(struct ptx_warp *w, const struct ptx_insn *in, uint32_t lane,
                         uint64_t address, uint64_t size, enum sim_access access)
{
    const uint64_t bytes = w->top->function->area_bytes;
    if (address > bytes || size > bytes - address) {
        ptx_fault(w, in, 1u << lane, PTX_FAULT_ADDRESS,
                  "%s %llu bytes at 0x%llx of parameter memory: out of bounds", verb(access),
                  (unsigned long long)size, (unsigned long long)address);
        return NULL;
    }
    return w->top->params + bytes * lane + address;
}

void *ptx_reach(struct ptx_warp *w, const struct ptx_insn *in, uint32_t lane, uint32_t count,
                enum ptx_space space, uint64_t address, uint64_t size, enum sim_access access)
{
    switch (space) {
    case PTX_SHARED:
        return reach_shared(w, in, lane, count, address, size, access);
    case PTX_LOCAL:
        return reach_local(w, in, lane, address, size, access);
    case PTX_PARAM:
        return reach_param(w, in, lane, address, size, access);
    default:
        return reach_global(w, in, lane, count, address, size, access);
    }
}

bool ptx_addresses(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask, uint64_t size,
                   uint64_t address[PTX_LANES])
{
    const struct ptx_access *a = in->access;
    const uint8_t *base = w->regs + a->base;
    const uint64_t offset = (uint64_t)a->offset;
    uint64_t low = 0;
    if (a->base_bytes == 8) {
        for (uint32_t i = 0; i < PTX_LANES; i++)
            address[i] = ((const uint64_t *)(const void *)base)[i] + offset;
    } else {
        for (uint32_t i = 0; i < PTX_LANES; i++)
            address[i] = ((const uint32_t *)(const void *)base)[i] + offset;
    }
    PTX_FOR_LANES(lane, mask)
    low |= address[lane];
    if ((low & (size - 1)) == 0)
        return true;
    PTX_FOR_LANES(lane, mask)
    {
        if ((address[lane] & (size - 1)) != 0)
            return ptx_fault(w, in, 1u << lane, PTX_FAULT_MISALIGNED,
                             "%s %llu bytes at 0x%llx: misaligned", verb(a->access),
                             (unsigned long long)size, (unsigned long long)address[lane]);
    }
    return true;
}

void ptx_take_space(struct ptx_text *t, struct ptx_access *a)
{
    static const char *const names[] = {"global", "const", "shared", "shared::cta",
                                        "local",  "param", NULL};
    static const enum ptx_space spaces[] = {PTX_GLOBAL, PTX_GLOBAL, PTX_SHARED,
                                            PTX_SHARED, PTX_LOCAL,  PTX_PARAM};
    const int i = ptx_take_one(t, names);
    a->space = i < 0 ? PTX_GENERIC : spaces[i];
}

void ptx_take_address(struct ptx_parser *p, const struct ptx_operand *o, struct ptx_access *a)
{
    if (o->kind != PTX_OPERAND_ADDRESS)
        ptx_fail(&p->lex, "an operand is not an address");
    a->offset = o->offset;
    if (o->name == NULL) {
        a->base_bytes = 8;
        a->base = ptx_constant(p, 8, 0);
        return;
    }
    uint32_t slot;
    const struct ptx_operand base = {.kind = PTX_OPERAND_NAME, .name = o->name};
    const struct ptx_symbol *s = ptx_find_symbol(p, o->name, &slot);
    if (s != NULL && s->variable != NULL && s->variable->space != a->space)
        ptx_fail(&p->lex, "\"%s\" is in another state space", o->name);
    const bool narrow = s != NULL && s->variable == NULL && s->bytes == 4;
    a->base_bytes = narrow ? 4 : 8;
    a->base = ptx_source(p, &base, a->base_bytes);
}
