/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and reads safetensors files. */
#include "shadow/model/tensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shadow/model/header.h"

#define LENGTH_BYTES 8

/* 0, or -errno; -ENODATA at the end of the file. */
static int read_whole(int fd, uint64_t at, void *to, size_t size)
{
    char *out = to;

    while (size > 0) {
        const ssize_t got = pread(fd, out, size, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA;
        out += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* A symbolic link of a download cache whose content is not there deserves its own words. */
static int fail_open(const char *path, int error_number, char *error)
{
    char target[PATH_MAX];
    const ssize_t length = error_number == ENOENT ? readlink(path, target, sizeof(target) - 1) : -1;

    if (length < 0)
        return mhcs_tensors_fail(path, error, NULL, -error_number, "%s",
                                 strerrordesc_np(error_number));
    target[length] = '\0';
    return mhcs_tensors_fail(path, error, NULL, -ENOENT,
                             "a link to %.200s, which is not there (an unfinished download?)",
                             target);
}

/* The descriptor, or -errno. Never waits for a FIFO's other end. */
static int open_file(const char *path, struct stat *ret_status, char *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int ret = 0;

    if (fd < 0)
        return fail_open(path, errno, error);
    if (fstat(fd, ret_status) < 0)
        ret = mhcs_tensors_fail(path, error, NULL, -errno, "%s", strerrordesc_np(errno));
    else if (!S_ISREG(ret_status->st_mode))
        ret = mhcs_tensors_fail(path, error, NULL, -EBADMSG, "not a regular file");
    if (ret < 0) {
        close(fd);
        return ret;
    }
    return fd;
}

static int read_header(struct mhcs_tensors *tensors, int fd, char *error)
{
    uint8_t length[LENGTH_BYTES];
    uint64_t bytes = 0;
    char *text;
    int ret;

    if (tensors->size < LENGTH_BYTES)
        return mhcs_tensors_fail(tensors->path, error, NULL, -EBADMSG,
                                 "shorter than %d bytes: not safetensors", LENGTH_BYTES);
    ret = read_whole(fd, 0, length, sizeof(length));
    for (int i = LENGTH_BYTES; i-- > 0;)
        bytes = bytes << 8 | length[i];
    if (!ret && (bytes > MHCS_HEADER_BYTES_MAX || bytes > tensors->size - LENGTH_BYTES))
        return mhcs_tensors_fail(tensors->path, error, NULL, -EBADMSG,
                                 "a header of %" PRIu64 " bytes in a file of %" PRIu64
                                 ": not safetensors, or cut short",
                                 bytes, tensors->size);
    text = ret ? NULL : malloc(bytes + 1);
    if (!ret)
        ret = text ? read_whole(fd, LENGTH_BYTES, text, bytes) : -ENOMEM;
    if (ret) {
        free(text);
        return mhcs_tensors_fail(tensors->path, error, NULL, ret, "reading the header: %s",
                                 strerrordesc_np(-ret));
    }
    tensors->data_at = LENGTH_BYTES + bytes;
    ret = mhcs_header_parse(tensors, text, bytes, error);
    free(text);
    return ret;
}

int mhcs_tensors_open(struct mhcs_tensors **ret_tensors, const char *path,
                      char error[MHCS_MODEL_ERROR])
{
    struct mhcs_tensors *tensors = calloc(1, sizeof(*tensors));
    struct stat status;
    int fd, ret;

    if (tensors)
        tensors->path = strdup(path);
    if (!tensors || !tensors->path) {
        free(tensors);
        return mhcs_tensors_fail(path, error, NULL, -ENOMEM, "out of memory");
    }
    fd = open_file(path, &status, error);
    ret = fd < 0 ? fd : 0;
    if (!ret) {
        tensors->size = (uint64_t)status.st_size;
        tensors->device = status.st_dev;
        tensors->inode = status.st_ino;
        tensors->modified = status.st_mtim;
        ret = read_header(tensors, fd, error);
        close(fd);
    }
    if (ret < 0) {
        mhcs_tensors_close(tensors);
        return ret;
    }
    *ret_tensors = tensors;
    return 0;
}

void mhcs_tensors_close(struct mhcs_tensors *tensors)
{
    if (!tensors)
        return;
    free(tensors->list);
    free(tensors->names);
    free(tensors->path);
    free(tensors);
}

static int compare_name(const void *name, const void *tensor)
{
    return strcmp(name, ((const struct mhcs_tensor *)tensor)->name);
}

const struct mhcs_tensor *mhcs_tensors_find(const struct mhcs_tensors *tensors, const char *name)
{
    return bsearch(name, tensors->list, tensors->count, sizeof(tensors->list[0]), compare_name);
}

static bool is_unchanged(const struct mhcs_tensors *tensors, const struct stat *status)
{
    return (uint64_t)status->st_size == tensors->size && status->st_dev == tensors->device &&
           status->st_ino == tensors->inode && status->st_mtim.tv_sec == tensors->modified.tv_sec &&
           status->st_mtim.tv_nsec == tensors->modified.tv_nsec;
}

int mhcs_tensors_read(const struct mhcs_tensors *tensors, const struct mhcs_tensor *tensor,
                      uint64_t from, void *to, size_t size, char error[MHCS_MODEL_ERROR])
{
    struct stat status;
    const int fd = open_file(tensors->path, &status, error);
    int ret;

    if (fd < 0)
        return fd;
    if (from > tensor->end - tensor->begin || size > tensor->end - tensor->begin - from)
        ret = mhcs_tensors_fail(tensors->path, error, tensor->name, -ERANGE,
                                "is shorter than what is read of it");
    else if (!is_unchanged(tensors, &status))
        ret = mhcs_tensors_fail(tensors->path, error, tensor->name, -ESTALE,
                                "the file changed since it was opened");
    else {
        ret = read_whole(fd, tensors->data_at + tensor->begin + from, to, size);
        if (ret)
            mhcs_tensors_fail(tensors->path, error, tensor->name, ret, "%s", strerrordesc_np(-ret));
    }
    close(fd);
    return ret;
}

const char *mhcs_tensor_text(const struct mhcs_tensor *tensor, char text[MHCS_TENSOR_TEXT])
{
    size_t used = (size_t)snprintf(text, MHCS_TENSOR_TEXT, "%s [", tensor->type);

    for (int i = 0; i < tensor->rank && used < MHCS_TENSOR_TEXT; i++)
        used += (size_t)snprintf(text + used, MHCS_TENSOR_TEXT - used, "%s%" PRIu64, i ? ", " : "",
                                 tensor->shape[i]);
    if (used < MHCS_TENSOR_TEXT)
        snprintf(text + used, MHCS_TENSOR_TEXT - used, "]");
    return text;
}
