/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the PTX interpreter share: the decoded program.
 *
 * A register is an array of 32 elements in a frame's register file, named by its byte offset; a
 * predicate is one 32-bit mask. Immediates, special registers and addresses of variables are
 * registers too, filled when the frame is made, so an instruction only ever reads registers.
 */
#ifndef PTX_INTERNAL_H
#define PTX_INTERNAL_H

#include <stdbool.h>

#include "ptx.h"
#include "ptx_alu.h"

#define PTX_VECTOR_MAX 8
#define PTX_ALL_LANES  0xffffffffu

enum ptx_space {
    PTX_GENERIC,
    PTX_GLOBAL, /* and .const: both are simulated device memory */
    PTX_SHARED,
    PTX_LOCAL,
    PTX_PARAM
};

/* Generic addresses of what is not device memory: the window in the top byte, then an offset. */
#define PTX_WINDOW_SHIFT  56
#define PTX_WINDOW(space) ((uint64_t)(space) << PTX_WINDOW_SHIFT) /* SHARED, LOCAL, PARAM */

enum ptx_kind { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_FLOAT, PTX_BFLOAT, PTX_PREDICATE };

struct ptx_type {
    enum ptx_kind kind;
    uint8_t bytes; /* 0: predicate */
};

struct ptx_variable {
    const char *name;
    enum ptx_space space;
    uint32_t align;
    uint64_t bytes;
    bool dynamic;        /* .extern .shared: lies behind the kernel's static shared memory */
    uint64_t offset;     /* in its space; global: where sim_memory has it, once a launch came */
    const uint8_t *init; /* global: `bytes` long, or NULL for zeros */
    struct ptx_variable *next;
};

/* What fills a register when a frame is made. */
enum ptx_filling {
    PTX_FILL_CONSTANT,
    PTX_FILL_ADDRESS, /* of a variable, in its own space */
    PTX_FILL_TID,
    PTX_FILL_TID_Y,
    PTX_FILL_TID_Z,
    PTX_FILL_NTID, /* + 0, 1, 2 for x, y, z; likewise below */
    PTX_FILL_CTAID = PTX_FILL_NTID + 3,
    PTX_FILL_NCTAID = PTX_FILL_CTAID + 3,
    PTX_FILL_LANEID = PTX_FILL_NCTAID + 3,
    PTX_FILL_WARPID,
    PTX_FILL_NWARPID,
    PTX_FILL_SMID,
    PTX_FILL_NSMID,
    PTX_FILL_GRIDID,
    PTX_FILL_LANEMASK_EQ,
    PTX_FILL_LANEMASK_LE,
    PTX_FILL_LANEMASK_LT,
    PTX_FILL_LANEMASK_GE,
    PTX_FILL_LANEMASK_GT,
    PTX_FILL_DYNAMIC_SMEM_SIZE,
    PTX_FILL_TOTAL_SMEM_SIZE
};

struct ptx_fill {
    enum ptx_filling what;
    uint32_t slot;
    uint8_t bytes; /* 0: predicate */
    uint64_t value;
    const struct ptx_variable *variable;
};

struct ptx_warp;
struct ptx_insn;

/* Runs an instruction for the lanes of `mask`. False: a fault is set. */
typedef bool ptx_exec_fn(struct ptx_warp *warp, const struct ptx_insn *insn, uint32_t mask);

/* Instructions that move the program counter or wait are run by the warp's loop itself. */
enum ptx_class {
    PTX_ALU,
    PTX_ALU_ROUNDED, /* under the rounding mode in `mode` */
    PTX_TEST,
    PTX_EXEC,
    PTX_BRANCH,
    PTX_BRANCH_INDEXED,
    PTX_CALL,
    PTX_RETURN,
    PTX_EXIT,
    PTX_SYNC /* exec, once all lanes that take part have come */
};

/* Which lanes a PTX_SYNC instruction waits for: those of its membermask (source 3), or the warp. */
enum ptx_sync {
    PTX_SYNC_NONE,
    PTX_SYNC_TOGETHER, /* all at this very instruction */
    PTX_SYNC_WARP,     /* bar.warp.sync: at any with the same membermask */
    PTX_SYNC_BLOCK,    /* a block barrier, whole warps at this very instruction */
    PTX_SYNC_BLOCK_UNALIGNED
};

/* ld, st, atom, red: element registers and the address. */
struct ptx_access {
    enum ptx_space space;
    enum sim_access access;
    struct ptx_type type;
    uint8_t count;          /* elements */
    uint8_t register_bytes; /* of an element's register; may be wider than the type for ld, st */
    uint32_t regs[PTX_VECTOR_MAX];
    bool sink[PTX_VECTOR_MAX]; /* loaded into _ */
    uint32_t base;             /* register with the address */
    uint8_t base_bytes;
    int64_t offset;
};

struct ptx_call {
    const struct ptx_kernel *callee;
    uint32_t count;                  /* arguments, then return values */
    uint32_t returns;                /* how many of them are return values */
    const struct ptx_variable **own; /* .param variables of the caller */
};

struct ptx_insn {
    enum ptx_class class;
    bool guarded, negated; /* by the predicate `guard` */
    enum ptx_sync sync;
    bool negate_c; /* source c is a predicate that counts inverted */
    uint8_t mode;  /* per class or exec function */
    struct ptx_type type, from;
    uint32_t guard;
    uint32_t dst, dst2; /* dst2: second result, or PTX_NO_REGISTER */
    uint32_t src[4];
    uint32_t target; /* branch: program counter */
    union {
        ptx_alu_fn *alu;
        ptx_test_fn *test;
        ptx_exec_fn *exec;
    };
    union {
        const struct ptx_access *access;
        const struct ptx_call *call;
        const uint32_t *targets; /* `target` of them */
    };
    const char *name; /* opcode with its modifiers */
    uint32_t ptx_line;
    const char *file; /* source position, or "PTX" and ptx_line */
    uint32_t line;
};

#define PTX_NO_REGISTER UINT32_MAX

/* A kernel (.entry) or a device function (.func). */
struct ptx_kernel {
    const char *name;
    struct ptx_module *module;
    bool entry, defined;
    struct ptx_insn *code;
    uint32_t count;
    uint32_t register_bytes;
    struct ptx_fill *fills;
    uint32_t fill_count;
    const struct ptx_variable **params; /* parameters, then the return values */
    uint32_t param_count, return_count;
    uint32_t param_bytes;        /* of the parameters: a kernel's parameter block */
    uint32_t area_bytes;         /* of all .param variables, one lane */
    uint32_t local_bytes;        /* one lane */
    struct ptx_variable *shared; /* a kernel's own, by `next` */
    uint32_t shared_bytes;
    uint32_t threads_required[3], threads_max; /* 0: not said */
    struct ptx_kernel *next;
};

struct ptx_module {
    struct ptx_kernel *functions; /* by `next`, like the globals */
    struct ptx_variable *globals;
    uint32_t shared_bytes;     /* module scope: at the start of every kernel's shared memory */
    struct sim_memory *memory; /* where the globals live; NULL before the first launch */
    struct ptx_frame *spare;   /* to reuse, by `below`; one launch runs at a time */
    struct ptx_chunk *chunks;  /* everything else a module owns */
};

/* Zeroed memory that lives as long as the module. */
void *ptx_module_alloc(struct ptx_module *module, size_t bytes);

#endif
