/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL at random moments: every row that was acknowledged is in the file, no row twice, no row
 * wrong; at any moment before, a reader sees a valid prefix. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/trace/trace_test.h"

#define KILLS 120

/* Rows whose flush returned; the child writes, the parent reads, and it survives the child. */
static _Atomic uint64_t *acknowledged;

static uint64_t seed;

static uint64_t next_random(void)
{
    return mhcs_mix64(seed += UINT64_C(0x9E3779B97F4A7C15));
}

static _Noreturn void write_for_ever(const char *dir, uint64_t batch_seed)
{
    const struct mhcs_trace_options options = {.dir = dir};
    struct mhcs_trace_writer *writer;
    uint64_t rows = 0;

    if (mhcs_trace_create(&writer, &options) < 0)
        _exit(1);
    for (;;) {
        const uint64_t batch = 1 + mhcs_mix64(batch_seed + rows) % 600;
        for (uint64_t i = 0; i < batch; i++)
            if (mhcs_trace_append(writer, series_record((int64_t)rows++)) < 0)
                _exit(1);
        if (mhcs_trace_flush(writer, 0) < 0)
            _exit(1);
        atomic_store(acknowledged, rows);
    }
}

/* Rows 0, 1, ... in order and nothing but; returns how many, and how the file ends. */
static uint64_t check_series(const char *path, struct mhcs_trace_item *item)
{
    struct mhcs_trace_reader *reader;
    char why[160];
    uint64_t rows = 0;

    memset(item, 0, sizeof *item);
    item->event = MHCS_TRACE_EOF;
    if (mhcs_trace_open(&reader, path, false, why) < 0)
        return 0; /* killed before its first byte */
    for (;;) {
        assert_int_equal(mhcs_trace_next(reader, item), 0);
        if (item->event == MHCS_TRACE_EOF || item->event == MHCS_TRACE_DAMAGED)
            break;
        if (item->event != MHCS_TRACE_BATCH)
            continue;
        const int64_t *calls = mhcs_batch_column(&item->batch, "call", MHCS_COL_INT64)->values;
        const int32_t *row = mhcs_batch_column(&item->batch, "row", MHCS_COL_INT32)->values;
        for (uint32_t i = 0; i < item->batch.rows; i++, rows++)
            assert_true(calls[i] == (int64_t)rows && row[i] == (int32_t)rows);
    }
    mhcs_trace_reader_free(reader);
    return rows;
}

static void assert_valid_prefix(const char *dir, uint64_t at_least, unsigned *torn)
{
    struct mhcs_trace_item end;
    char path[PATH_MAX];

    if (!find_trace(dir, path)) {
        assert_int_equal(at_least, 0);
        return;
    }
    assert_true(check_series(path, &end) >= at_least);
    if (end.event == MHCS_TRACE_DAMAGED) {
        assert_int_equal(end.damage.kind, MHCS_DAMAGE_TORN);
        (*torn)++;
    }
}

static void acknowledged_rows_survive_sigkill(void **state)
{
    unsigned torn = 0, torn_live = 0;

    for (int i = 0; i < KILLS; i++) {
        char dir[PATH_MAX];
        int status;
        scratch_make(dir);
        atomic_store(acknowledged, 0);
        const uint64_t batch_seed = next_random();
        const struct timespec life = {.tv_nsec = (long)(next_random() % 8000000)};
        const pid_t parent = getpid(), child = fork();
        if (child == 0) {
            /* Not beyond a parent that fails or is killed. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == parent)
                write_for_ever(dir, batch_seed);
            _exit(1);
        }
        nanosleep(&life, NULL); /* the random moment itself; nothing is waited for */
        assert_valid_prefix(dir, atomic_load(acknowledged), &torn_live);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_valid_prefix(dir, atomic_load(acknowledged), &torn);
        scratch_remove(dir);
    }
    print_message("%d kills: %u torn tails, %u while still written\n", KILLS, torn, torn_live);
}

int main(void)
{
    const char *text = getenv("MHCS_TEST_SEED");
    const struct CMUnitTest tests[] = {cmocka_unit_test(acknowledged_rows_survive_sigkill)};

    seed = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    print_message("MHCS_TEST_SEED=%llu\n", (unsigned long long)seed);
    acknowledged =
        mmap(NULL, sizeof *acknowledged, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (acknowledged == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests_name("trace kill", tests, NULL, NULL);
}
