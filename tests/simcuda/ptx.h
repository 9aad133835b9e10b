/* SPDX-License-Identifier: Apache-2.0 */
/* PTX interpreter: runs the text of a PTX module, 32 lanes an instruction, every access checked.
 *
 * Divergence: lowest program counter first. Warps of a block run to the next barrier in turn.
 * Anything the interpreter does not know is an error that names it with its line, at load where it
 * can be seen there.
 */
#ifndef SIM_PTX_H
#define SIM_PTX_H

#include <stddef.h>
#include <stdint.h>

#include "memory.h"

struct ptx_module;
struct ptx_kernel;

/* Parses NUL-terminated PTX. 0, or -1 with err set ("line 12: unknown instruction ..."). */
int ptx_module_load(struct ptx_module **ret_module, const char *text, char *err, size_t err_size);
/* Before the memory that its kernels ran in: its variables live there from the first launch on. */
void ptx_module_free(struct ptx_module *module);
/* Of .global or .const: such a module can't serve two contexts. */
bool ptx_module_has_variables(const struct ptx_module *module);
const struct ptx_kernel *ptx_module_kernel(const struct ptx_module *module, const char *name);

const char *ptx_kernel_name(const struct ptx_kernel *kernel);
uint32_t ptx_kernel_param_count(const struct ptx_kernel *kernel);
/* Byte offset and size of parameter i in the parameter block. */
void ptx_kernel_param(const struct ptx_kernel *kernel, uint32_t i, uint32_t *ret_offset,
                      uint32_t *ret_size);
uint32_t ptx_kernel_param_bytes(const struct ptx_kernel *kernel);
uint32_t ptx_kernel_shared_bytes(const struct ptx_kernel *kernel); /* static */

struct ptx_launch {
    const struct ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    const void *params; /* ptx_kernel_param_bytes() long */
    struct sim_memory *memory;
    const struct sim_op *op;
};

/* Runs the whole grid. 0, or -1 with *fault set at the first fault (memory is left as the kernel
 * left it). */
int ptx_run(const struct ptx_launch *launch, struct sim_fault *fault);

/* Fatbin container (as of nvcc 12 and 13): finds the PTX of the highest architecture <= `arch` (90
 * = sm_90). Returns a malloc'ed NUL-terminated text, or NULL with err set. `image` may also be
 * plain PTX text. */
char *fatbin_ptx(const void *image, uint32_t arch, char *err, size_t err_size);

#endif
