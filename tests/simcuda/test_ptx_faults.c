/* SPDX-License-Identifier: Apache-2.0 */
/* Each memory fault of a kernel, what its report names, and a twin of the kernel that is right. */
#include "ptx_fixture.h"

static uint64_t zeros(uint64_t bytes)
{
    static const uint32_t zero[4096];
    return sim_upload(zero, bytes);
}

static void expect_fault(struct sim_shape shape, const char *body, uint64_t p0, const char *part)
{
    sim_load_body(body);
    sim_assert_fault(sim_run(shape, p0, 0, 0), part);
}

static void expect_clean(struct sim_shape shape, const char *body, uint64_t p0)
{
    sim_load_body(body);
    sim_assert_clean(sim_run(shape, p0, 0, 0));
}

#define FILES                                                                                      \
    ".file 1 \"/home/someone/project/kernels/scale.cu\"\n"                                         \
    ".file 2 \"/usr/local/cuda/include/sm_30_intrinsics.hpp\", 1234, 567\n"
#define SCALE                                                                                      \
    ".visible .entry probe(.param .u64 p0)\n{ .reg .b32 %r<4>; .reg .b64 %d<4>;\n"                 \
    ".loc 1 20 3\n"                                                                                \
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 64, %r2;\n"                  \
    "ld.param.u64 %d1, [p0]; mad.wide.u32 %d1, %r1, 4, %d1;\n"                                     \
    ".loc 1 21 9\n"                                                                                \
    ".loc 2 99 1, function_name $L__info_string0, inlined_at 1 21 9\n"                             \
    "st.global.u32 [%d1], %r1;\n"                                                                  \
    "ret; }\n"

static void a_fault_names_kernel_source_block_thread_and_address(void **state)
{
    /* nvcc writes the files behind the functions. A toolkit header is named by its caller. */
    static const char *const texts[] = {
        ".version 8.4\n.target sm_90\n.address_size 64\n" SCALE FILES,
        ".version 8.4\n.target sm_90\n.address_size 64\n" FILES SCALE};
    for (int i = 0; i < 2; i++) {
        char part[160];
        const uint64_t p = zeros(4 * 100);
        sim_load(texts[i]);
        snprintf(
            part, sizeof(part),
            "kernel probe at kernels/scale.cu:21, block 1, thread 36, writes 4 bytes at 0x%llx",
            (unsigned long long)p + 400);
        const int result = sim_run((struct sim_shape){2, 64, 0}, p, 0, 0);
        if (strstr(sim.fault.text, part) == NULL ||
            strstr(sim.fault.text, "bytes 400 to 403 of the 400-byte device allocation") == NULL)
            fail_msg("\"%s\" does not say \"%s\"", sim.fault.text, part);
        sim_assert_fault(result, i == 0 ? "[PTX line 11]" : "[PTX line 13]");
        sim_assert_clean(sim_run((struct sim_shape){1, 64, 0}, p, 0, 0));
    }
}

static void misaligned_accesses_are_reported(void **state)
{
    const uint64_t p = zeros(256);
    expect_fault((struct sim_shape){1, 1, 0}, "ld.global.v2.u32 {%r1, %r2}, [%d20+4];", p,
                 "reads 8 bytes at");
    assert_int_equal(sim_run((struct sim_shape){1, 1, 0}, p, 0, 0), -1);
    assert_int_equal(sim.fault.code, 716);
    sim_assert_fault(-1, "misaligned");
    expect_clean((struct sim_shape){1, 1, 0}, "ld.global.v2.u32 {%r1, %r2}, [%d20+8];", p);
}

static void stale_unwritten_and_foreign_pointers_are_told_apart(void **state)
{
    static const char *const body = "ld.global.u32 %r1, [%d23];";
    const uint64_t gone = zeros(256), fresh = sim_new(256), good = zeros(256);
    sim_memory_release(sim.memory, gone);
    uint32_t host[64];
    expect_fault((struct sim_shape){1, 64, 0}, body, gone, "use after free");
    expect_fault((struct sim_shape){1, 64, 0}, body, fresh, "uninitialised");
    expect_fault((struct sim_shape){1, 64, 0}, body, (uint64_t)(uintptr_t)host,
                 "not a device address");
    expect_fault((struct sim_shape){1, 64, 0}, body, 0, "null pointer");
    expect_clean((struct sim_shape){1, 64, 0}, body, good);
}

static void shared_memory_is_checked_for_bounds_and_initial_values(void **state)
{
    static const char *const body =
        ".shared .align 4 .b8 tile[256]; mov.u32 %r1, tile; mad.lo.u32 %r2, %r20, 4, %r1;"
        "st.shared.u32 [%r2], %r20; ld.shared.u32 %r3, [%r2];";
    expect_clean((struct sim_shape){1, 64, 0}, body, 0);
    expect_fault((struct sim_shape){1, 65, 0}, body, 0,
                 "thread 64, writes 4 bytes at 0x100 of the block's 256 bytes of shared memory");
    expect_fault(
        (struct sim_shape){1, 1, 0},
        ".shared .align 4 .b8 tile[8]; st.shared.u16 [tile], 1; ld.shared.u32 %r1, [tile];", 0,
        "uninitialised");
    /* What an earlier block wrote is not there. */
    expect_fault((struct sim_shape){2, 1, 0},
                 ".shared .align 4 .b8 tile[8]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0;"
                 "@%p1 st.shared.u32 [tile], 1; ld.shared.u32 %r2, [tile];",
                 0,
                 "block 1, thread 0, reads shared memory at 0x0 that this block has not written");
}

static void local_memory_is_checked_for_bounds_and_initial_values(void **state)
{
    expect_clean((struct sim_shape){1, 64, 0},
                 ".local .align 4 .b8 own[8]; st.local.u32 [own+4], 1; ld.local.u32 %r1, [own+4];",
                 0);
    expect_fault((struct sim_shape){1, 64, 0},
                 ".local .align 4 .b8 own[8]; st.local.u32 [own+4], 1; ld.local.u32 %r1, [own];", 0,
                 "uninitialised");
    expect_fault((struct sim_shape){1, 64, 0},
                 ".local .align 4 .b8 own[8]; st.local.u32 [own+8], 1;", 0, "out of bounds");
    expect_fault((struct sim_shape){1, 64, 0},
                 ".local .align 4 .b8 own[8]; st.local.u32 [own+100], 1;", 0, "out of bounds");
}

#define NEIGHBOUR                                                                                  \
    ".shared .align 4 .b8 tile[256]; mov.u32 %r1, tile; mad.lo.u32 %r2, %r20, 4, %r1;"             \
    "xor.b32 %r3, %r20, 1; mad.lo.u32 %r3, %r3, 4, %r1; xor.b32 %r4, %r20, 32;"                    \
    "mad.lo.u32 %r4, %r4, 4, %r1; st.shared.u32 [%r2], %r20;"

static void threads_of_a_block_race_without_a_barrier(void **state)
{
    expect_fault(
        (struct sim_shape){1, 64, 0}, NEIGHBOUR "ld.shared.u32 %r5, [%r3];", 0,
        "thread 0, reads shared memory at 0x4: race with the write by thread 1 of block 0");
    expect_clean((struct sim_shape){1, 64, 0},
                 NEIGHBOUR "bar.warp.sync -1; ld.shared.u32 %r5, [%r3];", 0);
    expect_fault((struct sim_shape){1, 64, 0},
                 NEIGHBOUR "bar.sync 0; ld.shared.u32 %r5, [%r4]; st.shared.u32 [%r2], 1;", 0,
                 "race with the write by thread 32 of block 0");
    expect_clean((struct sim_shape){1, 64, 0},
                 NEIGHBOUR "bar.sync 0; ld.shared.u32 %r5, [%r4]; bar.sync 0;"
                           "st.shared.u32 [%r2], 1;",
                 0);
    /* bar.warp.sync does not order two warps. */
    expect_fault((struct sim_shape){1, 64, 0},
                 NEIGHBOUR "bar.warp.sync -1; bar.warp.sync -1; setp.lt.u32 %p1, %r20, 32;"
                           "@!%p1 ld.shared.u32 %r5, [%r4];",
                 0, "race with the write by thread 0 of block 0");
    /* A shuffle orders no memory (PTX ISA: only bar.warp.sync does). */
    expect_fault((struct sim_shape){1, 64, 0},
                 NEIGHBOUR "shfl.sync.bfly.b32 %r6, %r20, 1, 31, -1; ld.shared.u32 %r5, [%r3];", 0,
                 "race");
}

static void lanes_that_store_to_one_word_race(void **state)
{
    const uint64_t p = zeros(256);
    expect_fault((struct sim_shape){1, 32, 0}, "st.global.u32 [%d20], %r20;", p,
                 "race inside the launch: with the write by thread 0 of block 0");
    expect_fault((struct sim_shape){1, 32, 0},
                 ".shared .align 4 .b8 flag[4]; st.shared.u32 [flag], 1;", p, "race");
    expect_clean((struct sim_shape){1, 32, 0}, "red.global.add.u32 [%d20], 1;", p);
    expect_clean(
        (struct sim_shape){1, 32, 0},
        "mad.wide.u32 %d1, %r20, 2, %d20; cvt.u16.u32 %h1, %r20; st.global.u16 [%d1], %h1;", p);
}

static void a_word_that_all_lanes_read_is_no_lanes_to_write(void **state)
{
    const uint64_t p = zeros(256);
    expect_fault(
        (struct sim_shape){1, 32, 0},
        "ld.global.u32 %r1, [%d20]; setp.eq.u32 %p1, %r20, 0; @%p1 st.global.u32 [%d20], 1;", p,
        "race inside the launch: with reads by several lanes of warp 0 of block 0");
    expect_clean((struct sim_shape){1, 32, 0},
                 "ld.global.u32 %r1, [%d20]; setp.eq.u32 %p1, %r20, 0; bar.warp.sync -1;"
                 "@%p1 st.global.u32 [%d20], 1;",
                 p);
}

static void halves_of_a_shared_word_belong_to_different_lanes(void **state)
{
    static const char *const body =
        ".shared .align 4 .b8 tile[64]; mov.u32 %r1, tile; mad.lo.u32 %r2, %r20, 2, %r1;"
        "cvt.u16.u32 %h1, %r20; st.shared.u16 [%r2], %h1; ld.shared.u16 %h2, [%r2];";
    char longer[512];
    expect_clean((struct sim_shape){1, 32, 0}, body, 0);
    snprintf(longer, sizeof(longer), "%s ld.shared.u16 %%h3, [tile+2];", body);
    expect_fault((struct sim_shape){1, 32, 0}, longer, 0, "race with the write by thread 1");
    snprintf(longer, sizeof(longer), "%s ld.shared.u32 %%r3, [tile+4];", body);
    expect_fault((struct sim_shape){1, 32, 0}, longer, 0, "race");
}

static void blocks_race_whatever_barriers_they_pass(void **state)
{
    const uint64_t p = zeros(1024);
    expect_fault((struct sim_shape){2, 32, 0},
                 "bar.sync 0; st.global.u32 [%d23], %r20; bar.sync 0;", p,
                 "block 1, thread 0, writes 4 bytes");
    expect_fault((struct sim_shape){2, 32, 0},
                 "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; ld.global.u32 %r2, [%d23+4];"
                 "@%p1 st.global.u32 [%d23], %r20;",
                 p, "race inside the launch: with reads by several blocks");
    expect_clean(
        (struct sim_shape){2, 32, 0},
        "mov.u32 %r1, %ctaid.x; mad.wide.u32 %d1, %r1, 128, %d23; ld.global.u32 %r2, [%d20];"
        "add.u32 %r2, %r2, 1; st.global.u32 [%d1+128], %r2;",
        p);
}

static void launches_that_cannot_run_are_refused(void **state)
{
    sim_load(".version 8.4\n.target sm_90\n.address_size 64\n"
             ".entry probe() .maxntid 64, 1, 1\n{ ret; }\n.entry exact() .reqntid 32, 2\n{ ret; }");
    sim_assert_fault(sim_launch("probe", (struct sim_shape){1, 96, 0}, NULL), "above its .maxntid");
    sim_assert_fault(sim_launch("exact", (struct sim_shape){1, 64, 0}, NULL), ".reqntid of 32 x 2");
    sim_assert_fault(sim_launch("probe", (struct sim_shape){1, 0, 0}, NULL), "0 threads");
    sim_assert_clean(sim_launch("probe", (struct sim_shape){1, 64, 0}, NULL));
}

static void traps_and_endless_recursion_are_faults(void **state)
{
    expect_fault((struct sim_shape){1, 32, 0}, "setp.eq.u32 %p1, %r20, 5; @%p1 trap;", 0,
                 "thread 5, trap");
    sim_load(SIM_MODULE(".func again() { call again; ret; }", "call again;"));
    sim_assert_fault(sim_run((struct sim_shape){1, 1, 0}, 0, 0, 0), "stack overflow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(a_fault_names_kernel_source_block_thread_and_address),
        SIM_TEST(misaligned_accesses_are_reported),
        SIM_TEST(stale_unwritten_and_foreign_pointers_are_told_apart),
        SIM_TEST(shared_memory_is_checked_for_bounds_and_initial_values),
        SIM_TEST(local_memory_is_checked_for_bounds_and_initial_values),
        SIM_TEST(threads_of_a_block_race_without_a_barrier),
        SIM_TEST(lanes_that_store_to_one_word_race),
        SIM_TEST(a_word_that_all_lanes_read_is_no_lanes_to_write),
        SIM_TEST(halves_of_a_shared_word_belong_to_different_lanes),
        SIM_TEST(blocks_race_whatever_barriers_they_pass),
        SIM_TEST(launches_that_cannot_run_are_refused),
        SIM_TEST(traps_and_endless_recursion_are_faults),
    };
    return cmocka_run_group_tests_name("ptx faults", tests, NULL, NULL);
}
