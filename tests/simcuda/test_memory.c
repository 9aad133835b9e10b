/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated memory reports, and what it must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "memory.h"

/* Two streams (actors 0 and 1) whose operations know of each other only what a test says. */
static uint32_t clocks[8][SIM_CLOCKS_MAX];
static struct sim_op ops[8];
static struct sim_memory *memory;
static struct sim_fault fault;
static const struct sim_where serial;

static struct sim_op *new_op(uint32_t actor, const struct sim_op *after)
{
    static uint32_t next_id;
    const uint32_t slot = next_id++ % 8;
    struct sim_op *op = &ops[slot];
    if (after != NULL)
        memcpy(clocks[slot], after->clock, sizeof(clocks[slot]));
    else
        memset(clocks[slot], 0, sizeof(clocks[slot]));
    clocks[slot][actor] = next_id;
    *op = (struct sim_op){.id = next_id,
                          .actor = actor,
                          .tick = next_id,
                          .clock = clocks[slot],
                          .what = "kernel probe"};
    return op;
}

static int setup(void **state)
{
    memory = sim_memory_new(16 << 20);
    fault = (struct sim_fault){.set = false};
    return 0;
}

static int teardown(void **state)
{
    sim_memory_free_all(memory);
    return 0;
}

static void *copy(const struct sim_op *op, uint64_t address, uint64_t bytes, enum sim_access access)
{
    return sim_memory_access(memory, op, &serial, address, bytes, 1, access, &fault);
}

static void *lanes(const struct sim_op *op, struct sim_where where, uint64_t address, uint64_t size,
                   uint32_t count, enum sim_access access)
{
    where.file = "probe.cu";
    where.line = 7;
    return sim_memory_access(memory, op, &where, address, size, count, access, &fault);
}

static void assert_clean(void)
{
    if (fault.set)
        fail_msg("unexpected fault: %s", fault.text);
}

static void assert_fault(const char *part)
{
    if (!fault.set)
        fail_msg("no fault, expected one with \"%s\"", part);
    if (strstr(fault.text, part) == NULL)
        fail_msg("fault \"%s\" does not say \"%s\"", fault.text, part);
    fault = (struct sim_fault){.set = false};
}

static void bytes_written_are_read_back(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 1000, SIM_DEVICE);
    assert_int_equal(p % 256, 0);
    const struct sim_op *op = new_op(0, NULL);
    memset(copy(op, p, 1000, SIM_WRITE), 0x5a, 1000);
    const unsigned char *back =
        lanes(op, (struct sim_where){.thread = 4}, p + 128, 4, 32, SIM_READ);
    assert_int_equal(back[127], 0x5a);
    assert_clean();
}

static void an_access_past_the_end_names_the_lane_and_the_allocation(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 124, SIM_DEVICE);
    const struct sim_op *op = new_op(0, NULL);
    assert_null(lanes(op, (struct sim_where){.block = 3, .thread = 64}, p, 4, 32, SIM_WRITE));
    assert_int_equal(fault.code, 700);
    assert_fault("kernel probe at probe.cu:7, block 3, thread 95, writes 4 bytes");
    assert_null(copy(op, p, 125, SIM_WRITE));
    assert_fault("bytes 0 to 124 of the 124-byte device allocation");
    assert_null(copy(op, p + 128, 4, SIM_WRITE));
    assert_fault("out of bounds: bytes 128 to 131");
    assert_non_null(copy(op, p, 124, SIM_WRITE));
    assert_clean();
}

static void a_neighbouring_allocation_is_never_adjacent(void **state)
{
    const uint64_t a = sim_memory_alloc(memory, 256, SIM_DEVICE);
    const uint64_t b = sim_memory_alloc(memory, 256, SIM_DEVICE);
    assert_true(b > a + 256);
    assert_null(copy(new_op(0, NULL), a + 256, 4, SIM_WRITE));
    assert_fault("out of bounds");
}

static void a_stale_pointer_is_named_as_such(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 4096, SIM_DEVICE);
    assert_false(sim_memory_release(memory, p + 256));
    assert_true(sim_memory_release(memory, p));
    assert_false(sim_memory_release(memory, p));
    assert_true(sim_memory_alloc(memory, 4096, SIM_DEVICE) != p);
    assert_null(copy(new_op(0, NULL), p + 16, 4, SIM_READ));
    assert_fault("use after free: byte 16 of a 4096-byte device allocation");
}

static void a_host_pointer_is_no_device_address(void **state)
{
    int here = 0;
    assert_null(copy(new_op(0, NULL), (uint64_t)(uintptr_t)&here, 4, SIM_READ));
    assert_fault("not a device address");
    assert_null(copy(new_op(0, NULL), 8, 4, SIM_READ));
    assert_fault("null pointer");
}

static void reading_unwritten_bytes_is_reported_to_the_byte(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 64, SIM_DEVICE);
    const struct sim_op *op = new_op(0, NULL);
    copy(op, p + 1, 6, SIM_WRITE);
    copy(op, p + 1, 6, SIM_READ);
    copy(op, p + 4, 3, SIM_READ);
    copy(op, p + 2, 1, SIM_READ);
    assert_clean();
    copy(op, p + 1, 7, SIM_READ);
    assert_fault("uninitialised");
    copy(op, p, 2, SIM_READ);
    assert_fault("uninitialised");
    lanes(op, (struct sim_where){.thread = 0}, p + 4, 2, 2, SIM_READ);
    assert_fault("thread 1, reads 2 bytes");
}

static void pinned_memory_is_known_and_initialised(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 64, SIM_PINNED);
    memset((void *)(uintptr_t)p, 1, 64);
    const unsigned char *seen = copy(new_op(0, NULL), p, 64, SIM_READ);
    assert_int_equal(seen[63], 1);
    assert_clean();
    assert_null(copy(new_op(0, NULL), p + 32, 33, SIM_READ));
    assert_fault("64-byte pinned allocation");
    uint64_t base, bytes;
    enum sim_memory_space space;
    assert_true(sim_memory_find(memory, p + 63, &base, &bytes, &space));
    assert_int_equal(space, SIM_PINNED);
    assert_int_equal(bytes, 64);
    assert_true(sim_memory_release(memory, p));
    assert_false(sim_memory_find(memory, p, &base, &bytes, &space));
    assert_null(copy(new_op(0, NULL), p, 4, SIM_READ));
    assert_fault("use after free");
}

static void device_memory_is_limited_and_given_back(void **state)
{
    uint64_t free_bytes, total;
    const uint64_t p = sim_memory_alloc(memory, 15 << 20, SIM_DEVICE);
    assert_int_equal(sim_memory_alloc(memory, 2 << 20, SIM_DEVICE), 0);
    sim_memory_info(memory, &free_bytes, &total);
    assert_int_equal(free_bytes, 1 << 20);
    assert_int_equal(total, 16 << 20);
    sim_memory_release(memory, p);
    for (int i = 0; i < 200; i++) { /* far more addresses than the span has: reused in the end */
        const uint64_t q = sim_memory_alloc(memory, 15 << 20, SIM_DEVICE);
        assert_int_not_equal(q, 0);
        copy(new_op(0, NULL), q, 4, SIM_READ);
        assert_fault("uninitialised");
        sim_memory_release(memory, q);
    }
}

/* For each pair of accesses: on two streams it races unless both read or both are atomic; with the
 * second operation ordered behind the first it never does. */
static void operations_race_exactly_when_nothing_orders_them(void **state)
{
    for (int first = SIM_READ; first <= SIM_ATOMIC; first++) {
        for (int second = SIM_READ; second <= SIM_ATOMIC; second++) {
            const uint64_t p = sim_memory_alloc(memory, 4096, SIM_DEVICE);
            struct sim_op *init = new_op(0, NULL);
            copy(init, p, 4096, SIM_WRITE);
            const struct sim_op *a = new_op(0, init), *unordered = new_op(1, init);
            copy(a, p, 4096, (enum sim_access)first);
            copy(new_op(1, a), p + 2048, 2048, (enum sim_access)second);
            assert_clean();
            copy(unordered, p, 2048, (enum sim_access)second);
            if (first == second && first != SIM_WRITE)
                assert_clean();
            else
                assert_fault("nothing orders the two");
        }
    }
}

static void a_write_races_with_any_of_several_earlier_readers(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 256, SIM_DEVICE);
    struct sim_op *init = new_op(0, NULL);
    copy(init, p, 256, SIM_WRITE);
    struct sim_op *readers[4];
    for (uint32_t i = 0; i < 4; i++)
        copy(readers[i] = new_op(1 + i, init), p, 256, SIM_READ);
    for (uint32_t missing = 0; missing < 4; missing++) {
        struct sim_op *writer = new_op(5, init);
        for (uint32_t i = 0; i < 4; i++) {
            if (i != missing)
                clocks[(writer->id - 1) % 8][1 + i] = readers[i]->tick;
        }
        copy(writer, p + 4 * missing, 4, SIM_WRITE);
        assert_fault("race: read by");
    }
    copy(new_op(5, init), p + 128, 4, SIM_ATOMIC);
    assert_fault("race: read by");
}

static void an_ordered_reader_does_not_hide_an_unordered_atomic(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 256, SIM_DEVICE);
    struct sim_op *init = new_op(0, NULL);
    copy(init, p, 256, SIM_WRITE);
    struct sim_op *atomic = new_op(1, init);
    copy(atomic, p, 256, SIM_ATOMIC);
    copy(new_op(2, atomic), p, 256, SIM_READ);
    copy(new_op(3, init), p, 4, SIM_READ);
    assert_fault("race: atomically updated");
}

static void the_host_taking_over_ends_the_history(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 256, SIM_PINNED);
    copy(new_op(0, NULL), p, 256, SIM_WRITE);
    copy(new_op(1, NULL), p, 4, SIM_READ);
    assert_fault("race");
    sim_memory_host_owns(memory, p, 256);
    copy(new_op(1, NULL), p, 256, SIM_READ);
    assert_clean();
}

static void blocks_of_a_launch_race_unless_both_read(void **state)
{
    for (int first = SIM_READ; first <= SIM_ATOMIC; first++) {
        for (int second = SIM_READ; second <= SIM_ATOMIC; second++) {
            const uint64_t p = sim_memory_alloc(memory, 8192, SIM_DEVICE);
            struct sim_op *init = new_op(0, NULL);
            copy(init, p, 8192, SIM_WRITE);
            const struct sim_op *op = new_op(0, init);
            const struct sim_where one = {.block = 1, .epoch = 0},
                                   two = {.block = 2, .epoch = 9, .barrier = 9};
            lanes(op, one, p + 4096 - 64, 4, 32, (enum sim_access)first);
            lanes(op, two, p + 4096 + 64, 4, 32, (enum sim_access)second);
            assert_clean();
            lanes(op, two, p + 4096 + 60, 4, 1, (enum sim_access)second);
            if (first == second && first != SIM_WRITE)
                assert_clean();
            else
                assert_fault("block 1, and no barrier orders the two");
        }
    }
}

static void a_page_that_many_blocks_have_read_is_nobodys_to_write(void **state)
{
    for (uint32_t size = 1; size <= 4; size *= 2) {
        const uint64_t p = sim_memory_alloc(memory, 4096, SIM_DEVICE);
        struct sim_op *init = new_op(0, NULL);
        copy(init, p, 4096, SIM_WRITE);
        const struct sim_op *op = new_op(0, init);
        for (uint32_t block = 1; block <= 3; block++)
            for (uint64_t at = 0; at < 4096; at += 1024)
                lanes(op, (struct sim_where){.block = block}, p + at, 32, 32, SIM_READ);
        lanes(op, (struct sim_where){.block = 4}, p + 100, size, 8, SIM_READ);
        assert_clean();
        lanes(op, (struct sim_where){.block = 4}, p + 200, size, 1, SIM_ATOMIC);
        assert_fault("race inside the launch: with reads by several blocks");
        lanes(op, (struct sim_where){.block = 3}, p + 300, size, 1, SIM_WRITE);
        assert_fault("race inside the launch: with reads by several blocks");
    }
}

static void threads_of_a_block_are_ordered_by_barriers_only(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 4096, SIM_DEVICE);
    const struct sim_op *op = new_op(0, NULL);
    lanes(op, (struct sim_where){.thread = 0}, p, 4, 32, SIM_WRITE);
    lanes(op, (struct sim_where){.thread = 0}, p, 4, 32, SIM_READ); /* each its own */
    assert_clean();
    lanes(op, (struct sim_where){.thread = 1}, p, 4, 1, SIM_READ);
    assert_fault("the write by thread 0 of block 0");
    lanes(op, (struct sim_where){.thread = 1, .epoch = 1}, p, 4, 1, SIM_READ); /* __syncwarp */
    assert_clean();
    lanes(op, (struct sim_where){.thread = 33, .epoch = 2}, p, 4, 1, SIM_READ); /* other warp's */
    assert_fault("the write by thread 0 of block 0");
    lanes(op, (struct sim_where){.thread = 33, .epoch = 3, .barrier = 3}, p, 4, 1, SIM_READ);
    assert_clean();
    lanes(op, (struct sim_where){.thread = 34, .epoch = 3, .barrier = 3}, p, 4, 1, SIM_WRITE);
    assert_fault("the read by thread 33");
}

static void a_write_after_reads_of_several_threads_needs_a_barrier(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 4096, SIM_DEVICE);
    struct sim_op *init = new_op(0, NULL);
    copy(init, p, 4096, SIM_WRITE);
    const struct sim_op *op = new_op(0, init);
    lanes(op, (struct sim_where){.thread = 0}, p, 4, 1, SIM_READ);
    lanes(op, (struct sim_where){.thread = 1}, p, 4, 1, SIM_READ);
    lanes(op, (struct sim_where){.thread = 1}, p, 4, 1, SIM_WRITE);
    assert_fault("reads by several lanes of warp 0");
    lanes(op, (struct sim_where){.thread = 40}, p, 4, 1, SIM_READ);
    lanes(op, (struct sim_where){.thread = 40, .epoch = 1}, p, 4, 1, SIM_WRITE);
    assert_fault("reads by several warps");
    lanes(op, (struct sim_where){.thread = 1, .epoch = 2, .barrier = 2}, p, 4, 1, SIM_WRITE);
    assert_clean();
}

static void halves_of_a_word_belong_to_different_threads(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 4096, SIM_DEVICE);
    const struct sim_op *op = new_op(0, NULL);
    lanes(op, (struct sim_where){.thread = 0}, p, 4, 8, SIM_WRITE);
    lanes(op, (struct sim_where){.thread = 0}, p + 64, 2, 32, SIM_WRITE);
    lanes(op, (struct sim_where){.thread = 0}, p + 256, 1, 32, SIM_WRITE);
    lanes(op, (struct sim_where){.thread = 0}, p + 512, 32, 32, SIM_WRITE);
    assert_clean();
    lanes(op, (struct sim_where){.thread = 9}, p + 64 + 2 * 8, 2, 1, SIM_READ);
    assert_fault("the write by thread 8");
    lanes(op, (struct sim_where){.thread = 5}, p + 4 * 4 + 3, 1, 1, SIM_READ);
    assert_fault("the write by thread 4");
}

static void thousands_of_operations_leave_the_check_exact(void **state)
{
    const uint64_t p = sim_memory_alloc(memory, 1 << 16, SIM_DEVICE);
    struct sim_op *op = new_op(0, NULL);
    copy(op, p, 1 << 16, SIM_WRITE);
    struct sim_op *other = new_op(1, op);
    copy(other, p, 4, SIM_READ);
    for (int i = 0; i < 200000; i++) {
        op = new_op(0, op);
        if (i % 8 == 0) /* new_op() reuses its slots */
            other = NULL;
        copy(op, p + 4 + (uint64_t)(i % 4000) * 16, 16, SIM_WRITE);
    }
    assert_clean();
    copy(op, p, 4, SIM_WRITE);
    assert_fault("race: read by");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_written_are_read_back),
        TEST(an_access_past_the_end_names_the_lane_and_the_allocation),
        TEST(a_neighbouring_allocation_is_never_adjacent),
        TEST(a_stale_pointer_is_named_as_such),
        TEST(a_host_pointer_is_no_device_address),
        TEST(reading_unwritten_bytes_is_reported_to_the_byte),
        TEST(pinned_memory_is_known_and_initialised),
        TEST(device_memory_is_limited_and_given_back),
        TEST(operations_race_exactly_when_nothing_orders_them),
        TEST(a_write_races_with_any_of_several_earlier_readers),
        TEST(an_ordered_reader_does_not_hide_an_unordered_atomic),
        TEST(the_host_taking_over_ends_the_history),
        TEST(blocks_of_a_launch_race_unless_both_read),
        TEST(a_page_that_many_blocks_have_read_is_nobodys_to_write),
        TEST(threads_of_a_block_are_ordered_by_barriers_only),
        TEST(a_write_after_reads_of_several_threads_needs_a_barrier),
        TEST(halves_of_a_word_belong_to_different_threads),
        TEST(thousands_of_operations_leave_the_check_exact),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
