/* SPDX-License-Identifier: Apache-2.0 */
/* What processes do that a server starts: fork, spawn, exec, die. Each mode prints what it saw of
 * its children and how many mixing GEMMs each process made, and ends with status 0 if all went as
 * in a process without any preloaded library.
 *
 *     process work N | fork-before | fork-after exit|_exit|exec | vfork | spawn | exec N | fds
 *             | loop | signal | threads
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "problem.h"

extern char **environ;

static struct problem_handles handles;
static CUstream stream;
static bool open_already;

static bool open_cuda(void)
{
    CUcontext context;

    if (open_already) {
        return true;
    }
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) {
        return false;
    }
    problem_open(&handles);
    open_already = true;
    return true;
}

static void work(int count)
{
    if (!open_cuda()) {
        fprintf(stderr, "process: no GPU\n");
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        const struct problem p = {.hook = MHCS_HOOK_cublasGemmEx,
                                  .m = 24,
                                  .n = 3,
                                  .k = 64,
                                  .ta = true,
                                  .alpha = 1,
                                  .seed = (uint64_t)i};

        problem_run(&p, &handles, stream);
    }
    printf("made %d\n", count);
    fflush(stdout);
}

static int await(pid_t child)
{
    int status = 0;

    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("process: child");
        exit(1);
    }
    if (WIFSIGNALED(status)) {
        printf("child ended by signal %d\n", WTERMSIG(status));
    } else {
        printf("child ended with %d\n", WEXITSTATUS(status));
    }
    fflush(stdout);
    return 0;
}

static int fork_before(void)
{
    const pid_t child = fork();

    work(5);
    if (child == 0) {
        exit(7);
    }
    return await(child);
}

/* The driver answers a forked child with errors; what it does next is its own affair. */
static int child_of_fork(const char *how)
{
    float one = 1, zero = 0;

    if (strcmp(how, "exec") == 0) {
        execl("/proc/self/exe", "process", "work", "3", (char *)NULL);
        return 127;
    }
    /* Fails before it touches any of these. */
    for (int i = 0; i < 3; i++) {
        if (cublasGemmEx(handles.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 24, 3, 64, &one, NULL,
                         CUDA_R_16BF, 64, NULL, CUDA_R_16BF, 64, &zero, NULL, CUDA_R_32F, 24,
                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS) {
            return 1;
        }
    }
    if (strcmp(how, "_exit") == 0) {
        _exit(7);
    }
    exit(7);
}

static int fork_after(const char *how)
{
    pid_t child;

    work(5);
    child = fork();
    if (child == 0) {
        exit(child_of_fork(how));
    }
    work(5);
    return await(child);
}

static int vfork_and_exec(void)
{
    pid_t child;

    work(5);
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(127);
    }
    await(child);
    work(5);
    return 0;
}

static int spawn(void)
{
    char *const arguments[] = {"process", "work", "3", NULL};
    pid_t child;

    work(5);
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) != 0) {
        return 1;
    }
    return await(child);
}

/* The same pid, again and again. */
static int exec_storm(int left)
{
    char number[16];

    work(2);
    if (left == 0) {
        return 0;
    }
    snprintf(number, sizeof(number), "%d", left - 1);
    execl("/proc/self/exe", "process", "exec", number, (char *)NULL);
    return 127;
}

/* What an exec leaves open to the next program. */
static int list_descriptors(void)
{
    char path[64], target[4096];
    struct dirent *entry;
    DIR *const directory = opendir("/proc/self/fd");

    while (directory && (entry = readdir(directory))) {
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
        length = readlink(path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strstr(target, "mhcshadow")) {
            printf("inherited %s\n", target);
        }
    }
    if (directory) {
        closedir(directory);
    }
    return 0;
}

static int fds(void)
{
    work(5);
    usleep(1200 * 1000); /* past a flush: the trace is open */
    execl("/proc/self/exe", "process", "list", (char *)NULL);
    return 127;
}

static _Noreturn void loop(void)
{
    work(1);
    puts("ready");
    fflush(stdout);
    for (;;) {
        work(1);
    }
}

static void leave(int number)
{
    exit(3);
}

static void *work_on(void *unused)
{
    struct problem_handles own;
    const struct problem p = {.hook = MHCS_HOOK_cublasGemmEx,
                              .m = 24,
                              .n = 3,
                              .k = 64,
                              .ta = true,
                              .alpha = 1,
                              .seed = 5};
    CUcontext context;
    CUstream own_stream;

    if (cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuStreamCreate(&own_stream, CU_STREAM_NON_BLOCKING)) {
        return unused;
    }
    problem_open(&own);
    for (;;) {
        problem_run(&p, &own, own_stream);
    }
}

/* exit() while other threads are in the middle of calls. */
static int threads(void)
{
    pthread_t thread;

    work(3);
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, work_on, NULL);
    }
    usleep(200 * 1000);
    exit(3);
}

int main(int argc, char **argv)
{
    const char *const mode = argc > 1 ? argv[1] : "", *const more = argc > 2 ? argv[2] : "";

    if (strcmp(mode, "work") == 0) {
        work(atoi(more));
        return 0;
    }
    if (strcmp(mode, "fork-before") == 0) {
        return fork_before();
    }
    if (strcmp(mode, "fork-after") == 0) {
        return fork_after(more);
    }
    if (strcmp(mode, "vfork") == 0) {
        return vfork_and_exec();
    }
    if (strcmp(mode, "spawn") == 0) {
        return spawn();
    }
    if (strcmp(mode, "exec") == 0) {
        return exec_storm(atoi(more));
    }
    if (strcmp(mode, "fds") == 0) {
        return fds();
    }
    if (strcmp(mode, "list") == 0) {
        return list_descriptors();
    }
    if (strcmp(mode, "loop") == 0) {
        loop();
    }
    if (strcmp(mode, "signal") == 0) {
        signal(SIGTERM, leave);
        loop();
    }
    return strcmp(mode, "threads") == 0 ? threads() : 2;
}
