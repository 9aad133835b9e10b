/* SPDX-License-Identifier: Apache-2.0 */
/* Looks into a checkpoint's directory. */
#include "shadow/model/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shadow/model/header.h"
#include "shadow/model/names.h"
#include "shadow/model/pull.h"

#define INDEX      "model.safetensors.index.json"
#define SINGLE     "model.safetensors"
#define SUFFIX     ".safetensors"
#define NAME_BYTES 1024

static char *join(const char *dir, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static bool exists(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int out_of_memory(const char *path, char *error)
{
    return mhcs_tensors_fail(path, error, NULL, -ENOMEM, "out of memory");
}

char *mhcs_file_text(const char *path, size_t most, size_t *ret_size, char error[MHCS_MODEL_ERROR])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    char *text = NULL;
    size_t size = 0;
    ssize_t got = 1;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        mhcs_tensors_fail(path, error, NULL, 0, "%s",
                          fd < 0 ? strerrordesc_np(errno) : "not a regular file");
        goto out;
    }
    if ((uint64_t)status.st_size > most) {
        mhcs_tensors_fail(path, error, NULL, 0, "larger than the %zu bytes it may have", most);
        goto out;
    }
    text = malloc((size_t)status.st_size + 1);
    while (text && size < (size_t)status.st_size && got > 0) {
        got = read(fd, text + size, (size_t)status.st_size - size);
        size += got > 0 ? (size_t)got : 0;
    }
    if (!text || got < 0) {
        mhcs_tensors_fail(path, error, NULL, 0, "%s",
                          text ? strerrordesc_np(errno) : "out of memory");
        free(text);
        text = NULL;
        goto out;
    }
    text[size] = '\0';
    *ret_size = size;
out:
    if (fd >= 0)
        close(fd);
    return text;
}

static int add_file(struct mhcs_files_found *found, char *path, size_t *ret_index, char *error)
{
    char **tensors;

    if (!path)
        return out_of_memory("", error);
    for (*ret_index = 0; *ret_index < found->count; ++*ret_index)
        if (strcmp(found->tensors[*ret_index], path) == 0) {
            free(path);
            return 0;
        }
    tensors = reallocarray(found->tensors, found->count + 1, sizeof(*tensors));
    if (!tensors) {
        free(path);
        return out_of_memory("", error);
    }
    found->tensors = tensors;
    found->tensors[found->count++] = path;
    return 0;
}

/* ---- the index of a sharded checkpoint ---- */

static int add_promise(struct mhcs_files_found *found, const char *tensor, size_t file, char *error)
{
    struct mhcs_promise *promises =
        reallocarray(found->promises, found->promise_count + 1, sizeof(*promises));

    if (!promises)
        return out_of_memory(tensor, error);
    found->promises = promises;
    promises[found->promise_count] = (struct mhcs_promise){.tensor = strdup(tensor), .file = file};
    if (!promises[found->promise_count].tensor)
        return out_of_memory(tensor, error);
    found->promise_count++;
    return 0;
}

/* Shards lie in the checkpoint's directory or below. */
static bool leads_outside(const char *file)
{
    const size_t length = strlen(file);

    return *file == '/' || *file == '\0' || strcmp(file, "..") == 0 ||
           strncmp(file, "../", 3) == 0 || strstr(file, "/../") ||
           (length >= 3 && strcmp(file + length - 3, "/..") == 0);
}

static int read_weight_map(struct mhcs_files_found *found, struct mhcs_pull *pull, const char *dir,
                           const char *index, char *error)
{
    char name[NAME_BYTES], file[NAME_BYTES];
    struct mhcs_weight_name parsed;
    size_t i;
    int ret = 0;

    if (!mhcs_pull_object(pull))
        return 0; /* the caller sees pull->error */
    while (!ret && mhcs_pull_key(pull, name, sizeof(name))) {
        if (!mhcs_weight_name_parse(name, &parsed)) {
            mhcs_pull_skip(pull);
            continue;
        }
        if (!mhcs_pull_string(pull, file, sizeof(file)))
            break;
        if (leads_outside(file))
            return mhcs_tensors_fail(index, error, name, -EBADMSG,
                                     "its file \"%.100s\" is outside of the checkpoint", file);
        ret = add_file(found, join(dir, file), &i, error);
        if (!ret)
            ret = add_promise(found, name, i, error);
    }
    return ret;
}

static int compare_promises(const void *left, const void *right)
{
    return strcmp(((const struct mhcs_promise *)left)->tensor,
                  ((const struct mhcs_promise *)right)->tensor);
}

static int read_index(struct mhcs_files_found *found, const char *dir, const char *index,
                      char *error)
{
    struct mhcs_pull pull;
    char key[NAME_BYTES];
    size_t size;
    char *text = mhcs_file_text(index, MHCS_HEADER_BYTES_MAX, &size, error);
    int maps = 0, ret = 0;

    if (!text)
        return -EBADMSG;
    mhcs_pull_begin(&pull, text, size);
    mhcs_pull_object(&pull);
    while (!ret && mhcs_pull_key(&pull, key, sizeof(key))) {
        if (strcmp(key, "weight_map") == 0) {
            maps++;
            ret = read_weight_map(found, &pull, dir, index, error);
        } else {
            mhcs_pull_skip(&pull);
        }
    }
    if (!ret && !mhcs_pull_end(&pull))
        ret = mhcs_tensors_fail(index, error, NULL, -EBADMSG, "not sound: %s (byte %zu)",
                                pull.error, pull.error_at);
    if (!ret && maps != 1)
        ret = mhcs_tensors_fail(index, error, NULL, -EBADMSG, "weight_map is given %s",
                                maps ? "twice" : "nowhere");
    free(text);
    if (found->promise_count > 0)
        qsort(found->promises, found->promise_count, sizeof(found->promises[0]), compare_promises);
    for (size_t i = 1; !ret && i < found->promise_count; i++)
        if (compare_promises(&found->promises[i - 1], &found->promises[i]) == 0)
            ret = mhcs_tensors_fail(index, error, found->promises[i].tensor, -EBADMSG,
                                    "listed twice");
    return ret;
}

/* ---- directories ---- */

static bool is_tensor_file(const char *name)
{
    const size_t length = strlen(name), suffix = strlen(SUFFIX);

    return length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

/* The one safetensors file of a directory without model.safetensors and without an index. */
static int find_only(struct mhcs_files_found *found, const char *dir, char *error)
{
    DIR *stream = opendir(dir);
    const struct dirent *entry;
    char *only = NULL;
    size_t count = 0, i;

    if (!stream)
        return mhcs_tensors_fail(dir, error, NULL, -errno, "%s", strerrordesc_np(errno));
    while ((entry = readdir(stream)))
        if (is_tensor_file(entry->d_name) && count++ == 0)
            only = join(dir, entry->d_name);
    closedir(stream);
    if (count == 1)
        return add_file(found, only, &i, error);
    free(only);
    return mhcs_tensors_fail(dir, error, NULL, -ENOENT,
                             count == 0 ? "no *" SUFFIX " in it: not a checkpoint"
                                        : "several *" SUFFIX " and no " INDEX
                                          " that tells what is where");
}

static int find_in_directory(struct mhcs_files_found *found, const char *dir, char *error)
{
    char *index = join(dir, INDEX), *single = join(dir, SINGLE);
    size_t i;
    int ret;

    if (!index || !single)
        ret = out_of_memory(dir, error);
    else if (exists(index))
        ret = read_index(found, dir, index, error);
    else if (exists(single)) {
        ret = add_file(found, single, &i, error);
        single = NULL;
    } else
        ret = find_only(found, dir, error);
    free(index);
    free(single);
    return ret;
}

/* The directory of a file's path. */
static char *parent(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

int mhcs_files_find(struct mhcs_files_found *ret_found, const char *path,
                    char error[MHCS_MODEL_ERROR])
{
    struct stat status;
    char *dir;
    size_t i;
    int ret;

    *ret_found = (struct mhcs_files_found){0};
    if (stat(path, &status) < 0)
        return mhcs_tensors_fail(path, error, NULL, -errno, "%s", strerrordesc_np(errno));
    if (S_ISDIR(status.st_mode)) {
        dir = strdup(path);
        ret = dir ? find_in_directory(ret_found, dir, error) : out_of_memory(path, error);
    } else {
        dir = parent(path);
        ret = dir ? add_file(ret_found, strdup(path), &i, error) : out_of_memory(path, error);
    }
    if (!ret) {
        ret_found->config = join(dir, "config.json");
        ret = ret_found->config ? 0 : out_of_memory(path, error);
    }
    if (!ret && !exists(ret_found->config)) {
        free(ret_found->config);
        ret_found->config = NULL;
    }
    free(dir);
    if (ret)
        mhcs_files_free(ret_found);
    return ret;
}

void mhcs_files_free(struct mhcs_files_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->tensors[i]);
    for (size_t i = 0; i < found->promise_count; i++)
        free(found->promises[i].tensor);
    free(found->tensors);
    free(found->promises);
    free(found->config);
    *found = (struct mhcs_files_found){0};
}
