/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: registers, parameters and local memory of a function that a warp is in. */
#include "ptx_frame.h"

#include <string.h>
#include <sys/mman.h>

#include "must.h"

#define LOCAL_GAP 256u /* between the local memory of caller and callee */

static uint64_t fill_value(const struct ptx_warp *w, const struct ptx_frame *f,
                           const struct ptx_fill *fill, uint32_t lane)
{
    const struct ptx_block *b = w->block;
    const uint32_t *n = b->launch->block;
    const uint32_t thread = w->index * PTX_LANES + lane;
    const uint32_t bit = 1u << lane;
    switch (fill->what) {
    case PTX_FILL_CONSTANT:
        return fill->value;
    case PTX_FILL_ADDRESS:
        if (fill->variable->space == PTX_LOCAL)
            return f->local_base + fill->variable->offset;
        return fill->variable->dynamic ? b->dynamic_shared : fill->variable->offset;
    case PTX_FILL_TID:
        return thread % n[0];
    case PTX_FILL_TID_Y:
        return thread / n[0] % n[1];
    case PTX_FILL_TID_Z:
        return thread / n[0] / n[1];
    case PTX_FILL_LANEID:
        return lane;
    case PTX_FILL_WARPID:
        return w->index;
    case PTX_FILL_NWARPID:
        return b->warp_count;
    case PTX_FILL_NSMID:
        return 1;
    case PTX_FILL_LANEMASK_EQ:
        return bit;
    case PTX_FILL_LANEMASK_LE:
        return bit | (bit - 1);
    case PTX_FILL_LANEMASK_LT:
        return bit - 1;
    case PTX_FILL_LANEMASK_GE:
        return ~(bit - 1);
    case PTX_FILL_LANEMASK_GT:
        return ~(bit | (bit - 1));
    case PTX_FILL_DYNAMIC_SMEM_SIZE:
        return b->launch->dynamic_shared_bytes;
    case PTX_FILL_TOTAL_SMEM_SIZE:
        return b->shared_bytes;
    default:
        break;
    }
    if (fill->what >= PTX_FILL_NTID && fill->what < PTX_FILL_CTAID)
        return n[fill->what - PTX_FILL_NTID];
    if (fill->what >= PTX_FILL_CTAID && fill->what < PTX_FILL_NCTAID)
        return b->index[fill->what - PTX_FILL_CTAID];
    if (fill->what >= PTX_FILL_NCTAID && fill->what < PTX_FILL_LANEID)
        return b->launch->grid[fill->what - PTX_FILL_NCTAID];
    return 0; /* %smid, %gridid */
}

static void fill_register(const struct ptx_warp *w, struct ptx_frame *f,
                          const struct ptx_fill *fill)
{
    uint8_t *to = f->regs + fill->slot;
    if (fill->bytes == 0) {
        const uint32_t mask = (uint32_t)fill->value;
        memcpy(to, &mask, sizeof(mask));
        return;
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        const uint64_t value = fill_value(w, f, fill, lane);
        ptx_put(to, fill->bytes, lane, value);
    }
}

/* Frames are reused, so constants are filled once. They are not of the heap, by which tests see
 * whether the library gives back what it took. */
static struct ptx_frame *take_frame(struct ptx_warp *w, const struct ptx_kernel *function)
{
    for (struct ptx_frame **at = &function->module->spare; *at != NULL; at = &(*at)->below) {
        struct ptx_frame *f = *at;
        if (f->function == function) {
            *at = f->below;
            return f;
        }
    }
    const size_t registers = (sizeof(struct ptx_frame) + function->register_bytes + 63) & ~63ull;
    const size_t params = (size_t)function->area_bytes * PTX_LANES;
    const size_t local = (size_t)function->local_bytes * 2 * PTX_LANES;
    const size_t bytes = (registers + params + local + 63) & ~63ull;
    struct ptx_frame *f =
        must(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    f->bytes = bytes;
    f->function = function;
    f->params = (uint8_t *)f + registers;
    f->local = f->params + params;
    for (uint32_t i = 0; i < function->fill_count; i++) {
        if (function->fills[i].what == PTX_FILL_CONSTANT)
            fill_register(w, f, &function->fills[i]);
    }
    return f;
}

struct ptx_frame *ptx_frame_push(struct ptx_warp *w, const struct ptx_kernel *function,
                                 uint32_t mask)
{
    struct ptx_frame *f = take_frame(w, function), *below = w->top;
    f->below = below;
    f->entered = mask;
    f->groups[0] = (struct ptx_group){.pc = 0, .mask = mask, .state = PTX_GROUP_READY};
    f->group_count = 1;
    f->local_base =
        below == NULL ? 0 : (below->local_base + below->function->local_bytes + LOCAL_GAP) & ~15ull;
    const size_t local = function->local_bytes;
    for (uint32_t lane = 0; lane < PTX_LANES && local > 0; lane++)
        memset(f->local + (2 * lane + 1) * local, 0, local);
    for (uint32_t i = 0; i < function->fill_count; i++) {
        if (function->fills[i].what != PTX_FILL_CONSTANT)
            fill_register(w, f, &function->fills[i]);
    }
    w->top = f;
    w->regs = f->regs;
    return f;
}

void ptx_frame_pop(struct ptx_warp *w)
{
    struct ptx_frame *f = w->top;
    w->top = f->below;
    w->regs = w->top == NULL ? NULL : w->top->regs;
    f->below = f->function->module->spare;
    f->function->module->spare = f;
}

void ptx_frames_free(struct ptx_module *module)
{
    while (module->spare != NULL) {
        struct ptx_frame *below = module->spare->below;
        munmap(module->spare, module->spare->bytes);
        module->spare = below;
    }
}
