/* SPDX-License-Identifier: Apache-2.0 */
/* Divergence, lanes that see each other, and barriers. */
#include "ptx_fixture.h"

#define OUT "st.global.u32 [%d23], %r0;" /* p0[thread] = %r0 */

static uint32_t got[1024];

/* Runs the body in one block and fetches p0[thread]; p1 is zeroed scratch memory. */
static void run_threads(uint32_t threads, const char *body)
{
    static const uint32_t zeros[1024];
    const uint64_t out = sim_new(4 * threads), scratch = sim_upload(zeros, sizeof(zeros));
    sim_load_body(body);
    sim_assert_clean(sim_run((struct sim_shape){1, threads, 0}, out, scratch, 0));
    memcpy(got, sim_read(out, 4 * threads), 4 * threads);
}

static void assert_threads(uint32_t threads, uint32_t (*expected)(uint32_t thread))
{
    for (uint32_t i = 0; i < threads; i++) {
        if (got[i] != expected(i))
            fail_msg("thread %u has %u, not %u", i, got[i], expected(i));
    }
}

static void expect_fault(uint32_t threads, const char *body, const char *part)
{
    static const uint32_t zeros[1024];
    sim_load_body(body);
    const uint64_t out = sim_new(4 * threads), scratch = sim_upload(zeros, sizeof(zeros));
    sim_assert_fault(sim_run((struct sim_shape){1, threads, 0}, out, scratch, 0), part);
}

/* ---- Divergence ---- */

static uint32_t collatz(uint32_t thread)
{
    uint32_t steps = 0;
    for (uint32_t n = thread + 1; n != 1; steps++)
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

static void lanes_leave_a_loop_one_by_one(void **state)
{
    run_threads(256, "add.u32 %r1, %r20, 1; mov.u32 %r0, 0;\n"
                     "$loop: setp.eq.u32 %p1, %r1, 1; @%p1 bra $done;\n"
                     "and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 0; @%p2 bra $even;\n"
                     "mad.lo.u32 %r1, %r1, 3, 1; bra.uni $next;\n"
                     "$even: shr.u32 %r1, %r1, 1;\n"
                     "$next: add.u32 %r0, %r0, 1; bra.uni $loop;\n"
                     "$done: " OUT);
    assert_threads(256, collatz);
}

static uint32_t by_class(uint32_t thread)
{
    static const uint32_t values[] = {10, 21, 32, 43, 99};
    return values[thread % 7 < 4 ? thread % 7 : 4];
}

static void an_indexed_branch_sends_each_lane_its_way(void **state)
{
    run_threads(100, "rem.u32 %r1, %r20, 7; setp.gt.u32 %p1, %r1, 3; @%p1 bra $other;\n"
                     "$list: .branchtargets $a, $b, $c, $d;\n"
                     "brx.idx %r1, $list;\n"
                     "$d: mov.u32 %r0, 43; bra $end;\n"
                     "$c: mov.u32 %r0, 32; bra $end;\n"
                     "$a: mov.u32 %r0, 10; bra $end;\n"
                     "$b: mov.u32 %r0, 21; bra $end;\n"
                     "$other: mov.u32 %r0, 99;\n"
                     "$end: " OUT);
    assert_threads(100, by_class);
    expect_fault(32, "$list: .branchtargets $a, $b;\nbrx.idx %r20, $list;\n$a: $b: ret;",
                 "thread 2, branches to entry 2 of a list of 2");
}

static uint32_t halves(uint32_t thread)
{
    return thread % 2 == 0 ? thread : 1000;
}

static void lanes_that_exit_early_leave_the_others_alone(void **state)
{
    run_threads(64, "mov.u32 %r0, 1000; and.b32 %r1, %r20, 1; setp.eq.u32 %p1, %r1, 1;" OUT
                    "@%p1 exit; mov.u32 %r0, %r20;" OUT);
    assert_threads(64, halves);
}

static uint32_t sum_of_warp(uint32_t thread)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 32; i++)
        sum += i % 5 == 0 ? 2 * i : i;
    return sum;
}

/* Compilers move unlikely code to the end: its lanes have a higher counter than the meeting point,
 * where the others must wait for them. */
static void lanes_meet_again_behind_code_moved_to_the_end(void **state)
{
    run_threads(64, "mov.u32 %r1, %r21; rem.u32 %r2, %r21, 5; setp.eq.u32 %p1, %r2, 0;"
                    "@%p1 bra $cold;\n"
                    "$join: redux.sync.add.u32 %r0, %r1, 0xffffffff;" OUT "ret;\n"
                    "$cold: add.u32 %r1, %r1, %r1; bra.uni $join;");
    assert_threads(64, sum_of_warp);
}

/* ---- Shuffles, votes and the like ---- */

struct shuffle {
    const char *mode;
    int b, c;
};

/* CUDA C++ Programming Guide: the warp is cut into parts of `width` lanes. */
static uint32_t shuffled(const struct shuffle *s, uint32_t thread)
{
    const int lane = (int)thread % 32, width = 32 - (s->c >> 8 & 31), part = lane / width * width;
    const int at = lane % width;
    int from = at;
    if (strcmp(s->mode, "up") == 0)
        from = at - s->b;
    else if (strcmp(s->mode, "down") == 0)
        from = at + s->b;
    else if (strcmp(s->mode, "bfly") == 0)
        from = at ^ s->b;
    else
        from = s->b % width;
    const bool ok = from >= 0 && from < width;
    return 100u * ((uint32_t)(part + (ok ? from : at)) + thread / 32 * 32) + ok;
}

static void shuffles_stay_within_their_part_of_the_warp(void **state)
{
    static const struct shuffle cases[] = {
        {"up", 1, 0},        {"up", 3, 0x1800}, {"down", 2, 0x1f},
        {"down", 5, 0x181f}, {"bfly", 1, 0x1f}, {"bfly", 16, 0x1f},
        {"bfly", 4, 0x181f}, {"idx", 9, 0x1f},  {"idx", 3, 0x1c1f}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char body[512];
        snprintf(body, sizeof(body),
                 "mul.lo.u32 %%r1, %%r20, 100; shfl.sync.%s.b32 %%r0|%%p1, %%r1, %d, %d, -1;"
                 "@%%p1 add.u32 %%r0, %%r0, 1;"
                 "%s",
                 cases[i].mode, cases[i].b, cases[i].c, OUT);
        run_threads(64, body);
        for (uint32_t t = 0; t < 64; t++) {
            if (got[t] != shuffled(&cases[i], t))
                fail_msg("shfl.%s %d, 0x%x: thread %u has %u, not %u", cases[i].mode, cases[i].b,
                         cases[i].c, t, got[t], shuffled(&cases[i], t));
        }
    }
}

static uint32_t odd_ballot(uint32_t thread)
{
    return thread < 32 ? 0xaaaaaaaa : 0x0000aaaa; /* 48 threads: half of warp 1 exists */
}

static void votes_count_the_lanes_that_take_part(void **state)
{
    run_threads(48, "and.b32 %r1, %r20, 1; setp.eq.u32 %p1, %r1, 1; activemask.b32 %r2;"
                    "vote.sync.ballot.b32 %r0, %p1, %r2;" OUT);
    assert_threads(48, odd_ballot);
    run_threads(32, "setp.lt.u32 %p1, %r20, 8; mov.u32 %r0, 0; setp.lt.u32 %p2, %r20, 40;"
                    "vote.sync.all.pred %p3, %p1, -1; vote.sync.any.pred %p4, %p1, -1;"
                    "vote.sync.uni.pred %p5, %p1, -1; vote.sync.all.pred %p6, %p2, -1;"
                    "vote.sync.any.pred %p7, !%p2, -1;"
                    "@%p3 add.u32 %r0, %r0, 1; @%p4 add.u32 %r0, %r0, 2; @%p5 add.u32 %r0, %r0, 4;"
                    "@%p6 add.u32 %r0, %r0, 8; @%p7 add.u32 %r0, %r0, 16;" OUT);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(got[i], 2 + 8);
}

static uint32_t matches(uint32_t thread)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < 32; i++)
        mask |= (uint32_t)(i % 3 == thread % 32 % 3) << i;
    return mask;
}

static void match_finds_the_lanes_with_the_same_value(void **state)
{
    run_threads(32, "rem.u32 %r1, %r21, 3; cvt.u64.u32 %d1, %r1; shl.b64 %d1, %d1, 40;"
                    "match.any.sync.b64 %r0, %d1, -1;" OUT);
    assert_threads(32, matches);
    run_threads(32, "shr.u32 %r1, %r21, 5; match.all.sync.b32 %r0|%p1, %r1, -1;"
                    "match.all.sync.b32 %r2|%p2, %r21, -1; add.u32 %r0, %r0, %r2;"
                    "@%p1 sub.u32 %r0, %r0, 1; @%p2 sub.u32 %r0, %r0, 2;" OUT);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(got[i], 0xfffffffe);
}

static void reductions_run_over_the_members_of_the_mask(void **state)
{
    static const struct {
        const char *op;
        uint32_t low, high; /* lanes 0..15 hold lane - 3, the others too */
    } cases[] = {{"add.u32", 72, 328},         {"min.s32", 0xfffffffd, 13},  {"min.u32", 0, 13},
                 {"max.s32", 12, 28},          {"max.u32", 0xffffffff, 28},  {"and.b32", 0, 0},
                 {"or.b32", 0xffffffff, 0x1f}, {"xor.b32", 0xfffffff0, 0x10}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char body[512];
        snprintf(body, sizeof(body),
                 "sub.u32 %%r1, %%r21, 3; setp.lt.u32 %%p1, %%r21, 16;"
                 "selp.b32 %%r2, 0xffff, 0xffff0000, %%p1; redux.sync.%s %%r0, %%r1, %%r2;"
                 "%s",
                 cases[i].op, OUT);
        run_threads(32, body);
        assert_int_equal(got[0], cases[i].low);
        assert_int_equal(got[31], cases[i].high);
    }
}

static uint32_t elected(uint32_t thread)
{
    return thread < 8 ? 4 * 2 + (thread == 4) : 0;
}

static void elect_names_the_lowest_member(void **state)
{
    run_threads(32, "mov.u32 %r0, 0; setp.gt.u32 %p1, %r21, 3; setp.lt.and.u32 %p1, %r21, 8, %p1;"
                    "@%p1 elect.sync %r1|%p2, 0xf0; @%p1 shl.b32 %r0, %r1, 1;"
                    "setp.lt.u32 %p3, %r21, 4; @%p3 mov.u32 %r0, 8; @!%p1 bra $end;"
                    "@%p2 add.u32 %r0, %r0, 1;\n$end: " OUT);
    assert_threads(32, elected);
}

static void a_shuffle_without_all_its_lanes_is_reported(void **state)
{
    static const char *const divergent =
        "setp.lt.u32 %p1, %r21, 16; @%p1 bra $low; mov.u32 %r0, 7; bra $end;\n"
        "$low: shfl.sync.bfly.b32 %r0, %r20, 1, 31, MASK;\n$end: " OUT;
    char body[512];
    const char *mask = strstr(divergent, "MASK");
    snprintf(body, sizeof(body), "%.*s%s%s", (int)(mask - divergent), divergent, "0xffff",
             mask + 4);
    run_threads(32, body);
    assert_int_equal(got[3], 2);
    snprintf(body, sizeof(body), "%.*s%s%s", (int)(mask - divergent), divergent, "-1", mask + 4);
    expect_fault(32, body, "missing lanes: shfl.sync.bfly.b32 names lanes 0xffff0000 of warp 0");
    expect_fault(32, "setp.lt.u32 %p1, %r21, 16; @%p1 exit; shfl.sync.up.b32 %r0, %r20, 1, 0, -1;",
                 "0x0000ffff of warp 0 that do not take part (some have exited)");
    expect_fault(32, "setp.lt.u32 %p1, %r21, 16; @%p1 shfl.sync.up.b32 %r0, %r20, 1, 0, -1;",
                 "missing lanes");
    expect_fault(16, "vote.sync.ballot.b32 %r0, 1, -1;", "do not exist");
}

static void a_shuffle_from_a_lane_outside_its_mask_is_reported(void **state)
{
    expect_fault(32,
                 "setp.lt.u32 %p1, %r21, 16; @%p1 shfl.sync.bfly.b32 %r0, %r20, 16, 31, 0xffff;",
                 "reads lane 16, which does not take part");
}

/* ---- Barriers ---- */

static uint32_t total(uint32_t thread)
{
    return 256 * 255 / 2;
}

static void a_block_reduces_through_shared_memory(void **state)
{
    run_threads(256, ".shared .align 4 .b8 part[1024]; mov.u32 %r1, part;"
                     "mad.lo.u32 %r2, %r20, 4, %r1; st.shared.u32 [%r2], %r20; mov.u32 %r3, 128;\n"
                     "$loop: bar.sync 0; setp.ge.u32 %p1, %r20, %r3; @%p1 bra $next;\n"
                     "mad.lo.u32 %r4, %r3, 4, %r2; ld.shared.u32 %r5, [%r4];"
                     "ld.shared.u32 %r6, [%r2]; add.u32 %r6, %r6, %r5; st.shared.u32 [%r2], %r6;\n"
                     "$next: shr.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra $loop;\n"
                     "bar.sync 0; ld.shared.u32 %r0, [part];" OUT);
    assert_threads(256, total);
}

static uint32_t reduced_predicates(uint32_t thread)
{
    return 40 + 1000; /* popc 40, and: false, or: true */
}

static void a_barrier_reduces_predicates_of_the_block(void **state)
{
    run_threads(96, "setp.lt.u32 %p1, %r20, 40; bar.red.popc.u32 %r0, 0, %p1;"
                    "bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 1, 96, %p1;"
                    "@%p2 add.u32 %r0, %r0, 500; @%p3 add.u32 %r0, %r0, 1000;" OUT);
    assert_threads(96, reduced_predicates);
}

static uint32_t handed_over(uint32_t thread)
{
    return thread < 64 ? 0 : 7;
}

static void named_barriers_join_some_of_the_warps(void **state)
{
    run_threads(128, ".shared .align 4 .b8 box[4]; mov.u32 %r0, 0;" /* warps 0, 1 give; 2, 3 take */
                     "setp.ge.u32 %p1, %r20, 64; @%p1 bra $take;\n"
                     "setp.eq.u32 %p2, %r20, 0; @%p2 st.shared.u32 [box], 7;"
                     "barrier.cta.arrive.aligned 3, 128; bra.uni $end;\n"
                     "$take: barrier.cta.sync.aligned 3, 128; ld.shared.u32 %r0, [box];\n"
                     "$end: " OUT);
    assert_threads(128, handed_over);
}

static void lanes_of_a_warp_meet_at_different_barriers(void **state)
{
    run_threads(32, ".shared .align 4 .b8 box[8]; mov.u32 %r0, 7;"
                    "setp.lt.u32 %p1, %r21, 16; setp.eq.u32 %p2, %r21, 0; @%p1 bra $low;\n"
                    "bar.warp.sync -1; ld.shared.u32 %r0, [box]; bra $end;\n"
                    "$low: @%p2 st.shared.u32 [box], 7; bar.warp.sync -1;\n$end: " OUT);
    run_threads(64, ".shared .align 4 .b8 box[8]; mov.u32 %r0, 7;"
                    "setp.lt.u32 %p1, %r21, 16; setp.eq.u32 %p2, %r20, 0; @%p1 bra $low;\n"
                    "barrier.sync 0; ld.shared.u32 %r0, [box]; bra $end;\n"
                    "$low: @%p2 st.shared.u32 [box], 7; barrier.sync 0;\n$end: " OUT);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(got[i], 7);
}

static void a_divergent_barrier_is_reported(void **state)
{
    expect_fault(32, "setp.lt.u32 %p1, %r21, 16; @%p1 bra $end; bar.sync 0;\n$end: ret;",
                 "divergent barrier: bar.sync without lanes 0x0000ffff of warp 0");
    expect_fault(32, "setp.lt.u32 %p1, %r21, 16; @%p1 bar.sync 0;", "divergent barrier");
    expect_fault(32, "setp.lt.u32 %p1, %r21, 16; @%p1 exit; bar.sync 0;", "some have exited");
    run_threads(32,
                "mov.u32 %r0, 0; setp.lt.u32 %p1, %r21, 16; @%p1 bra $end;\n$end: bar.sync 0;" OUT);
}

static void a_barrier_that_some_warps_never_reach_is_reported(void **state)
{
    expect_fault(96, "setp.lt.u32 %p1, %r20, 32; @%p1 exit; bar.sync 0;",
                 "waits for ever: 64 of 96 threads came to barrier 0; warp 0 has exited");
    expect_fault(64, "setp.lt.u32 %p1, %r20, 32; selp.b32 %r1, 1, 2, %p1; bar.sync %r1;",
                 "waits at barrier");
    expect_fault(96, "setp.lt.u32 %p1, %r20, 32; selp.b32 %r1, 96, 64, %p1; bar.sync 1, %r1;",
                 "barrier 1 for 64 threads, where another warp waits for 96");
    expect_fault(32, "bar.sync 16;", "barrier 16; there are 16");
    expect_fault(64, "bar.sync 0, 96;", "not a number of whole warps");
}

static void a_kernel_that_never_ends_is_reported(void **state)
{
    expect_fault(32, "$loop: bra.uni $loop;", "does not end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(lanes_leave_a_loop_one_by_one),
        SIM_TEST(an_indexed_branch_sends_each_lane_its_way),
        SIM_TEST(lanes_that_exit_early_leave_the_others_alone),
        SIM_TEST(lanes_meet_again_behind_code_moved_to_the_end),
        SIM_TEST(shuffles_stay_within_their_part_of_the_warp),
        SIM_TEST(votes_count_the_lanes_that_take_part),
        SIM_TEST(match_finds_the_lanes_with_the_same_value),
        SIM_TEST(reductions_run_over_the_members_of_the_mask),
        SIM_TEST(elect_names_the_lowest_member),
        SIM_TEST(a_shuffle_without_all_its_lanes_is_reported),
        SIM_TEST(a_shuffle_from_a_lane_outside_its_mask_is_reported),
        SIM_TEST(a_block_reduces_through_shared_memory),
        SIM_TEST(a_barrier_reduces_predicates_of_the_block),
        SIM_TEST(named_barriers_join_some_of_the_warps),
        SIM_TEST(lanes_of_a_warp_meet_at_different_barriers),
        SIM_TEST(a_divergent_barrier_is_reported),
        SIM_TEST(a_barrier_that_some_warps_never_reach_is_reported),
        SIM_TEST(a_kernel_that_never_ends_is_reported),
    };
    return cmocka_run_group_tests_name("ptx warps", tests, NULL, NULL);
}
