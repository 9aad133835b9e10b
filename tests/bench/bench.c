/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/must.h"

#define ROUNDS 101

double bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct bench_spread bench_spread(double *values, size_t count)
{
    qsort(values, count, sizeof(double), ascending);
    return (struct bench_spread){values[count / 4], values[count / 2],
                                 values[count - 1 - count / 4]};
}

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "bench: %s failed\n", what);
        exit(1);
    }
}

/* The program once more. It says what prepare() returned, and for every byte that it gets makes a
 * round and says its time. */
struct process {
    pid_t pid;
    int to, from;
};

static int serve(const struct bench *bench, const struct bench_mode *mode)
{
    double answer = bench->prepare ? bench->prepare(mode) : 0;
    char byte;

    for (;; answer = bench->round(mode)) {
        must(write(STDOUT_FILENO, &answer, sizeof(answer)) == sizeof(answer), "an answer");
        if (read(STDIN_FILENO, &byte, 1) != 1) {
            return 0;
        }
    }
}

static double answer_of(const struct process *process)
{
    double answer;

    must(read(process->from, &answer, sizeof(answer)) == sizeof(answer), "a round");
    return answer;
}

static double round_of(const struct process *process)
{
    must(write(process->to, "", 1) == 1, "asking for a round");
    return answer_of(process);
}

static struct process start(char **argv, const struct bench *bench, size_t mode, bool preloaded,
                            const char *directory)
{
    const struct bench_mode *const m = &bench->modes[mode];
    int to[2], from[2];
    char number[16];
    pid_t child;

    MUST(pipe2(to, O_CLOEXEC));
    MUST(pipe2(from, O_CLOEXEC));
    snprintf(number, sizeof(number), "%zu", mode);
    child = fork();
    if (child == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        setenv("MHCSHADOW_DIR", directory, 1);
        for (size_t i = 0; i < sizeof(m->set) / sizeof(m->set[0]) && m->set[i][0]; i++) {
            setenv(m->set[i][0], m->set[i][1], 1);
        }
        if (preloaded) {
            setenv("LD_PRELOAD", argv[1], 1);
        }
        execl("/proc/self/exe", argv[0], "--mode", number, (char *)NULL);
        _exit(127);
    }
    must(child > 0, "fork");
    close(to[0]);
    close(from[1]);
    return (struct process){child, to[1], from[0]};
}

static void stop(const struct process *process)
{
    int status;

    close(process->to);
    must(waitpid(process->pid, &status, 0) == process->pid && status == 0, "a process");
    close(process->from);
}

static void compare(char **argv, const struct bench *bench, size_t mode)
{
    const struct bench_mode *const m = &bench->modes[mode];
    char directory[] = "/tmp/mhcs-bench-XXXXXX", command[64];
    double alone[ROUNDS], other[ROUNDS], added[ROUNDS], ratio[ROUNDS];
    struct bench_spread r;
    struct process first, second;
    unsigned count;

    must(mkdtemp(directory) != NULL, "mkdtemp");
    first = start(argv, bench, mode, false, directory);
    second = start(argv, bench, mode, !m->alone, directory);
    answer_of(&first);
    count = (unsigned)answer_of(&second);
    for (int i = 0; i < ROUNDS; i++) {
        alone[i] = round_of(&first);
        other[i] = round_of(&second);
        added[i] = other[i] - alone[i];
        ratio[i] = other[i] / alone[i];
    }
    stop(&first);
    stop(&second);
    snprintf(command, sizeof(command), "rm -r %s", directory);
    MUST(system(command));
    r = bench_spread(ratio, ROUNDS);
    printf("%-32s", m->name);
    if (bench->counted) {
        printf(" %6u", count);
    }
    printf(" %8.*f %10.*f %8.*f  %6.3f  %.3f .. %.3f\n", bench->decimals,
           bench_spread(alone, ROUNDS).median, bench->decimals, bench_spread(other, ROUNDS).median,
           bench->decimals, bench_spread(added, ROUNDS).median, r.median, r.low, r.high);
    fflush(stdout);
}

int bench_main(int argc, char **argv, const struct bench *bench)
{
    if (argc == 3 && strcmp(argv[1], "--mode") == 0) {
        return serve(bench, &bench->modes[strtoul(argv[2], NULL, 10) % bench->count]);
    }
    if (argc != 2) {
        fprintf(stderr, "usage: %s LIBMHCSHADOW.SO\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* a process that ended is told of by what was asked of it */
    printf("%-32s", bench->unit);
    if (bench->counted) {
        printf(" %6s", bench->counted);
    }
    printf(" %8s %10s %8s  %6s  %s\n", "alone", "preloaded", "added", "ratio", "quartiles");
    fflush(stdout);
    for (size_t i = 0; i < bench->count; i++) {
        compare(argv, bench, i);
    }
    return 0;
}
