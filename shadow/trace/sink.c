/* SPDX-License-Identifier: Apache-2.0 */
/* Appending whole frames, or none. SIGKILL can still tear the last append (a writev is not atomic
 * against it); the reader expects that. */
#include "shadow/trace/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* A write beyond RLIMIT_FSIZE raises SIGXFSZ, whose default is to kill the application. The kernel
 * sends it to the writing thread, so blocking it there and taking it back leaves the application's
 * handler, mask and any SIGXFSZ of its own untouched. */
struct sigxfsz_guard {
    sigset_t old_mask;
    bool was_pending;
};

static sigset_t only_sigxfsz(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

static void guard_enter(struct sigxfsz_guard *guard)
{
    const sigset_t set = only_sigxfsz();
    sigset_t pending;

    sigemptyset(&pending);
    pthread_sigmask(SIG_BLOCK, &set, &guard->old_mask);
    sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGXFSZ);
}

static void guard_leave(const struct sigxfsz_guard *guard, int error)
{
    const sigset_t set = only_sigxfsz();
    const struct timespec now = {0};

    if (error == -EFBIG && !guard->was_pending)
        while (sigtimedwait(&set, NULL, &now) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &guard->old_mask, NULL);
}

static int write_all(int fd, struct iovec *parts, int count)
{
    while (count > 0) {
        const ssize_t written = writev(fd, parts, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        if (written == 0)
            return -EIO;
        size_t left = (size_t)written;
        while (count > 0 && left >= parts->iov_len) {
            left -= parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return 0;
}

static int retry_fdatasync(int fd)
{
    while (fdatasync(fd) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static int retry_ftruncate(int fd, uint64_t size)
{
    while (ftruncate(fd, (off_t)size) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

int mhcs_sink_append(struct mhcs_sink *sink, struct iovec *parts, int count)
{
    struct sigxfsz_guard guard;
    uint64_t size = 0;
    int error;

    if (sink->torn)
        return -EIO;
    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    guard_enter(&guard);
    error = write_all(sink->fd, parts, count);
    guard_leave(&guard, error);
    if (error == 0 && sink->sync)
        error = retry_fdatasync(sink->fd);
    if (error == 0)
        sink->edge += size;
    else if (retry_ftruncate(sink->fd, sink->edge) < 0)
        sink->torn = true;
    return error;
}

int mhcs_sink_create(struct mhcs_sink *sink, const char *path, bool sync)
{
    *sink = (struct mhcs_sink){.fd = -1, .sync = sync};
    if ((size_t)snprintf(sink->path, sizeof sink->path, "%s", path) >= sizeof sink->path)
        return -ENAMETOOLONG;
    do
        sink->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    while (sink->fd < 0 && errno == EINTR);
    return sink->fd < 0 ? -errno : 0;
}

int mhcs_sink_close(struct mhcs_sink *sink)
{
    const int fd = sink->fd;

    sink->fd = -1;
    /* NFS reports a failed write here. After EINTR the descriptor is gone on Linux. */
    return fd >= 0 && close(fd) < 0 && errno != EINTR ? -errno : 0;
}
