/* SPDX-License-Identifier: Apache-2.0 */
/* The log is a guest: one line a write, errno and signals untouched, no descriptor kept. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shadow/log.h"

static char dir[] = "/tmp/mhcs-log-XXXXXX";
static char text[8192];

static const char *read_file(const char *name)
{
    char path[PATH_MAX];
    FILE *f;
    size_t n = 0;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "r");
    if (f) {
        n = fread(text, 1, sizeof(text) - 1, f);
        fclose(f);
        unlink(path);
    }
    text[n] = '\0';
    return text;
}

static void log_to(enum mhcs_log_level level, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    mhcs_log_configure(level, path);
}

static void a_line_has_pid_and_level(void **state)
{
    char expected[128];

    log_to(MHCS_LOG_INFO, "a");
    mhcs_log(MHCS_LOG_WARN, "%s %d", "slot", 7);
    mhcs_log(MHCS_LOG_INFO, "second");
    snprintf(expected, sizeof(expected),
             "mhcshadow[%d]: warning: slot 7\nmhcshadow[%d]: info: second\n", getpid(), getpid());
    assert_string_equal(read_file("a"), expected);
}

static void lines_above_the_level_are_not_written(void **state)
{
    log_to(MHCS_LOG_ERROR, "b");
    mhcs_log(MHCS_LOG_WARN, "no");
    log_to(MHCS_LOG_OFF, "b");
    mhcs_log(MHCS_LOG_ERROR, "no");
    assert_string_equal(read_file("b"), "");
}

static void the_file_name_may_hold_host_and_pid(void **state)
{
    char host[HOST_NAME_MAX + 1] = "", name[PATH_MAX];

    gethostname(host, sizeof(host) - 1);
    log_to(MHCS_LOG_WARN, "x.%h.%p.%q");
    mhcs_log(MHCS_LOG_WARN, "hello");
    snprintf(name, sizeof(name), "x.%s.%d.%%q", host, getpid());
    assert_non_null(strstr(read_file(name), "hello"));
}

static void errno_is_kept(void **state)
{
    log_to(MHCS_LOG_WARN, "missing/dir/file");
    errno = EDOM;
    mhcs_log(MHCS_LOG_WARN, "goes to stderr, with a complaint about the file");
    assert_int_equal(errno, EDOM);
}

static void a_text_stays_one_line(void **state)
{
    char longest[3000];
    const char *line;

    memset(longest, 'y', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    log_to(MHCS_LOG_WARN, "c");
    mhcs_log(MHCS_LOG_WARN, "dir 'a\nb\x1b[1m'");
    mhcs_log(MHCS_LOG_WARN, "%s", longest);
    line = read_file("c");
    assert_non_null(strstr(line, "dir 'a?b?[1m'\n"));
    line = strchr(line, '\n') + 1;
    assert_in_range(strlen(line), 900, 1025);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void no_descriptor_stays_open(void **state)
{
    const int before = dup(2);
    int after;

    close(before);
    log_to(MHCS_LOG_WARN, "d");
    mhcs_log(MHCS_LOG_WARN, "x");
    after = dup(2);
    close(after);
    assert_int_equal(after, before);
    read_file("d");
}

static int exit_status(void (*body)(void))
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        body();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void log_to_a_closed_pipe(void)
{
    int ends[2];
    sigset_t pending;

    if (pipe(ends) < 0) {
        _exit(1);
    }
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    mhcs_log_configure(MHCS_LOG_WARN, NULL);
    mhcs_log(MHCS_LOG_WARN, "nobody reads this");
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE)) {
        _exit(2);
    }
}

static void log_above_the_file_size_limit(void)
{
    const struct rlimit none = {0, 0};

    log_to(MHCS_LOG_WARN, "e");
    setrlimit(RLIMIT_FSIZE, &none);
    mhcs_log(MHCS_LOG_WARN, "no room");
}

static void a_signal_of_the_write_does_not_reach_the_application(void **state)
{
    assert_int_equal(exit_status(log_to_a_closed_pipe), 0);
    assert_int_equal(exit_status(log_above_the_file_size_limit), 0);
    read_file("e");
}

static int make_dir(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_pid_and_level),
        cmocka_unit_test(lines_above_the_level_are_not_written),
        cmocka_unit_test(the_file_name_may_hold_host_and_pid),
        cmocka_unit_test(errno_is_kept),
        cmocka_unit_test(a_text_stays_one_line),
        cmocka_unit_test(no_descriptor_stays_open),
        cmocka_unit_test(a_signal_of_the_write_does_not_reach_the_application),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
