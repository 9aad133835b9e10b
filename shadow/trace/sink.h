/* SPDX-License-Identifier: Apache-2.0 */
/* The file under a trace writer: whole frames are added to it, or nothing is. */
#ifndef MHCS_TRACE_SINK_H
#define MHCS_TRACE_SINK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct mhcs_sink {
    int fd;
    bool sync;     /* fdatasync after each append */
    bool torn;     /* the file could not be cut back: nothing may follow what is there */
    uint64_t edge; /* size of the file up to its last whole frame */
    char path[PATH_MAX];
};

/* A new file of this name; an existing one is never touched. */
int mhcs_sink_create(struct mhcs_sink *sink, const char *path, bool sync);
/* All of `parts` (changed on the way), or a negative errno and the file as it was before. */
int mhcs_sink_append(struct mhcs_sink *sink, struct iovec *parts, int count);
int mhcs_sink_close(struct mhcs_sink *sink);

#endif
