/* SPDX-License-Identifier: Apache-2.0 */
/* A warp: runs its lanes, lowest program counter first, until they wait at a block barrier or end.
 *
 * Lanes that part at a branch become groups of the frame. The group with the lowest counter runs,
 * and is joined by the others where it reaches theirs; compilers lay out code so that this is where
 * the paths meet again. A group that needs absent lanes waits until all others have come or can't.
 */
#include "ptx_schedule.h"

#include <fenv.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ptx_frame.h"

#define CALL_DEPTH_MAX 128u

bool ptx_fault(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask, int code,
               const char *format, ...)
{
    struct sim_fault *f = w->block->fault;
    if (f->set)
        return false;
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    f->set = true;
    f->code = code;
    const unsigned lane = mask == 0 ? 0 : (unsigned)__builtin_ctz(mask);
    snprintf(f->text, sizeof(f->text), "%s at %s:%u, block %u, thread %u, %s",
             w->block->launch->op->what, in->file, in->line, w->where.block,
             w->index * PTX_LANES + lane, what);
    ptx_append_line(f, in);
    return false;
}

void ptx_append_line(struct sim_fault *f, const struct ptx_insn *in)
{
    const size_t used = strlen(f->text);
    snprintf(f->text + used, sizeof(f->text) - used, " [PTX line %u]", in->ptx_line);
}

/* ---- Groups ---- */

static void add_group(struct ptx_frame *f, uint32_t pc, uint32_t mask, enum ptx_group_state state)
{
    if (mask != 0)
        f->groups[f->group_count++] = (struct ptx_group){.pc = pc, .mask = mask, .state = state};
}

/* Takes all groups at `pc` out of the frame and returns their lanes. */
static uint32_t take_groups(struct ptx_frame *f, uint32_t pc)
{
    uint32_t mask = 0, kept = 0;
    for (uint32_t i = 0; i < f->group_count; i++) {
        if (f->groups[i].pc == pc)
            mask |= f->groups[i].mask;
        else
            f->groups[kept++] = f->groups[i];
    }
    f->group_count = kept;
    return mask;
}

/* Lowest counter among the groups in this state, or UINT32_MAX. */
static uint32_t lowest(const struct ptx_frame *f, enum ptx_group_state state)
{
    uint32_t pc = UINT32_MAX;
    for (uint32_t i = 0; i < f->group_count; i++) {
        if (f->groups[i].state == state && f->groups[i].pc < pc)
            pc = f->groups[i].pc;
    }
    return pc;
}

static uint32_t lanes_elsewhere(const struct ptx_frame *f)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < f->group_count; i++)
        mask |= f->groups[i].mask;
    return mask;
}

/* ---- Waiting for other lanes ---- */

static uint32_t guarded_mask(const struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    if (!in->guarded)
        return mask;
    const uint32_t p = *ptx_predicate(w, in->guard);
    return mask & (in->negated ? ~p : p);
}

static uint32_t lanes_needed(const struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    uint32_t needed = 0;
    if (in->sync >= PTX_SYNC_BLOCK)
        return w->all;
    PTX_FOR_LANES(lane, mask)
    needed |= (uint32_t)ptx_get(w, in->src[3], 4, lane);
    return needed;
}

static bool report_absent(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask,
                          uint32_t absent)
{
    const struct ptx_frame *f = w->top;
    char elsewhere[80] = "";
    for (uint32_t i = 0; i < f->group_count && elsewhere[0] == '\0'; i++) {
        const struct ptx_insn *at = &f->function->code[f->groups[i].pc];
        if ((f->groups[i].mask & absent) != 0)
            snprintf(elsewhere, sizeof(elsewhere), "; some wait at %.40s:%u", at->file, at->line);
    }
    if (in->sync >= PTX_SYNC_BLOCK)
        return ptx_fault(w, in, mask, PTX_FAULT_LAUNCH,
                         "divergent barrier: %s without lanes 0x%08x of warp %u%s%s", in->name,
                         absent, w->index, absent & w->exited ? " (some have exited)" : "",
                         elsewhere);
    return ptx_fault(w, in, mask, PTX_FAULT_LAUNCH,
                     "missing lanes: %s names lanes 0x%08x of warp %u that do not take part%s%s",
                     in->name, absent, w->index,
                     absent & w->exited ? " (some have exited)"
                     : absent & ~w->all ? " (some do not exist)"
                                        : "",
                     elsewhere);
}

/* Lanes of all waiting groups that may meet those of `g` at different instructions. */
static uint32_t lanes_meeting(const struct ptx_warp *w, const struct ptx_group *g)
{
    const struct ptx_frame *f = w->top;
    const struct ptx_insn *in = &f->function->code[g->pc];
    const uint32_t lane = (uint32_t)__builtin_ctz(g->mask);
    const uint32_t source = in->sync == PTX_SYNC_WARP ? 3 : 0;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < f->group_count; i++) {
        const struct ptx_insn *other = &f->function->code[f->groups[i].pc];
        const uint32_t other_lane = (uint32_t)__builtin_ctz(f->groups[i].mask);
        if (f->groups[i].state == PTX_GROUP_WAITS && other->sync == in->sync &&
            ptx_get(w, other->src[source], 4, other_lane) == ptx_get(w, in->src[source], 4, lane))
            mask |= guarded_mask(w, other, f->groups[i].mask);
    }
    return mask;
}

/* No group can run. Releases one that waits only for groups at other barriers like its own. */
static bool release_waiting(struct ptx_warp *w)
{
    struct ptx_frame *f = w->top;
    for (uint32_t i = 0; i < f->group_count; i++) {
        const struct ptx_insn *in = &f->function->code[f->groups[i].pc];
        if (in->sync != PTX_SYNC_WARP && in->sync != PTX_SYNC_BLOCK_UNALIGNED)
            continue;
        const uint32_t meeting = lanes_meeting(w, &f->groups[i]);
        if ((lanes_needed(w, in, f->groups[i].mask) & ~meeting) != 0)
            continue;
        for (uint32_t k = 0; k < f->group_count; k++) {
            if ((f->groups[k].mask & meeting) == 0)
                continue;
            f->groups[k].pc++;
            f->groups[k].state = PTX_GROUP_READY;
        }
        return in->exec(w, in, meeting);
    }
    const uint32_t pc = lowest(f, PTX_GROUP_WAITS);
    const struct ptx_insn *in = &f->function->code[pc];
    const uint32_t mask = guarded_mask(w, in, take_groups(f, pc));
    return report_absent(w, in, mask, lanes_needed(w, in, mask) & ~mask);
}

/* ---- Calls and returns ---- */

static bool enter_call(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const struct ptx_frame *caller = w->top;
    const struct ptx_kernel *callee = in->call->callee;
    uint32_t depth = 0;
    for (const struct ptx_frame *f = caller; f != NULL; f = f->below)
        depth++;
    if (depth == CALL_DEPTH_MAX)
        return ptx_fault(w, in, mask, PTX_FAULT_LAUNCH, "calls %s at a depth of %u: stack overflow",
                         callee->name, depth);
    const struct ptx_frame *f = ptx_frame_push(w, callee, mask);
    for (uint32_t i = 0; i < callee->param_count; i++) {
        const struct ptx_variable *to = callee->params[i], *from = in->call->own[i];
        PTX_FOR_LANES(lane, mask)
        memcpy(f->params + (size_t)callee->area_bytes * lane + to->offset,
               caller->params + (size_t)caller->function->area_bytes * lane + from->offset,
               to->bytes);
    }
    return true;
}

/* The top frame's last lane has left: its results go to the caller, whose groups lose the lanes
 * that exited in the callee. */
static void leave_frame(struct ptx_warp *w)
{
    const struct ptx_frame *f = w->top;
    const struct ptx_kernel *callee = f->function;
    struct ptx_frame *caller = f->below;
    const uint32_t back = f->entered & ~w->exited;
    ptx_frame_pop(w);
    if (caller == NULL)
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < caller->group_count; i++) {
        struct ptx_group g = caller->groups[i];
        const struct ptx_insn *in = &caller->function->code[g.pc - (g.pc > 0)];
        for (uint32_t r = 0; (g.mask & back) != 0 && r < callee->return_count; r++) {
            const struct ptx_variable *from = callee->params[callee->param_count + r];
            const struct ptx_variable *to = in->call->own[callee->param_count + r];
            PTX_FOR_LANES(lane, g.mask & back)
            memcpy(caller->params + (size_t)caller->function->area_bytes * lane + to->offset,
                   f->params + (size_t)callee->area_bytes * lane + from->offset, to->bytes);
        }
        g.mask &= ~w->exited;
        if (g.mask != 0)
            caller->groups[kept++] = g;
    }
    caller->group_count = kept;
}

/* ---- The instruction loop ---- */

static bool run_rounded(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    uint8_t *r = w->regs;
    fesetround(ptx_rounding_modes[in->mode]);
    in->alu(r + in->dst, r + in->src[0], r + in->src[1], r + in->src[2], r + in->src[3],
            ptx_lanes(w, mask));
    fesetround(FE_TONEAREST);
    return true;
}

static void run_test(const struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const uint32_t test = in->test(w->regs + in->src[0], w->regs + in->src[1]);
    const uint32_t c =
        in->mode == 0 ? 0 : *ptx_predicate(w, in->src[2]) ^ (in->negate_c ? PTX_ALL_LANES : 0);
    /* mode: none, and, or, xor; the second result is that of the opposite comparison */
    const uint32_t first[] = {test, test & c, test | c, test ^ c};
    const uint32_t second[] = {~test, ~test & c, ~test | c, ~test ^ c};
    ptx_set_predicate(w, in->dst, mask, first[in->mode]);
    if (in->dst2 != PTX_NO_REGISTER)
        ptx_set_predicate(w, in->dst2, mask, second[in->mode]);
}

static bool branch_indexed(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    PTX_FOR_LANES(lane, mask)
    {
        const uint64_t i = ptx_get(w, in->src[0], 4, lane);
        if (i >= in->target)
            return ptx_fault(w, in, 1u << lane, PTX_FAULT_LAUNCH,
                             "branches to entry %llu of a list of %u", (unsigned long long)i,
                             in->target);
        const uint32_t pc = in->targets[i], others = take_groups(w->top, pc);
        add_group(w->top, pc, others | 1u << lane, PTX_GROUP_READY);
    }
    return true;
}

/* What becomes of the running group behind an instruction of the flow classes. */
enum outcome { GOES_ON, PARKED, FAILED };

static enum outcome run_sync(struct ptx_warp *w, const struct ptx_insn *in, uint32_t pc,
                             uint32_t *mask)
{
    struct ptx_frame *f = w->top;
    *mask |= take_groups(f, pc);
    const uint32_t here = guarded_mask(w, in, *mask);
    if (here == 0)
        return GOES_ON;
    const uint32_t absent = lanes_needed(w, in, here) & ~here;
    if ((absent & ~lanes_elsewhere(f)) != 0) {
        report_absent(w, in, here, absent);
        return FAILED;
    }
    if (absent != 0) {
        add_group(f, pc, *mask, PTX_GROUP_WAITS);
        return PARKED;
    }
    if (!in->exec(w, in, here))
        return FAILED;
    if (w->waits == NULL)
        return GOES_ON;
    add_group(f, pc + 1, *mask, PTX_GROUP_READY);
    return PARKED;
}

static enum outcome run_call(struct ptx_warp *w, const struct ptx_insn *in, uint32_t pc,
                             uint32_t *mask)
{
    struct ptx_frame *f = w->top;
    *mask |= take_groups(f, pc);
    const uint32_t here = guarded_mask(w, in, *mask);
    if (here == 0)
        return GOES_ON;
    if (lowest(f, PTX_GROUP_READY) != UINT32_MAX) {
        add_group(f, pc, *mask, PTX_GROUP_LETS);
        return PARKED;
    }
    /* Lanes that do not call are a group of their own: leave_frame() gives results to the others.
     */
    add_group(f, pc + 1, *mask & ~here, PTX_GROUP_READY);
    add_group(f, pc + 1, here, PTX_GROUP_READY);
    return enter_call(w, in, here) ? PARKED : FAILED;
}

static void lanes_end(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    if (in->class == PTX_EXIT || w->top->below == NULL)
        w->exited |= mask;
}

/* Runs one group until it parts, waits, meets another group, or ends. */
static bool run_group(struct ptx_warp *w, uint32_t pc, uint32_t mask)
{
    struct ptx_frame *f = w->top;
    const struct ptx_insn *code = f->function->code;
    uint32_t others = lowest(f, PTX_GROUP_READY);
    enum outcome outcome = GOES_ON;
    for (; pc < others && mask != 0; pc++) {
        const struct ptx_insn *in = &code[pc];
        if (++w->block->steps > w->block->steps_limit)
            return ptx_fault(w, in, mask, PTX_FAULT_LAUNCH,
                             "does not end: still running after %llu warp instructions",
                             (unsigned long long)w->block->steps_limit);
        const uint32_t here = guarded_mask(w, in, mask);
        if (here == 0)
            continue;
        switch (in->class) {
        case PTX_ALU:
            in->alu(w->regs + in->dst, w->regs + in->src[0], w->regs + in->src[1],
                    w->regs + in->src[2], w->regs + in->src[3], ptx_lanes(w, here));
            continue;
        case PTX_ALU_ROUNDED:
            run_rounded(w, in, here);
            continue;
        case PTX_TEST:
            run_test(w, in, here);
            continue;
        case PTX_EXEC:
            if (!in->exec(w, in, here))
                return false;
            continue;
        case PTX_BRANCH:
            add_group(f, pc + 1, mask & ~here, PTX_GROUP_READY);
            others = lowest(f, PTX_GROUP_READY);
            mask = here;
            pc = in->target - 1;
            continue;
        case PTX_BRANCH_INDEXED:
            add_group(f, pc + 1, mask & ~here, PTX_GROUP_READY);
            return branch_indexed(w, in, here);
        case PTX_RETURN:
        case PTX_EXIT:
            lanes_end(w, in, here);
            mask &= ~here;
            continue;
        case PTX_SYNC:
            outcome = run_sync(w, in, pc, &mask);
            break;
        case PTX_CALL:
            outcome = run_call(w, in, pc, &mask);
            break;
        }
        if (outcome != GOES_ON)
            return outcome == PARKED;
        others = lowest(f, PTX_GROUP_READY);
    }
    add_group(f, pc, mask, PTX_GROUP_READY);
    return true;
}

bool ptx_warp_run(struct ptx_warp *w)
{
    while (w->top != NULL && w->waits == NULL) {
        struct ptx_frame *f = w->top;
        if (f->group_count == 0) {
            leave_frame(w);
            continue;
        }
        uint32_t pc = lowest(f, PTX_GROUP_READY);
        if (pc == UINT32_MAX)
            pc = lowest(f, PTX_GROUP_LETS);
        if (pc == UINT32_MAX) {
            if (!release_waiting(w))
                return false;
            continue;
        }
        if (!run_group(w, pc, take_groups(f, pc)))
            return false;
    }
    return true;
}
