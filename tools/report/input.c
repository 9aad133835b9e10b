/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line's paths to files. */
#include "tools/report/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".arrows.zst"

static int add_name(struct mhcs_files *files, char *name)
{
    char **names = reallocarray(files->name, files->count + 1, sizeof(*names));

    if (!name || !names) {
        free(name);
        return -ENOMEM;
    }
    files->name = names;
    files->name[files->count++] = name;
    return 0;
}

int mhcs_files_add(struct mhcs_files *files, const char *name)
{
    return add_name(files, strdup(name));
}

static int is_trace_name(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name), suffix = strlen(SUFFIX);

    return length > suffix && !strcmp(entry->d_name + length - suffix, SUFFIX);
}

static int add_directory(struct mhcs_files *files, const char *path)
{
    struct dirent **entries;
    const int count = scandir(path, &entries, is_trace_name, alphasort);
    int ret = count < 0 ? -errno : 0;

    for (int i = 0; i < count; i++) {
        char *name = NULL;

        if (!ret && asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0)
            name = NULL;
        if (!ret)
            ret = add_name(files, name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return ret;
}

static int add_path(struct mhcs_files *files, const char *path)
{
    struct stat status;

    if (!strcmp(path, MHCS_STDIN_NAME))
        return mhcs_files_add(files, path);
    if (stat(path, &status) || access(path, R_OK))
        return -errno;
    return S_ISDIR(status.st_mode) ? add_directory(files, path) : mhcs_files_add(files, path);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* A file named twice, also by a link or through its directory, would count twice. */
static int drop_repeats(struct mhcs_files *files)
{
    struct stat *seen = calloc(files->count + 1, sizeof(*seen));
    size_t kept = 0;

    if (!seen)
        return -ENOMEM;
    for (size_t i = 0; i < files->count; i++) {
        const bool is_stdin = !strcmp(files->name[i], MHCS_STDIN_NAME);
        bool repeat = false;

        if (is_stdin ? fstat(STDIN_FILENO, &seen[kept]) : stat(files->name[i], &seen[kept]))
            memset(&seen[kept], 0, sizeof(seen[kept])); /* gone since: reading it will say so */
        for (size_t j = 0; j < kept && seen[kept].st_ino != 0 && !repeat; j++)
            repeat = seen[j].st_dev == seen[kept].st_dev && seen[j].st_ino == seen[kept].st_ino;
        if (repeat)
            free(files->name[i]);
        else
            files->name[kept++] = files->name[i];
    }
    files->count = kept;
    free(seen);
    return 0;
}

enum mhcs_exit mhcs_files_expand(struct mhcs_files *ret_files, char *const *paths, size_t count)
{
    const char *path = "";
    int error = 0;

    *ret_files = (struct mhcs_files){0};
    for (size_t i = 0; i < count && !error; i++) {
        path = paths[i];
        error = add_path(ret_files, path);
    }
    if (!error && ret_files->count > 0) {
        qsort(ret_files->name, ret_files->count, sizeof(*ret_files->name), compare_names);
        error = drop_repeats(ret_files);
    }
    if (!error)
        return MHCS_EXIT_FINE;
    fprintf(stderr, "mhcshadow-report: %s: %s\n", path, strerror(-error));
    mhcs_files_free(ret_files);
    return MHCS_EXIT_USAGE;
}

void mhcs_files_free(struct mhcs_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->name[i]);
    free(files->name);
    *files = (struct mhcs_files){0};
}
