/* SPDX-License-Identifier: Apache-2.0 */
/* What loads, stores and atomics do in every state space. Their faults: test_ptx_faults.c. */
#include "ptx_fixture.h"

enum { WORDS = 1024 };

/* In the bodies: %d23 is p0 + 4 * thread. */
#define OUT4 "mad.wide.u32 %d10, %r20, 4, %d21;" /* p1 + 4 * thread */

static uint32_t word(uint32_t i)
{
    return i * 2654435761u + 12345u;
}

static uint64_t upload_words(void)
{
    uint32_t words[WORDS];
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = word(i);
    return sim_upload(words, sizeof(words));
}

static uint32_t read_word(uint64_t address)
{
    uint32_t value;
    memcpy(&value, sim_read(address, 4), 4);
    return value;
}

static void vectors_of_every_shape_copy(void **state)
{
    static const struct {
        uint32_t threads, stride;
        const char *body;
    } shapes[] = {
        {1024, 4, "ld.global.v2.u16 {%h1, %h2}, [%d1]; st.global.v2.u16 [%d2], {%h1, %h2};"},
        {1024, 4, "ld.v4.u8 {%h1, %h2, %h3, %h4}, [%d1]; st.v4.u8 [%d2], {%h1, %h2, %h3, %h4};"},
        {256, 16,
         "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];"
         "st.global.v2.b32 [%d2], {%r1, %r2}; st.global.cs.v2.b32 [%d2+8], {%r3, %r4};"},
        {256, 16, "ld.v2.u64 {%d3, %d4}, [%d1]; st.v2.f64 [%d2], {%d3, %d4};"},
        {128, 32,
         "ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1];"
         "st.global.v8.b32 [%d2], {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8};"},
        {128, 32,
         "ld.global.v4.b64 {%d3, %d4, %d5, %d6}, [%d1];"
         "st.global.v4.b64 [%d2], {%d3, %d4, %d5, %d6};"},
        {512, 8,
         "ld.global.v2.b32 {%r1, _}, [%d1]; ld.global.v2.b32 {_, %r2}, [%d1];"
         "mov.b64 %d3, {%r1, %r2}; st.global.b64 [%d2], %d3;"}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        char body[1024];
        snprintf(body, sizeof(body),
                 "mad.wide.u32 %%d1, %%r20, %u, %%d20; mad.wide.u32 %%d2, %%r20, %u, %%d21;%s",
                 shapes[i].stride, shapes[i].stride, shapes[i].body);
        sim_load_body(body);
        const uint64_t in = upload_words(), out = sim_new(4 * WORDS);
        sim_assert_clean(sim_run((struct sim_shape){1, shapes[i].threads, 0}, in, out, 0));
        assert_memory_equal(sim_read(out, 4 * WORDS), sim_read(in, 4 * WORDS), 4 * WORDS);
    }
}

static void narrow_elements_are_extended_by_their_type(void **state)
{
    const uint8_t bytes[] = {0x80, 0x7f, 0xfe, 0xff};
    const uint64_t in = sim_upload(bytes, 4), out = sim_new(40);
    sim_load(SIM_KERNEL("ld.global.s8 %r1, [%d20]; ld.global.u8 %r2, [%d20];"
                        "ld.global.s16 %r3, [%d20+2]; ld.global.u16 %d4, [%d20+2];"
                        "ld.global.s32 %d5, [%d20]; ld.global.s8 %h6, [%d20+2];"
                        "st.global.u32 [%d21], %r1; st.global.u32 [%d21+4], %r2;"
                        "st.global.u32 [%d21+8], %r3; st.global.u64 [%d21+16], %d4;"
                        "st.global.u64 [%d21+24], %d5; st.global.u16 [%d21+32], %h6;"
                        "st.global.u8 [%d21+12], %r3; st.global.u16 [%d21+14], %d5;"));
    sim_assert_clean(sim_run((struct sim_shape){1, 1, 0}, in, out, 0));
    assert_int_equal(read_word(out), 0xffffff80);
    assert_int_equal(read_word(out + 4), 0x80);
    assert_int_equal(read_word(out + 8), 0xfffffffe);
    assert_int_equal(*(const uint64_t *)sim_read(out + 16, 8), 0xfffe);
    assert_int_equal(*(const uint64_t *)sim_read(out + 24, 8), 0xfffffffffffe7f80);
    assert_int_equal(*(const uint16_t *)sim_read(out + 32, 2), 0xfffe);
    assert_int_equal(*(const uint8_t *)sim_read(out + 12, 1), 0xfe);
    assert_int_equal(*(const uint16_t *)sim_read(out + 14, 2), 0x7f80);
}

static void a_block_reverses_words_through_shared_memory(void **state)
{
    const uint64_t in = upload_words(), out = sim_new(4 * WORDS);
    sim_load(
        SIM_KERNEL(".shared .align 4 .b8 tile[1024];"
                   "ld.global.u32 %r1, [%d23]; mov.u32 %r2, tile; mad.lo.u32 %r3, %r20, 4, %r2;"
                   "st.shared.u32 [%r3], %r1; bar.sync 0; sub.u32 %r4, 255, %r20;"
                   "mad.lo.u32 %r5, %r4, 4, %r2; ld.shared.u32 %r6, [%r5];" OUT4
                   "st.global.u32 [%d10], %r6;"));
    sim_assert_clean(sim_run((struct sim_shape){1, 256, 0}, in, out, 0));
    for (uint32_t k = 0; k < 256; k++)
        assert_int_equal(read_word(out + 4 * k), word(255 - k));
}

static void dynamic_shared_memory_lies_behind_the_static(void **state)
{
    const uint64_t out = sim_new(8);
    sim_load(SIM_MODULE(".extern .shared .align 16 .b8 tile[];",
                        ".shared .align 4 .b8 other[100];"
                        "mov.u32 %r1, %dynamic_smem_size; st.global.u32 [%d20], %r1;"
                        "st.shared.u32 [other+96], 1; st.shared.u32 [tile], 2;"
                        "st.shared.u32 [tile+60], 3; ld.shared.u32 %r2, [other+96];"
                        "ld.shared.u32 %r3, [tile]; mad.lo.u32 %r2, %r2, 10, %r3;"
                        "st.global.u32 [%d20+4], %r2;"));
    assert_int_equal(ptx_kernel_shared_bytes(ptx_module_kernel(sim.module, "probe")), 100);
    sim_assert_clean(sim_run((struct sim_shape){1, 1, 64}, out, 0, 0));
    assert_int_equal(read_word(out), 64);
    assert_int_equal(read_word(out + 4), 12);
    sim_assert_fault(sim_run((struct sim_shape){1, 1, 60}, out, 0, 0), "out of bounds");
}

static void shared_variables_do_not_overlap(void **state)
{
    const uint64_t out = sim_new(16);
    sim_load(SIM_MODULE(".shared .align 4 .b8 ours[8];\n.extern .shared .align 16 .b8 rest[];",
                        ".shared .align 4 .b8 a[4]; .shared .align 4 .b8 b[4];"
                        "st.shared.u32 [ours], 1; st.shared.u32 [a], 2; st.shared.u32 [b], 3;"
                        "st.shared.u32 [rest], 4; ld.shared.u32 %r1, [ours];"
                        "ld.shared.u32 %r2, [a]; ld.shared.u32 %r3, [b]; ld.shared.u32 %r4, [rest];"
                        "st.global.v4.u32 [%d20], {%r1, %r2, %r3, %r4};"));
    sim_assert_clean(sim_run((struct sim_shape){1, 1, 4}, out, 0, 0));
    static const uint32_t expected[] = {1, 2, 3, 4};
    assert_memory_equal(sim_read(out, 16), expected, 16);
}

static void local_memory_is_private_to_each_lane(void **state)
{
    const uint64_t in = upload_words(), out = sim_new(4 * WORDS);
    sim_load(SIM_KERNEL(".local .align 16 .b8 depot[64];"
                        "mov.u64 %d1, depot; and.b32 %r1, %r20, 7; mad.wide.u32 %d2, %r1, 8, %d1;"
                        "ld.global.u32 %r2, [%d23]; st.local.u32 [%d2], %r2;"
                        "cvta.local.u64 %d3, %d2; ld.u32 %r3, [%d3];" OUT4
                        "st.global.u32 [%d10], %r3;"));
    sim_assert_clean(sim_run((struct sim_shape){1, 100, 0}, in, out, 0));
    assert_memory_equal(sim_read(out, 400), sim_read(in, 400), 400);
}

static void module_variables_keep_their_values_between_launches(void **state)
{
    const uint64_t out = sim_new(12);
    sim_load(SIM_MODULE(".global .align 4 .u32 counter = 7;"
                        ".const .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6};"
                        ".global .align 8 .b8 zeros[16];",
                        "ld.global.u32 %r1, [counter]; add.u32 %r1, %r1, 1;"
                        "st.global.u32 [counter], %r1; st.global.u32 [%d20], %r1;"
                        "mov.u64 %d1, table; ld.const.u32 %r2, [%d1+4];"
                        "st.global.u32 [%d20+4], %r2;"
                        "ld.global.u32 %r3, [zeros+12]; st.global.u32 [%d20+8], %r3;"));
    for (uint32_t i = 0; i < 3; i++) {
        sim_assert_clean(sim_run((struct sim_shape){1, 1, 0}, out, 0, 0));
        assert_int_equal(read_word(out), 8 + i);
        assert_int_equal(read_word(out + 4), 0x00000605);
        assert_int_equal(read_word(out + 8), 0);
    }
}

static void module_variables_belong_to_no_stream(void **state)
{
    const uint64_t out = sim_new(4);
    sim_load(SIM_MODULE(".const .align 4 .b8 table[8] = {1, 2, 3, 4};",
                        "ld.const.u32 %r1, [table]; st.global.u32 [%d20], %r1;"));
    sim_assert_clean(sim_run((struct sim_shape){1, 1, 0}, out, 0, 0));
    const uint64_t other = sim_new(4), params[] = {other, 0, 0};
    static const uint32_t clock[SIM_CLOCKS_MAX] = {0, 1}; /* knows nothing of the first launch */
    const struct sim_op op = {.id = 1000, .actor = 1, .tick = 1, .clock = clock, .what = "other"};
    const struct ptx_launch launch = {.kernel = ptx_module_kernel(sim.module, "probe"),
                                      .grid = {1, 1, 1},
                                      .block = {1, 1, 1},
                                      .params = params,
                                      .memory = sim.memory,
                                      .op = &op};
    sim_assert_clean(ptx_run(&launch, &sim.fault));
}

static void generic_addresses_reach_every_space(void **state)
{
    const uint64_t in = upload_words(), out = sim_new(24);
    sim_load(SIM_KERNEL(".shared .align 4 .b8 tile[8]; .local .align 4 .b8 depot[8];"
                        "mov.u64 %d1, tile; cvta.shared.u64 %d1, %d1;"
                        "mov.u64 %d2, depot; cvta.local.u64 %d2, %d2;"
                        "mov.u64 %d3, p2; cvta.param.u64 %d3, %d3;"
                        "st.u32 [%d1+4], 11; st.u32 [%d2+4], 22; ld.u32 %r1, [%d1+4];"
                        "ld.u32 %r2, [%d2+4]; ld.u32 %r3, [%d3]; ld.u32 %r4, [%d20+8];"
                        "st.v4.u32 [%d21], {%r1, %r2, %r3, %r4};"
                        "isspacep.shared %p1, %d1; isspacep.global %p2, %d20;"
                        "isspacep.local %p3, %d1; selp.u32 %r5, 1, 0, %p1;"
                        "@%p2 add.u32 %r5, %r5, 2; @%p3 add.u32 %r5, %r5, 4;"
                        "cvta.to.shared.u64 %d4, %d1; ld.shared.u32 %r6, [%d4+4];"
                        "st.v2.u32 [%d21+16], {%r5, %r6};"));
    sim_assert_clean(sim_run((struct sim_shape){1, 1, 0}, in, out, 33));
    const uint32_t expected[] = {11, 22, 33, word(2), 3, 11};
    assert_memory_equal(sim_read(out, 24), expected, 24);
}

static void functions_take_parameters_and_return_values(void **state)
{
    const uint64_t in = upload_words(), out = sim_new(4 * WORDS);
    sim_load(SIM_MODULE(
        ".func (.param .b32 result) mix(.param .b32 x, .param .b64 y)\n;"
        ".func (.param .b32 result) mix(.param .b32 x, .param .b64 y)\n{"
        ".reg .b32 %r<4>; .reg .b64 %d<2>; .reg .pred %p<2>; .local .align 4 .b8 own[4];"
        "ld.param.u32 %r1, [x]; ld.param.u64 %d1, [y]; st.local.u32 [own], %r1;"
        "setp.lt.u32 %p1, %r1, 2; @%p1 bra $leaf; sub.u32 %r2, %r1, 2;\n"
        "{ .param .b32 a; .param .b64 b; .param .b32 c; st.param.b32 [a], %r2;"
        "st.param.b64 [b], %d1; call (c), mix, (a, b); ld.param.b32 %r3, [c]; }\n"
        "ld.local.u32 %r1, [own]; add.u32 %r3, %r3, %r1; st.param.b32 [result], %r3; ret;\n"
        "$leaf: cvt.u32.u64 %r2, %d1; st.param.b32 [result], %r2; ret; }",
        "and.b32 %r1, %r20, 15; mov.u64 %d1, 1000;" /* mix(x) = 1000 + x + (x-2) + ... down to 2 */
        "{ .param .b32 a; .param .b64 b; .param .b32 c; st.param.b32 [a], %r1;"
        "st.param.b64 [b], %d1; call.uni (c), mix, (a, b); ld.param.b32 %r2, [c]; }" OUT4
        "st.global.u32 [%d10], %r2;"));
    sim_assert_clean(sim_run((struct sim_shape){1, 64, 0}, in, out, 0));
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t expected = 1000;
        for (uint32_t x = i % 16; x >= 2; x -= 2)
            expected += x;
        assert_int_equal(read_word(out + 4 * i), expected);
    }
}

static void lanes_that_exit_in_a_function_do_not_return(void **state)
{
    const uint64_t out = sim_upload((uint32_t[64]){0}, 256);
    sim_load(SIM_MODULE(".func leave(.param .b32 x)\n{ .reg .b32 %r<2>; .reg .pred %p<2>;"
                        "ld.param.u32 %r1, [x]; setp.lt.u32 %p1, %r1, 5; @%p1 exit; ret; }",
                        "{ .param .b32 a; st.param.b32 [a], %r20; call leave, (a); }"
                        "st.global.u32 [%d23], 7;"));
    sim_assert_clean(sim_run((struct sim_shape){1, 64, 0}, out, 0, 0));
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(read_word(out + 4 * i), i < 5 ? 0 : 7);
}

static void atomics_update_one_word_from_all_threads(void **state)
{
    static const struct {
        uint64_t start, end; /* after 3 blocks of 64 threads; thread = 0..63 */
        const char *instruction;
    } cases[] = {{5, 5 + 192, "atom.global.add.u32 %r1, [%d20], 1;"},
                 {5, 5 + 3 * 2016, "red.global.add.u32 [%d20], %r20;"},
                 {5, 5 + 3 * 2016, "atom.add.relaxed.gpu.u32 %r1, [%d20], %r20;"},
                 {0xffffffff, 0xffffffffull + 192, "red.global.add.u64 [%d20], 1;"},
                 {40, 63, "atom.global.max.u32 %r1, [%d20], %r20;"},
                 {40, 0, "atom.global.min.s32 %r1, [%d20], %r20;"},
                 {0xffffff00, 0, "atom.global.max.s32 %r1, [%d20], 0;"},
                 {0, 0xff, "or.b32 %r2, %r20, 0xc0; red.global.or.b32 [%d20], %r2;"},
                 {0xffff, 0xff0f, "red.global.and.b32 [%d20], 0xff0f;"},
                 {1, 1, "red.global.xor.b32 [%d20], %r20;"},
                 {0, 192 % 10, "atom.global.inc.u32 %r1, [%d20], 9;"},
                 {0, 8, "atom.global.dec.u32 %r1, [%d20], 9;"},
                 {7, 9, "atom.global.cas.b32 %r1, [%d20], 7, 9;"},
                 {8, 8, "atom.global.cas.b32 %r1, [%d20], 7, 9;"},
                 {1ull << 40, 3, "atom.global.cas.b64 %d1, [%d20], 0x10000000000, 3;"},
                 {7, 63, "atom.global.exch.b32 %r1, [%d20], %r20;"},
                 {0x3f800000, 0x43410000, "red.global.add.f32 [%d20], 0f3f800000;"}, /* 193 */
                 {0, 0x4068000000000000, "red.global.add.f64 [%d20], 0d3ff0000000000000;"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const uint64_t at = sim_upload(&cases[i].start, 8);
        sim_load_body(cases[i].instruction);
        sim_assert_clean(sim_run((struct sim_shape){3, 64, 0}, at, 0, 0));
        const uint64_t got = *(const uint64_t *)sim_read(at, 8);
        if (got != cases[i].end)
            fail_msg("%s gives 0x%llx, not 0x%llx", cases[i].instruction, (unsigned long long)got,
                     (unsigned long long)cases[i].end);
    }
}

static void atomics_return_the_old_value(void **state)
{
    const uint64_t out = sim_new(4 * 64), zero = 0, counter = sim_upload(&zero, 8);
    sim_load(SIM_KERNEL(".shared .align 4 .b8 here[4]; setp.eq.u32 %p1, %r20, 0;"
                        "@%p1 st.shared.u32 [here], 100; bar.sync 0;"
                        "atom.shared.add.u32 %r1, [here], 2; atom.add.u32 %r2, [%d21], 1;"
                        "add.u32 %r1, %r1, %r2; st.global.u32 [%d23], %r1;"));
    sim_assert_clean(sim_run((struct sim_shape){1, 64, 0}, out, counter, 0));
    bool seen[64] = {false}; /* each thread was some k-th: 100 + 2k + k */
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t value = read_word(out + 4 * i) - 100;
        assert_int_equal(value % 3, 0);
        assert_true(value / 3 < 64 && !seen[value / 3]);
        seen[value / 3] = true;
    }
}

static void special_registers_say_where_a_thread_is(void **state)
{
    enum { ROW = 12, THREADS = 2 * 3 * 48, BLOCKS = 2 * 3 };
    sim_load(".version 8.4\n.target sm_90\n.address_size 64\n"
             ".visible .entry probe(.param .u64 out)\n{ .reg .b32 %r<20>; .reg .b64 %d<4>;"
             "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;"
             "mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ntid.y;"
             "mov.u32 %r7, %nctaid.y; mov.u32 %r8, %laneid; mov.u32 %r9, %warpid;"
             "mov.u32 %r10, %lanemask_lt; mov.u32 %r11, %lanemask_ge; mov.u32 %r12, %nwarpid;"
             "mad.lo.u32 %r13, %r3, %ntid.y, %r2; mad.lo.u32 %r13, %r13, %ntid.x, %r1;"
             "mad.lo.u32 %r14, %r5, %nctaid.x, %r4; mad.lo.u32 %r14, %r14, 288, %r13;"
             "ld.param.u64 %d1, [out]; mad.wide.u32 %d1, %r14, 48, %d1;"
             "st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};"
             "st.global.v4.u32 [%d1+16], {%r5, %r6, %r7, %r8};"
             "st.global.v4.u32 [%d1+32], {%r9, %r10, %r11, %r12}; ret; }");
    const uint64_t out = sim_new(4 * ROW * THREADS * BLOCKS);
    sim_next_op("kernel probe");
    const struct ptx_launch launch = {.kernel = ptx_module_kernel(sim.module, "probe"),
                                      .grid = {2, 3, 1},
                                      .block = {48, 3, 2},
                                      .params = &out,
                                      .memory = sim.memory,
                                      .op = &sim.op};
    sim_assert_clean(ptx_run(&launch, &sim.fault));
    const uint32_t *row = sim_read(out, 4 * ROW * THREADS * BLOCKS);
    for (uint32_t block = 0; block < BLOCKS; block++) {
        for (uint32_t t = 0; t < THREADS; t++, row += ROW) {
            const uint32_t lane = t % 32;
            const uint32_t expected[ROW] = {t % 48,
                                            t / 48 % 3,
                                            t / 144,
                                            block % 2,
                                            block / 2,
                                            3,
                                            3,
                                            lane,
                                            t / 32,
                                            (1u << lane) - 1u,
                                            ~((1u << lane) - 1u),
                                            9};
            assert_memory_equal(row, expected, sizeof(expected));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(vectors_of_every_shape_copy),
        SIM_TEST(narrow_elements_are_extended_by_their_type),
        SIM_TEST(a_block_reverses_words_through_shared_memory),
        SIM_TEST(dynamic_shared_memory_lies_behind_the_static),
        SIM_TEST(shared_variables_do_not_overlap),
        SIM_TEST(local_memory_is_private_to_each_lane),
        SIM_TEST(module_variables_keep_their_values_between_launches),
        SIM_TEST(module_variables_belong_to_no_stream),
        SIM_TEST(generic_addresses_reach_every_space),
        SIM_TEST(functions_take_parameters_and_return_values),
        SIM_TEST(lanes_that_exit_in_a_function_do_not_return),
        SIM_TEST(atomics_update_one_word_from_all_threads),
        SIM_TEST(atomics_return_the_old_value),
        SIM_TEST(special_registers_say_where_a_thread_is),
    };
    return cmocka_run_group_tests_name("ptx memory", tests, NULL, NULL);
}
