/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are cut, flipped, glued or foreign: what the reader keeps of them, and what it says.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shadow/trace/frame.h"
#include "tests/trace/trace_test.h"

static size_t edges[SMALL_EDGES];
static struct bytes small;
static struct outcome whole;
static struct outcome got;

/* Rows and events up to each edge of the small trace. */
static const uint64_t rows_at[SMALL_EDGES] = {0, 2, 2, 3, 5, 5};

static int set_up(void **state)
{
    small = small_trace(edges);
    assert_int_equal(read_bytes(small.data, small.size, false, &whole), 0);
    return 0;
}

static int tear_down(void **state)
{
    free(small.data);
    return 0;
}

/* The small trace with `insert` put in at `at`. */
static struct bytes with(size_t at, const void *insert, size_t size)
{
    const struct bytes bytes = {malloc(small.size + size), small.size + size};

    assert_non_null(bytes.data);
    memcpy(bytes.data, small.data, at);
    memcpy(bytes.data + at, insert, size);
    memcpy(bytes.data + at + size, small.data + at, small.size - at);
    return bytes;
}

/* What was read is what the whole trace starts with. */
static void assert_prefix_of_whole(const struct outcome *outcome)
{
    assert_true(outcome->events <= whole.events);
    assert_memory_equal(outcome->digest, whole.digest, outcome->events * sizeof outcome->digest[0]);
}

static void the_whole_trace_reads_to_its_end_mark(void **state)
{
    assert_int_equal(whole.events, SMALL_EDGES);
    assert_int_equal(whole.rows, SMALL_ROWS);
    assert_int_equal(whole.end.event, MHCS_TRACE_EOF);
    assert_true(whole.closed);
    assert_int_equal(whole.end.reason, MHCS_END_EXIT);
    assert_int_equal(whole.end.dropped_samples, 3);
}

static void every_prefix_keeps_its_whole_batches_and_says_torn(void **state)
{
    for (size_t size = 0; size < small.size; size++) {
        uint32_t events = 0;
        while (edges[events] <= size)
            events++;
        const bool edge = events != 0 && edges[events - 1] == size;
        for (int salvage = 0; salvage <= 1; salvage++) {
            assert_int_equal(read_bytes(small.data, size, salvage, &got), 0);
            assert_int_equal(got.events, events);
            assert_int_equal(got.rows, events == 0 ? 0 : rows_at[events - 1]);
            assert_prefix_of_whole(&got);
            assert_int_equal(got.end.event, edge ? MHCS_TRACE_EOF : MHCS_TRACE_DAMAGED);
            if (edge)
                continue;
            assert_int_equal(got.end.damage.kind, MHCS_DAMAGE_TORN);
            assert_int_equal(got.end.damage.offset + got.end.damage.dropped, size);
            assert_non_null(strstr(got.end.damage.what, "still being written"));
        }
    }
}

static void every_flipped_bit_is_found(void **state)
{
    /* Under sanitizers a share of them, so that the suite stays short. */
    const size_t step = STRIDE;

    for (size_t bit = 0; bit < 8 * small.size; bit += step) {
        small.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        const int error = read_bytes(small.data, small.size, false, &got);
        small.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        if (error == 0) {
            assert_prefix_of_whole(&got);
            if (got.end.event != MHCS_TRACE_DAMAGED || got.end.damage.kind == MHCS_DAMAGE_TORN)
                fail_msg("bit %zu of byte %zu was not found to be flipped", bit % 8, bit / 8);
        } else {
            assert_int_equal(error, -EINVAL);
            assert_string_not_equal(got.why, "");
        }
    }
}

static void salvage_goes_on_behind_a_damaged_batch(void **state)
{
    /* The second batch is between edges 2 and 3. */
    small.data[edges[2] + MHCS_MARK_SIZE + 100] ^= 1;
    assert_int_equal(read_bytes(small.data, small.size, false, &got), 0);
    assert_int_equal(got.rows, 2);
    assert_int_equal(got.end.damage.kind, MHCS_DAMAGE_CORRUPT);
    assert_int_equal(got.end.damage.offset, edges[2]);
    assert_int_equal(got.end.damage.dropped, small.size - edges[2]);

    assert_int_equal(read_bytes(small.data, small.size, true, &got), 0);
    small.data[edges[2] + MHCS_MARK_SIZE + 100] ^= 1;
    assert_int_equal(got.rows, 4);
    assert_true(got.closed);
    assert_int_equal(got.end.event, MHCS_TRACE_EOF);
    assert_int_equal(got.events, SMALL_EDGES); /* a gap in the place of the batch */
    assert_int_equal(got.gap[3].offset, edges[2]);
    assert_int_equal(got.gap[3].dropped, edges[3] - edges[2]);
    assert_int_equal(got.gap[3].lost_batches, 1);
    assert_int_equal(got.digest[4], whole.digest[4]);
}

static void salvage_counts_batches_that_are_missing(void **state)
{
    const size_t hole = edges[3] - edges[2];
    const struct bytes bytes = {malloc(small.size), small.size - hole};

    assert_non_null(bytes.data);
    memcpy(bytes.data, small.data, edges[2]);
    memcpy(bytes.data + edges[2], small.data + edges[3], small.size - edges[3]);
    assert_int_equal(read_bytes(bytes.data, bytes.size, false, &got), 0);
    assert_int_equal(got.rows, 2);
    assert_non_null(strstr(got.end.damage.what, "missing"));
    assert_int_equal(read_bytes(bytes.data, bytes.size, true, &got), 0);
    assert_int_equal(got.rows, 4);
    assert_int_equal(got.gap[3].lost_batches, 1);
    assert_int_equal(got.gap[3].dropped, 0);
    free(bytes.data);
}

static void salvage_loses_nothing_behind_a_batch_that_contradicts_its_mark(void **state)
{
    uint8_t *at = small.data + edges[0], old[MHCS_MARK_SIZE];
    struct mhcs_mark mark;

    memcpy(old, at, sizeof old);
    assert_true(mhcs_mark_decode(&mark, at));
    mark.rows++;
    mhcs_mark_encode(at, &mark);
    assert_int_equal(read_bytes(small.data, small.size, false, &got), 0);
    assert_int_equal(got.rows, 0);
    assert_int_equal(got.end.damage.dropped, small.size - edges[0]);
    assert_int_equal(read_bytes(small.data, small.size, true, &got), 0);
    memcpy(at, old, sizeof old);
    assert_int_equal(got.events, SMALL_EDGES); /* also the facts that follow at once */
    assert_int_equal(got.rows, 3);
    assert_int_equal(got.gap[1].offset, edges[0]);
    assert_int_equal(got.gap[1].dropped, edges[1] - edges[0]);
    assert_int_equal(got.gap[1].lost_batches, 1);
    assert_non_null(strstr(got.gap[1].what, "its mark says"));
}

static void salvage_survives_damaged_facts_and_a_damaged_mark(void **state)
{
    const struct {
        size_t at;
        uint64_t rows;
        uint32_t lost;
    } cases[] = {
        {edges[0] - 3, 5, 0},  /* in the first facts */
        {edges[1] + 20, 5, 0}, /* in the facts behind the first batch */
        {edges[1] + 6, 5, 0},  /* in their size: they seem to reach beyond the end */
        {edges[0] + 30, 3, 1}, /* in the first mark */
        {edges[4] + 9, 5, 0},  /* in the end mark */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        small.data[cases[i].at] ^= 0x40;
        assert_int_equal(read_bytes(small.data, small.size, true, &got), 0);
        small.data[cases[i].at] ^= 0x40;
        assert_int_equal(got.rows, cases[i].rows);
        uint32_t lost = got.end.damage.lost_batches, damages = got.end.damage.kind != 0;
        for (uint32_t event = 0; event < got.events; event++) {
            lost += got.gap[event].lost_batches;
            damages += got.gap[event].kind == MHCS_DAMAGE_CORRUPT;
        }
        assert_int_equal(lost, cases[i].lost);
        assert_int_equal(damages, 1);
    }
}

static void frames_of_others_are_passed_over(void **state)
{
    static const uint8_t frame[] = "\x5e\x2a\x4d\x18\x0a\x00\x00\x00someone's!";
    static const uint8_t empty[] = "\x50\x2a\x4d\x18\x00\x00\x00\x00";

    for (size_t edge = 0; edge < SMALL_EDGES - 1; edge++) {
        const struct bytes one = with(edges[edge], frame, sizeof frame - 1);
        assert_int_equal(read_bytes(one.data, one.size, false, &got), 0);
        assert_int_equal(got.end.event, MHCS_TRACE_EOF);
        assert_int_equal(got.events, whole.events);
        assert_prefix_of_whole(&got);
        free(one.data);
        const struct bytes two = with(edges[edge], empty, sizeof empty - 1);
        assert_int_equal(read_bytes(two.data, two.size, false, &got), 0);
        assert_int_equal(got.end.event, MHCS_TRACE_EOF);
        free(two.data);
    }
}

/* Two traces glued together: in words, whether or not the first was closed. */
static void concatenated_traces_are_named(void **state)
{
    const struct bytes closed = with(small.size, small.data, small.size);
    assert_int_equal(read_bytes(closed.data, closed.size, true, &got), 0);
    assert_int_equal(got.rows, SMALL_ROWS);
    assert_true(got.closed);
    assert_non_null(strstr(got.end.damage.what, "concatenated"));
    assert_int_equal(got.end.damage.offset, small.size);
    free(closed.data);

    const struct bytes open = with(edges[4], small.data, small.size);
    assert_int_equal(read_bytes(open.data, open.size, false, &got), 0);
    assert_int_equal(got.rows, SMALL_ROWS);
    assert_non_null(strstr(got.end.damage.what, "concatenated"));
    free(open.data);
}

static void bytes_that_do_not_belong_are_damage(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } tails[] = {
        {"\0\0\0\0\0\0\0\0", 8, "zero bytes"},
        {"garbage!", 8, "no frame starts here"},
    };

    for (size_t i = 0; i < 2; i++) {
        const struct bytes bytes = with(edges[3], tails[i].bytes, tails[i].size);
        assert_int_equal(read_bytes(bytes.data, bytes.size, false, &got), 0);
        assert_int_equal(got.rows, 3);
        assert_int_equal(got.end.damage.kind, MHCS_DAMAGE_CORRUPT);
        assert_int_equal(got.end.damage.offset, edges[3]);
        assert_non_null(strstr(got.end.damage.what, tails[i].words));
        assert_int_equal(read_bytes(bytes.data, bytes.size, true, &got), 0);
        assert_int_equal(got.rows, SMALL_ROWS);
        assert_int_equal(got.gap[4].dropped, 8);
        assert_int_equal(got.gap[4].lost_batches, 0);
        free(bytes.data);
    }
    const struct bytes behind = with(small.size, "\n", 1);
    assert_int_equal(read_bytes(behind.data, behind.size, false, &got), 0);
    assert_int_equal(got.end.event, MHCS_TRACE_DAMAGED);
    free(behind.data);
}

static void flags_decide_whether_a_newer_mark_is_read(void **state)
{
    static const struct {
        uint32_t flags;
        enum mhcs_trace_event end;
    } cases[] = {{2, MHCS_TRACE_EOF}, {UINT32_C(1) << 16, MHCS_TRACE_DAMAGED}};

    for (size_t i = 0; i < 2; i++) {
        uint8_t *at = small.data + edges[2], old[MHCS_MARK_SIZE];
        struct mhcs_mark mark;
        memcpy(old, at, sizeof old);
        assert_true(mhcs_mark_decode(&mark, at));
        mark.flags |= cases[i].flags;
        mhcs_mark_encode(at, &mark);
        for (int salvage = 0; salvage <= 1; salvage++) {
            assert_int_equal(read_bytes(small.data, small.size, salvage, &got), 0);
            assert_int_equal(got.end.event, cases[i].end);
            if (cases[i].end == MHCS_TRACE_DAMAGED)
                assert_int_equal(got.end.damage.kind, MHCS_DAMAGE_UNSUPPORTED);
        }
        memcpy(at, old, sizeof old);
    }
}

/* Sizes that a hostile file states in marks and facts allocate nothing. */
static void stated_sizes_are_limited(void **state)
{
    uint8_t *at = small.data + edges[2], old[MHCS_MARK_SIZE];
    struct mhcs_mark mark;

    memcpy(old, at, sizeof old);
    assert_true(mhcs_mark_decode(&mark, at));
    mark.length = MHCS_COMPRESSED_LIMIT + 1;
    mhcs_mark_encode(at, &mark);
    assert_int_equal(read_bytes(small.data, small.size, false, &got), 0);
    memcpy(at, old, sizeof old);
    assert_non_null(strstr(got.end.damage.what, "the limit is"));

    const struct bytes facts = with(edges[1], "\x58\x2a\x4d\x18\xff\xff\xff\xff", 8);
    assert_int_equal(read_bytes(facts.data, facts.size, false, &got), 0);
    assert_int_equal(got.end.damage.kind, MHCS_DAMAGE_CORRUPT);
    free(facts.data);
}

static void files_that_are_no_traces_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } files[] = {
        {"A", 1, "does not start with a zstd frame"},
        {"ARROW1\0\0", 8, "does not start with a zstd frame"},
        {"PAR1....", 8, "does not start with a zstd frame"},
        /* `printf hello | zstd`, twice */
        {"\x28\xb5\x2f\xfd\x04\x58\x29\x00\x00hello\xa3\x6d\x9f\x88"
         "\x28\xb5\x2f\xfd\x04\x58\x29\x00\x00hello\xa3\x6d\x9f\x88",
         36, "no facts follow"},
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_int_equal(read_bytes((const uint8_t *)files[i].bytes, files[i].size, false, &got),
                         -EINVAL);
        assert_non_null(strstr(got.why, files[i].words));
    }
    struct mhcs_trace_reader *reader;
    assert_int_equal(mhcs_trace_open(&reader, "/nonexistent/trace", false, got.why), -ENOENT);
    assert_string_equal(got.why, "No such file or directory");
    assert_int_equal(mhcs_trace_open(&reader, "/", false, got.why), -EISDIR);
}

static void *feed_pipe(void *argument)
{
    const int fd = *(const int *)argument;

    /* Odd pieces, so that frames arrive torn. */
    for (size_t at = 0; at < small.size; at += 777) {
        const size_t size = small.size - at < 777 ? small.size - at : 777;
        if (write(fd, small.data + at, size) != (ssize_t)size)
            break;
    }
    close(fd);
    return NULL;
}

static void a_pipe_reads_like_a_file(void **state)
{
    pthread_t feeder;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pthread_create(&feeder, NULL, feed_pipe, &fds[1]), 0);
    assert_int_equal(read_fd(fds[0], false, &got), 0);
    pthread_join(feeder, NULL);
    close(fds[0]);
    assert_int_equal(got.end.event, MHCS_TRACE_EOF);
    assert_int_equal(got.events, whole.events);
    assert_prefix_of_whole(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_trace_reads_to_its_end_mark),
        cmocka_unit_test(every_prefix_keeps_its_whole_batches_and_says_torn),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(salvage_goes_on_behind_a_damaged_batch),
        cmocka_unit_test(salvage_counts_batches_that_are_missing),
        cmocka_unit_test(salvage_loses_nothing_behind_a_batch_that_contradicts_its_mark),
        cmocka_unit_test(salvage_survives_damaged_facts_and_a_damaged_mark),
        cmocka_unit_test(frames_of_others_are_passed_over),
        cmocka_unit_test(concatenated_traces_are_named),
        cmocka_unit_test(bytes_that_do_not_belong_are_damage),
        cmocka_unit_test(flags_decide_whether_a_newer_mark_is_read),
        cmocka_unit_test(stated_sizes_are_limited),
        cmocka_unit_test(files_that_are_no_traces_are_refused),
        cmocka_unit_test(a_pipe_reads_like_a_file),
    };
    return cmocka_run_group_tests_name("trace damage", tests, set_up, tear_down);
}
