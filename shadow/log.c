/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: formatting, the file, and the care a guest takes when it writes. */
#include "shadow/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

/* Written by mhcs_log_configure() before any other thread logs, constant from then on. */
static enum mhcs_log_level log_level = MHCS_LOG_WARN;
static char log_file[PATH_MAX];

/* Set by the first thread whose open() fails, so that stderr is told once. */
static atomic_bool open_failure_said;

void mhcs_log_configure(enum mhcs_log_level level, const char *file)
{
    log_level = level;
    if (snprintf(log_file, sizeof(log_file), "%s", file ? file : "") >= (int)sizeof(log_file)) {
        log_file[0] = '\0';
    }
}

static void expand_path(char path[PATH_MAX])
{
    size_t n = 0;

    for (const char *s = log_file; *s && n + 1 < PATH_MAX; s++) {
        if (s[0] == '%' && s[1] == 'p') {
            n += (size_t)snprintf(path + n, PATH_MAX - n, "%d", (int)getpid());
            s++;
        } else if (s[0] == '%' && s[1] == 'h') {
            char host[HOST_NAME_MAX + 1] = "localhost";

            (void)gethostname(host, sizeof(host) - 1);
            n += (size_t)snprintf(path + n, PATH_MAX - n, "%s", host);
            s++;
        } else {
            path[n++] = *s;
        }
        if (n >= PATH_MAX) {
            n = PATH_MAX - 1;
        }
    }
    path[n] = '\0';
}

/* A descriptor kept open would not be ours for ever: daemons close every descriptor they find and
 * get the number again for a file of their own. So the file is opened for each line; lines are
 * rare. */
static int open_file(void)
{
    char path[PATH_MAX];
    int fd;

    expand_path(path);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
    if (fd < 0 && !atomic_exchange(&open_failure_said, true)) {
        const int why = errno;

        mhcs_log(MHCS_LOG_WARN, "can't open log file '%s': %s; logging to stderr (MHCSHADOW_LOG)",
                 path, strerrordesc_np(why));
    }
    return fd;
}

/* write(2) without its signals: a closed stderr or a file size limit must not kill the
 * application. A signal that was already pending belongs to the application and stays. */
static void write_quietly(int fd, const char *text, size_t bytes)
{
    sigset_t ours, pending, old;
    const struct timespec now = {0, 0};
    bool kept;

    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    if (pthread_sigmask(SIG_BLOCK, &ours, &old) != 0) {
        return;
    }
    kept = sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGPIPE) == 1 || sigismember(&pending, SIGXFSZ) == 1);
    if (write(fd, text, bytes) < 0 && (errno == EPIPE || errno == EFBIG) && !kept) {
        (void)sigtimedwait(&ours, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void mhcs_log(enum mhcs_log_level level, const char *format, ...)
{
    static const char *const names[] = {"off", "error", "warning", "info", "debug"};
    const int saved_errno = errno;
    char line[LINE_MAX_BYTES];
    size_t n;
    va_list args;
    int fd = -1;

    if (level == MHCS_LOG_OFF || level > log_level) {
        return;
    }
    n = (size_t)snprintf(line, sizeof(line), "mhcshadow[%d]: %s: ", (int)getpid(), names[level]);
    va_start(args, format);
    n += (size_t)vsnprintf(line + n, sizeof(line) - n, format, args);
    va_end(args);
    if (n > sizeof(line) - 1) {
        n = sizeof(line) - 1;
    }
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)line[i] < ' ') {
            line[i] = '?'; /* a file name may hold a newline; a line of ours may not */
        }
    }
    line[n++] = '\n';

    if (log_file[0]) {
        fd = open_file();
    }
    write_quietly(fd >= 0 ? fd : STDERR_FILENO, line, n);
    if (fd >= 0) {
        close(fd);
    }
    errno = saved_errno;
}
