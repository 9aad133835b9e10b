/* SPDX-License-Identifier: Apache-2.0 */
/* Which files to read. */
#ifndef MHCS_REPORT_INPUT_H
#define MHCS_REPORT_INPUT_H

#include <stddef.h>

/* Exit codes of every verb. */
enum mhcs_exit {
    MHCS_EXIT_FINE = 0,    /* PASS or WARN; verify: every file is whole */
    MHCS_EXIT_OVER = 1,    /* FAIL: over threshold */
    MHCS_EXIT_USAGE = 2,   /* options, or a path that can't be read */
    MHCS_EXIT_DAMAGED = 3, /* damage, not a trace, or too little data to judge */
};

#define MHCS_STDIN_NAME "-"

struct mhcs_files {
    char **name;
    size_t count;
};

/* Paths from the command line; a directory stands for all *.arrows.zst in it. Each file is taken
 * once, in sorted order. An empty directory gives no files. On failure one line has gone to
 * stderr. */
enum mhcs_exit mhcs_files_expand(struct mhcs_files *ret_files, char *const *paths, size_t count);
/* Adds a copy of the name at the end. 0 or -ENOMEM. */
int mhcs_files_add(struct mhcs_files *files, const char *name);
void mhcs_files_free(struct mhcs_files *files);

#endif
