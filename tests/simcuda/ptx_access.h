/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of every space as the instructions see it. */
#ifndef PTX_ACCESS_H
#define PTX_ACCESS_H

#include "ptx_parse.h"
#include "ptx_run.h"

/* Checks an access of the space at `address` by `count` lanes from `lane` on, lane i at address +
 * i*size. Returns where the bytes are, or NULL with the fault set. */
void *ptx_reach(struct ptx_warp *w, const struct ptx_insn *insn, uint32_t lane, uint32_t count,
                enum ptx_space space, uint64_t address, uint64_t size, enum sim_access access);

/* Addresses of the lanes of `mask`, and a check of their alignment to `size`. */
bool ptx_addresses(struct ptx_warp *w, const struct ptx_insn *insn, uint32_t mask, uint64_t size,
                   uint64_t address[PTX_LANES]);

/* Which space a generic address is in; *address becomes the address there. */
enum ptx_space ptx_resolve_generic(uint64_t *address);

/* Space, vector size and address of ld, st, atom and red; modifiers are taken. */
void ptx_take_space(struct ptx_text *t, struct ptx_access *a);
void ptx_take_address(struct ptx_parser *p, const struct ptx_operand *o, struct ptx_access *a);

#endif
