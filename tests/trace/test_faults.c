/* SPDX-License-Identifier: Apache-2.0 */
/* Full disks, broken disks, limits: the file keeps every acknowledged row and says why it ends. The
 * system calls are wrapped by the linker; the fault moves from the first call to the last, until a
 * run meets none. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/trace/trace_test.h"

/* ---- the faults ---- */

enum call { WRITEV, FDATASYNC };
enum fault { EINTR_FAULT, SHORT_FAULT, SHORT_THEN_ENOSPC, ENOSPC_FAULT, EDQUOT_FAULT, EIO_FAULT };
static const int fault_errno[] = {
    [EINTR_FAULT] = EINTR,   [SHORT_THEN_ENOSPC] = ENOSPC,
    [ENOSPC_FAULT] = ENOSPC, [EDQUOT_FAULT] = EDQUOT,
    [EIO_FAULT] = EIO,
};

/* What fails in the next run. */
static struct {
    enum call call;
    enum fault fault;
    unsigned at;  /* number of the call, from 1; 0: none fails */
    bool forever; /* and all that follow */
    bool no_ftruncate;
    unsigned count, hits;
} plan;

static bool due(enum call call)
{
    if (plan.call != call)
        return false;
    plan.count++;
    if (plan.at == 0 || !(plan.count == plan.at || (plan.forever && plan.count > plan.at)))
        return false;
    plan.hits++;
    return true;
}

ssize_t __real_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
    const bool fail = due(WRITEV);

    if (!fail)
        return __real_writev(fd, parts, count);
    if (plan.fault == SHORT_FAULT || (plan.fault == SHORT_THEN_ENOSPC && plan.hits == 1)) {
        struct iovec half = {parts[0].iov_base, (parts[0].iov_len + 1) / 2};
        if (plan.fault == SHORT_THEN_ENOSPC)
            plan.at++;
        return __real_writev(fd, &half, 1);
    }
    errno = fault_errno[plan.fault];
    return -1;
}

/* What _FILE_OFFSET_BITS=64, which meson sets, makes of ftruncate(). */
int __real_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size)
{
    if (!plan.no_ftruncate)
        return __real_ftruncate64(fd, size);
    errno = fault_errno[plan.fault];
    return -1;
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    /* The real one only costs time here. */
    if (!due(FDATASYNC))
        return 0;
    errno = fault_errno[plan.fault];
    return -1;
}

/* ---- the run ---- */

struct run {
    int error;         /* the first */
    uint64_t appended; /* rows the writer took without an error */
    uint64_t acknowledged;
    char path[PATH_MAX]; /* "": the file could not be created */
};

/* Two batches, facts, a third batch, close. */
static struct run write_trace(const char *dir)
{
    const struct mhcs_trace_options options = {.dir = dir, .sync = true};
    struct run run = {0};
    struct mhcs_trace_writer *writer;
    int64_t row = 0;

    run.error = mhcs_trace_create(&writer, &options);
    if (run.error < 0)
        return run;
    snprintf(run.path, sizeof run.path, "%s", mhcs_trace_path(writer));
    for (int batch = 0; batch < 3; batch++) {
        for (int i = 0; i < 3 && run.error == 0; i++) {
            run.error = mhcs_trace_append(writer, series_record(row++));
            run.appended += run.error == 0;
        }
        if (run.error == 0)
            run.error = mhcs_trace_flush(writer, 0);
        if (run.error == 0)
            run.acknowledged = run.appended;
        if (run.error == 0 && batch == 1)
            run.error = mhcs_trace_facts(writer, "{\"events\":[]}");
    }
    if (run.error < 0) { /* for ever */
        assert_int_equal(mhcs_trace_append(writer, series_record(0)), run.error);
        assert_int_equal(mhcs_trace_flush(writer, 0), run.error);
        assert_int_equal(mhcs_trace_facts(writer, "{}"), run.error);
    }
    const int error = mhcs_trace_close(writer, MHCS_END_EXIT, 0);
    if (run.error < 0)
        assert_int_equal(error, run.error);
    else
        run.error = error;
    return run;
}

static struct outcome outcome;

static void assert_complete(const struct run *run)
{
    assert_int_equal(run->error, 0);
    assert_int_equal(outcome.rows, 9);
    assert_true(outcome.closed);
    assert_int_equal(outcome.end.reason, MHCS_END_EXIT);
}

/* The file after a run in which something failed for good. */
static void assert_cut_back(const struct run *run)
{
    assert_int_equal(run->error, -fault_errno[plan.fault]);
    if (run->path[0] == '\0')
        return; /* nothing to read, and nothing left behind: find_trace() was asked */
    assert_int_equal(outcome.end.event, MHCS_TRACE_EOF);
    assert_int_equal(outcome.rows, run->acknowledged);
    if (outcome.closed && outcome.end.reason != MHCS_END_EXIT) {
        assert_int_equal(outcome.end.reason,
                         plan.fault == EIO_FAULT ? MHCS_END_IO_ERROR : MHCS_END_NO_SPACE);
        assert_int_equal(outcome.end.lost_rows, run->appended - run->acknowledged);
    }
}

/* Runs with the fault at call 1, 2, ... until it meets no call. */
static void fail_each_call(enum call call, enum fault fault, bool forever)
{
    bool clean = false;

    for (unsigned at = 1; !clean; at++) {
        char dir[PATH_MAX], path[PATH_MAX];
        scratch_make(dir);
        memset(&plan, 0, sizeof plan);
        plan.call = call;
        plan.fault = fault;
        plan.at = at;
        plan.forever = forever;
        const struct run run = write_trace(dir);
        clean = plan.hits == 0;
        assert_true(!clean || at > 1);
        plan.at = 0;
        assert_int_equal(find_trace(dir, path), run.path[0] != '\0');
        if (run.path[0] != '\0')
            assert_int_equal(read_file(run.path, false, &outcome), 0);
        if (clean || fault == SHORT_FAULT || fault == EINTR_FAULT)
            assert_complete(&run);
        else
            assert_cut_back(&run);
        scratch_remove(dir);
        assert_true(at < 100);
    }
}

static void interrupted_and_short_writes_are_finished(void **state)
{
    fail_each_call(WRITEV, EINTR_FAULT, false);
    fail_each_call(WRITEV, SHORT_FAULT, false);
    fail_each_call(WRITEV, SHORT_FAULT, true);
}

static void a_full_disk_leaves_whole_batches_and_the_reason(void **state)
{
    fail_each_call(WRITEV, ENOSPC_FAULT, false);
    fail_each_call(WRITEV, SHORT_THEN_ENOSPC, false);
    fail_each_call(WRITEV, EDQUOT_FAULT, false);
    fail_each_call(WRITEV, EIO_FAULT, false);
}

static void a_disk_that_stays_full_leaves_whole_batches(void **state)
{
    fail_each_call(WRITEV, ENOSPC_FAULT, true);
    fail_each_call(WRITEV, SHORT_THEN_ENOSPC, true);
    fail_each_call(WRITEV, EIO_FAULT, true);
}

static void a_failed_sync_ends_the_trace(void **state)
{
    fail_each_call(FDATASYNC, EIO_FAULT, false);
    fail_each_call(FDATASYNC, ENOSPC_FAULT, true);
}

/* Nothing may be written behind a torn frame: a reader would stop before it. */
static void a_file_that_cannot_be_cut_back_is_left_torn(void **state)
{
    for (unsigned at = 2; at <= 5; at++) {
        char dir[PATH_MAX];
        scratch_make(dir);
        memset(&plan, 0, sizeof plan);
        plan.fault = SHORT_THEN_ENOSPC;
        plan.at = at;
        plan.no_ftruncate = true;
        const struct run run = write_trace(dir);
        memset(&plan, 0, sizeof plan);
        assert_int_equal(run.error, -ENOSPC);
        assert_int_equal(read_file(run.path, false, &outcome), 0);
        assert_int_equal(outcome.rows, run.acknowledged);
        assert_int_equal(outcome.end.event, MHCS_TRACE_DAMAGED);
        assert_int_equal(outcome.end.damage.kind, MHCS_DAMAGE_TORN);
        scratch_remove(dir);
    }
}

/* ---- limits ---- */

/* Appends and flushes until an error; returns it. */
static int fill(struct mhcs_trace_writer *writer, uint64_t *ret_acknowledged)
{
    int error = 0;

    for (int64_t row = 0; error == 0; row++) {
        error = mhcs_trace_append(writer, series_record(row));
        if (error == 0 && row % 5 == 4)
            error = mhcs_trace_flush(writer, 0);
        if (error == 0 && row % 5 == 4)
            *ret_acknowledged = (uint64_t)row + 1;
    }
    return error;
}

static void the_file_never_grows_beyond_its_cap(void **state)
{
    for (uint64_t cap = 20000; cap < 24000; cap += 61) {
        char dir[PATH_MAX];
        scratch_make(dir);
        const struct mhcs_trace_options options = {.dir = dir, .max_bytes = cap};
        struct mhcs_trace_writer *writer;
        uint64_t acknowledged = 0;
        struct stat status;

        assert_int_equal(mhcs_trace_create(&writer, &options), 0);
        assert_int_equal(fill(writer, &acknowledged), -EFBIG);
        assert_int_equal(read_file(mhcs_trace_path(writer), false, &outcome), 0);
        assert_int_equal(stat(mhcs_trace_path(writer), &status), 0);
        assert_true((uint64_t)status.st_size <= cap);
        assert_int_equal(outcome.rows, acknowledged);
        assert_true(acknowledged > 0);
        assert_int_equal(outcome.end.reason, MHCS_END_SIZE_CAP);
        assert_int_equal(mhcs_trace_close(writer, MHCS_END_EXIT, 0), -EFBIG);
        scratch_remove(dir);
    }
}

static void a_cap_below_the_schema_creates_no_file(void **state)
{
    char dir[PATH_MAX], path[PATH_MAX];
    const struct mhcs_trace_options options = {.dir = dir, .max_bytes = 1000};
    struct mhcs_trace_writer *writer;

    scratch_make(dir);
    assert_int_equal(mhcs_trace_create(&writer, &options), -EFBIG);
    assert_false(find_trace(dir, path));
    scratch_remove(dir);
}

static void a_missing_directory_is_an_error(void **state)
{
    const struct mhcs_trace_options options = {.dir = "/nonexistent/dir"};
    struct mhcs_trace_writer *writer;

    assert_int_equal(mhcs_trace_create(&writer, &options), -ENOENT);
}

#define CHILD_MUST(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* In a child whose files may not grow beyond `limit`. SIGXFSZ has its default action, to kill;
 * with `own_pending` the application has one of its own, blocked and pending. */
static void write_to_the_limit(const char *dir, rlim_t limit, bool own_pending)
{
    const struct mhcs_trace_options options = {.dir = dir};
    const struct rlimit limits = {limit, limit};
    struct mhcs_trace_writer *writer;
    struct sigaction action;
    uint64_t acknowledged = 0;
    sigset_t set, mask;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    if (own_pending) {
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        raise(SIGXFSZ);
    }
    CHILD_MUST(setrlimit(RLIMIT_FSIZE, &limits) == 0);
    CHILD_MUST(mhcs_trace_create(&writer, &options) == 0);
    CHILD_MUST(fill(writer, &acknowledged) == -EFBIG);
    CHILD_MUST(read_file(mhcs_trace_path(writer), false, &outcome) == 0);
    CHILD_MUST(outcome.end.event == MHCS_TRACE_EOF && outcome.rows == acknowledged);
    CHILD_MUST(acknowledged > 0 && outcome.end.reason == MHCS_END_NO_SPACE);
    mhcs_trace_forget(writer);

    sigpending(&mask);
    CHILD_MUST(sigismember(&mask, SIGXFSZ) == own_pending);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHILD_MUST(sigismember(&mask, SIGXFSZ) == own_pending);
    CHILD_MUST(sigaction(SIGXFSZ, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    _exit(0);
}

static void a_file_size_limit_does_not_kill_the_process(void **state)
{
    for (int own_pending = 0; own_pending <= 1; own_pending++) {
        char dir[PATH_MAX];
        int status;
        scratch_make(dir);
        const pid_t child = fork();
        if (child == 0)
            write_to_the_limit(dir, 30000, own_pending);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        scratch_remove(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_and_short_writes_are_finished),
        cmocka_unit_test(a_full_disk_leaves_whole_batches_and_the_reason),
        cmocka_unit_test(a_disk_that_stays_full_leaves_whole_batches),
        cmocka_unit_test(a_failed_sync_ends_the_trace),
        cmocka_unit_test(a_file_that_cannot_be_cut_back_is_left_torn),
        cmocka_unit_test(the_file_never_grows_beyond_its_cap),
        cmocka_unit_test(a_cap_below_the_schema_creates_no_file),
        cmocka_unit_test(a_missing_directory_is_an_error),
        cmocka_unit_test(a_file_size_limit_does_not_kill_the_process),
    };
    return cmocka_run_group_tests_name("trace faults", tests, NULL, NULL);
}
