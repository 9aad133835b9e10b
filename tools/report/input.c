/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line's paths to files, and from a file to its batches and facts. */
#include "tools/report/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".arrows.zst"

/* ---- which files ---- */

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
        return add_name(files, strdup(path));
    if (stat(path, &status) || access(path, R_OK))
        return -errno;
    return S_ISDIR(status.st_mode) ? add_directory(files, path) : add_name(files, strdup(path));
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

/* ---- one file ---- */

static void note_damage(struct mhcs_scan *scan, const struct mhcs_trace_damage *damage)
{
    if (!scan->damaged)
        scan->damage = *damage;
    scan->damaged = true;
    scan->bytes_lost += damage->dropped;
    scan->batches_lost += damage->lost_batches;
}

/* 1: go on, 0: end of file, negative: what a call returned. */
static int take_item(struct mhcs_scan *scan, const struct mhcs_trace_item *item,
                     const struct mhcs_scan_calls *calls)
{
    int ret = 0;

    switch (item->event) {
    case MHCS_TRACE_BATCH:
        scan->batches++;
        scan->rows += item->batch.rows;
        scan->dropped_samples = item->dropped_samples;
        ret = calls->batch ? calls->batch(calls->context, &item->batch) : 0;
        return ret ? ret : 1;
    case MHCS_TRACE_FACTS:
        ret = calls->facts ? calls->facts(calls->context, item->facts) : 0;
        return ret ? ret : 1;
    case MHCS_TRACE_CLOSED:
        scan->closed = true;
        scan->reason = item->reason;
        scan->dropped_samples = item->dropped_samples;
        return 1;
    case MHCS_TRACE_GAP:
        note_damage(scan, &item->damage);
        scan->gaps++;
        return 1;
    case MHCS_TRACE_DAMAGED:
        note_damage(scan, &item->damage);
        return 0;
    case MHCS_TRACE_EOF:
        return 0;
    }
    return 0;
}

int mhcs_scan_file(struct mhcs_scan *ret_scan, const char *name, bool salvage,
                   const struct mhcs_scan_calls *calls)
{
    struct mhcs_scan *scan = ret_scan;
    struct mhcs_trace_reader *reader = NULL;
    struct mhcs_trace_item item;
    int ret;

    *scan = (struct mhcs_scan){.name = name};
    ret = strcmp(name, MHCS_STDIN_NAME)
              ? mhcs_trace_open(&reader, name, salvage, scan->why)
              : mhcs_trace_open_fd(&reader, STDIN_FILENO, salvage, scan->why);
    if (ret) {
        scan->unreadable = true;
        return ret == -ENOMEM ? ret : 0;
    }
    do {
        ret = mhcs_trace_next(reader, &item);
        if (ret && ret != -ENOMEM) { /* the disk or the pipe, not the content */
            scan->unreadable = true;
            snprintf(scan->why, sizeof(scan->why), "%s", strerror(-ret));
            ret = 0;
            break;
        }
        if (!ret)
            ret = take_item(scan, &item, calls);
    } while (ret > 0);
    mhcs_trace_reader_free(reader);
    return ret;
}

const char *mhcs_scan_end(const struct mhcs_scan *scan)
{
    if (!scan->closed)
        return "not closed: the process is running or was killed";
    switch (scan->reason) {
    case MHCS_END_EXIT:
        return "closed at exit";
    case MHCS_END_SIZE_CAP:
        return "closed at its size limit (MHCSHADOW_MAX_MB): later samples are missing";
    case MHCS_END_NO_SPACE:
        return "closed because the disk was full: later samples are missing";
    case MHCS_END_DISABLED:
        return "closed because tracing was switched off";
    case MHCS_END_IO_ERROR:
        return "closed after a write error: later samples are missing";
    }
    return "closed for a reason this version does not know";
}
