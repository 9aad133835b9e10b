/* SPDX-License-Identifier: Apache-2.0 */
/* What loading says: about kernels, and about text that it does not understand. */
#include "ptx_fixture.h"

#define HEAD "// a comment\n.version 8.4\n.target sm_90\n.address_size 64\n"

static void expect_error(const char *text, const char *message)
{
    struct ptx_module *module = NULL;
    char err[600] = "";
    if (ptx_module_load(&module, text, err, sizeof(err)) == 0) {
        ptx_module_free(module);
        fail_msg("loaded, expected \"%s\"", message);
    }
    if (strstr(err, message) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err, message);
}

/* The body starts on line 8. */
static void expect_body_error(const char *body, const char *message)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s%s\nret;\n}\n",
             HEAD ".entry probe(.param .u64 p0)\n{\n.reg .pred %p<4>; .reg .b16 %h<4>;"
                  ".reg .b32 %r<4>; .reg .b64 %d<4>;\n",
             "", body);
    expect_error(text, message);
}

static void unknown_text_is_named_with_its_line(void **state)
{
    expect_body_error("\nfoo.bar.b32 %r1, %r2;", "line 9: unknown instruction \"foo.bar.b32\"");
    expect_body_error("add.u32 %r1, %r2,\n%r3; add.zz.u32 %r1, %r2, %r3;",
                      "line 9: unknown instruction \"add.zz.u32\"");
    expect_body_error("ld.global.odd.u32 %r1, [%d1];",
                      "line 8: unknown modifier \".odd\" of \"ld.global.odd.u32\"");
    expect_body_error("ld.global.v3.u32 %r1, [%d1];", "unknown modifier \".v3\"");
    expect_body_error("atom.global.add.f16 %h1, [%d1], %h2;", "unknown instruction");
    expect_body_error("atom.global.frob.b32 %r1, [%d1], %r2;", "unknown");
    expect_body_error("cvt.rna.tf32.f32 %r1, %r2;", "line 8: ");
    expect_body_error("shfl.bfly.b32 %r1, %r2, 1, 31;", "unknown instruction \"shfl.bfly.b32\"");
    expect_body_error("cp.async.ca.shared.global [%r1], [%d1], 16;", "unknown instruction");
    expect_body_error(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r1}, {%r1}, {%r1}, {%r1};",
        "unknown instruction \"mma.sync");
    expect_body_error(".reg .b8 %b<4>;", "line 8: unknown register type \".b8\"");
    expect_body_error(".surprise 7;", "line 8: unknown directive \".surprise\"");
    expect_error(HEAD ".surprise 7;", "line 5: unknown directive \".surprise\"");
    expect_error(HEAD ".entry k() .surprise 3 { ret; }", "expected '{'");
    expect_error(".address_size 32", "only .address_size 64");
    expect_error(HEAD "hello", "unknown directive \"hello\"");
}

static void operands_must_fit_their_instruction(void **state)
{
    expect_body_error("add.u32 %r1, %r2, %d3;", "register \"%d3\" has 64 bits where 32 are needed");
    expect_body_error("add.u64 %d1, %r2, %d3;", "register \"%r2\" has 32 bits where 64 are needed");
    expect_body_error("add.u32 %r1, %r2;", "\"add.u32\" has 2 operands, not 3");
    expect_body_error("add.u32 %r1, %r9, %r2;", "unknown operand \"%r9\"");
    expect_body_error("add.u32 %r1, %tid.w, %r2;", "unknown operand \"%tid.w\"");
    expect_body_error("mov.u32 %r9, 1;", "the result \"%r9\" is not a register");
    expect_body_error("add.f32 %r1, %r2, 0d3ff0000000000000;", "an immediate of another size");
    expect_body_error("@%r1 add.u32 %r1, %r2, 3;", "the guard \"%r1\" is not a predicate");
    expect_body_error("bra $nowhere;", "line 8: unknown label \"$nowhere\"");
    expect_body_error("$a: $a: ret;", "label \"$a\" is defined twice");
    expect_body_error("call nobody;", "call of the unknown function \"nobody\"");
    expect_body_error("ld.shared.u32 %r1, [p0];", "\"p0\" is in another state space");
    expect_body_error("ld.global.v2.u32 %r1, [%d1];", "1 registers where 2 are needed");
    expect_body_error("ld.global.v2.u32 {%r1, %d2}, [%d1];", "different sizes in one vector");
    expect_body_error("{ .reg .b32 %x; } mov.u32 %x, 1;", "the result \"%x\" is not a register");
    expect_error(HEAD ".func f(.param .b32 a) { ret; }\n.entry k() { .param .b64 x; call f, (x); }",
                 "another size");
    expect_error(HEAD ".func f(.param .b32 a) { ret; }\n.entry k() { call f; }",
                 "another number of arguments");
    expect_error(HEAD ".entry k() { ret; }\n.entry k() { ret; }", "defined twice");
}

/* Every prefix of a good module, and every version with one byte changed, loads or is refused. */
static void damaged_text_is_refused_or_loaded_but_never_worse(void **state)
{
    static const char good[] = HEAD
        ".file 1 \"a/b/c.cu\"\n.global .align 4 .b8 data[8] = {1, 2, 0x3};\n"
        ".extern .shared .align 16 .b8 dyn[];\n"
        ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x<3>; ld.param.u32 %x1, [a];"
        " st.param.b32 [r], %x1; ret; }\n"
        ".visible .entry k(.param .align 8 .b8 p[24], .param .u64 .ptr .global .align 4 q)\n"
        ".maxntid 256, 1, 1 .minnctapersm 2\n"
        "{ .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<4>; .local .align 8 .b8 own[16];\n"
        ".loc 1 3 4, function_name $L__s0 + 1, inlined_at 1 2 3\n"
        "ld.param.v2.u32 {%r1, _}, [p+8]; mov.b64 {%r2, %r3}, %d1; @!%p1 bra $end;\n"
        "$list: .branchtargets $end, $more; brx.idx %r1, $list;\n"
        "$more: { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), f, (x); }\n"
        "setp.lt.and.f32 %p1|%p2, %r1, 0f3F800000, !%p2; shfl.sync.idx.b32 %r4|%p1, %r1, 3, 31, "
        "-1;\n"
        "atom.global.cas.b32 %r5, [data+4], 1, 2; bar.red.popc.u32 %r6, 0, %p1;\n"
        "$end: ret; }\n.section .debug_str { $L__s0: .b8 1, 2 }\n";
    char text[sizeof(good)], err[600];
    struct ptx_module *module;
    assert_int_equal(ptx_module_load(&module, good, err, sizeof(err)), 0);
    ptx_module_free(module);
    for (size_t length = 0; length < sizeof(good) - 1; length++) {
        memcpy(text, good, length);
        text[length] = '\0';
        if (ptx_module_load(&module, text, err, sizeof(err)) == 0)
            ptx_module_free(module);
    }
    static const char odd[] = "\x01 {}[](),;:.%$@!|-+0fx\"\n/";
    for (size_t i = 0; i < sizeof(good) - 1; i++) {
        memcpy(text, good, sizeof(good));
        text[i] = odd[i * 7 % (sizeof(odd) - 1)];
        if (ptx_module_load(&module, text, err, sizeof(err)) == 0)
            ptx_module_free(module);
    }
}

static void kernels_tell_their_parameters_and_shared_memory(void **state)
{
    sim_load(HEAD
             ".shared .align 4 .b8 both[10];\n"
             ".entry one(.param .u8 a, .param .align 8 .b8 s[20], .param .u16 b, .param .f64 c)\n"
             "{ .shared .align 8 .b8 own[24]; ret; }\n"
             ".entry two() { ret; }\n.func helper() { .shared .align 4 .b8 its[4]; ret; }");
    const struct ptx_kernel *one = ptx_module_kernel(sim.module, "one");
    static const uint32_t expected[4][2] = {{0, 1}, {8, 20}, {28, 2}, {32, 8}};
    assert_string_equal(ptx_kernel_name(one), "one");
    assert_int_equal(ptx_kernel_param_count(one), 4);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t offset, size;
        ptx_kernel_param(one, i, &offset, &size);
        assert_int_equal(offset, expected[i][0]);
        assert_int_equal(size, expected[i][1]);
    }
    assert_int_equal(ptx_kernel_param_bytes(one), 40);
    assert_int_equal(ptx_kernel_shared_bytes(one), 128 + 24);
    assert_int_equal(ptx_kernel_shared_bytes(ptx_module_kernel(sim.module, "two")), 16);
    assert_null(ptx_module_kernel(sim.module, "helper"));
    assert_null(ptx_module_kernel(sim.module, "three"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(unknown_text_is_named_with_its_line),
        SIM_TEST(operands_must_fit_their_instruction),
        SIM_TEST(damaged_text_is_refused_or_loaded_but_never_worse),
        SIM_TEST(kernels_tell_their_parameters_and_shared_memory),
    };
    return cmocka_run_group_tests_name("ptx load", tests, NULL, NULL);
}
