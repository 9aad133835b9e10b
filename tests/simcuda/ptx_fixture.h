/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the interpreter: loads PTX, runs a kernel on fresh operations, checks the fault. */
#ifndef PTX_FIXTURE_H
#define PTX_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx.h"

/* One stream: every operation is ordered behind the one before. */
static struct {
    struct sim_memory *memory;
    struct ptx_module *module;
    struct sim_op op;
    uint32_t clock[SIM_CLOCKS_MAX];
    struct sim_fault fault;
} sim;

static const struct sim_where sim_serial;

static inline int sim_setup(void **state)
{
    memset(&sim, 0, sizeof(sim));
    sim.memory = sim_memory_new(64 << 20);
    return 0;
}

static inline int sim_teardown(void **state)
{
    ptx_module_free(sim.module);
    sim_memory_free_all(sim.memory);
    return 0;
}

static void sim_next_op(const char *what)
{
    sim.op.id++;
    sim.op.clock = sim.clock;
    sim.op.tick = sim.clock[0] = sim.op.id;
    sim.op.what = what;
}

static inline uint64_t sim_new(uint64_t bytes)
{
    return sim_memory_alloc(sim.memory, bytes, SIM_DEVICE);
}

static inline void *sim_copy(uint64_t address, uint64_t bytes, enum sim_access access)
{
    sim_next_op("copy");
    void *p =
        sim_memory_access(sim.memory, &sim.op, &sim_serial, address, bytes, 1, access, &sim.fault);
    if (sim.fault.set)
        fail_msg("%s", sim.fault.text);
    return p;
}

static inline uint64_t sim_upload(const void *from, uint64_t bytes)
{
    const uint64_t address = sim_new(bytes);
    memcpy(sim_copy(address, bytes, SIM_WRITE), from, bytes);
    return address;
}

static inline const void *sim_read(uint64_t address, uint64_t bytes)
{
    return sim_copy(address, bytes, SIM_READ);
}

static inline void sim_load(const char *text)
{
    char err[600];
    ptx_module_free(sim.module);
    sim.module = NULL;
    if (ptx_module_load(&sim.module, text, err, sizeof(err)) != 0)
        fail_msg("%s", err);
}

/* A module with one kernel `probe(.u64 p0, .u64 p1, .u64 p2)`; `module_scope` comes before it. */
#define SIM_REGISTERS                                                                              \
    ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %d<32>;\n"                   \
    "mov.u32 %r20, %tid.x; mov.u32 %r21, %laneid;\n"                                               \
    "ld.param.u64 %d20, [p0]; ld.param.u64 %d21, [p1]; ld.param.u64 %d22, [p2];\n"                 \
    "mad.wide.u32 %d23, %r20, 4, %d20;\n" /* p0 + 4 * thread */
#define SIM_BEFORE(module_scope, body)                                                             \
    ".version 8.4\n.target sm_90\n.address_size 64\n" module_scope                                 \
    "\n.visible .entry probe(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n{\n" SIM_REGISTERS   \
        body
#define SIM_AFTER                      "\nret;\n}\n"
#define SIM_MODULE(module_scope, body) SIM_BEFORE(module_scope, body) SIM_AFTER
#define SIM_KERNEL(body)               SIM_MODULE("", body)

struct sim_shape {
    uint32_t blocks, threads, shared;
};

static inline int sim_launch(const char *name, struct sim_shape shape, const void *params)
{
    sim_next_op("kernel probe");
    sim.fault = (struct sim_fault){.set = false};
    const struct ptx_launch launch = {.kernel = ptx_module_kernel(sim.module, name),
                                      .grid = {shape.blocks, 1, 1},
                                      .block = {shape.threads, 1, 1},
                                      .dynamic_shared_bytes = shape.shared,
                                      .params = params,
                                      .memory = sim.memory,
                                      .op = &sim.op};
    assert_non_null(launch.kernel);
    return ptx_run(&launch, &sim.fault);
}

/* sim_load() of a kernel whose body is not a constant. */
static inline void sim_load_body(const char *body)
{
    char text[8192];
    snprintf(text, sizeof(text), "%s%s%s", SIM_BEFORE("", ""), body, SIM_AFTER);
    sim_load(text);
}

static inline int sim_run(struct sim_shape shape, uint64_t p0, uint64_t p1, uint64_t p2)
{
    const uint64_t params[] = {p0, p1, p2};
    return sim_launch("probe", shape, params);
}

static inline void sim_assert_clean(int result)
{
    if (result != 0 || sim.fault.set)
        fail_msg("unexpected fault: %s", sim.fault.text);
}

static inline void sim_assert_fault(int result, const char *part)
{
    if (result == 0 || !sim.fault.set)
        fail_msg("no fault, expected one with \"%s\"", part);
    if (strstr(sim.fault.text, part) == NULL)
        fail_msg("fault \"%s\" does not say \"%s\"", sim.fault.text, part);
    sim.fault = (struct sim_fault){.set = false};
}

#define SIM_TEST(name) cmocka_unit_test_setup_teardown(name, sim_setup, sim_teardown)

#endif
