/* SPDX-License-Identifier: Apache-2.0 */
/* A file or pipe as a window that moves forward: what a trace reader looks at. */
#ifndef MHCS_TRACE_SOURCE_H
#define MHCS_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mhcs_source {
    int fd;
    bool at_end; /* no byte follows those in the window */
    uint8_t *buffer;
    size_t capacity;
    size_t begin, end; /* the window within buffer */
    uint64_t offset;   /* of the window in the file */
};

/* Fills the window to `size` bytes, or to the end of the file if that comes first. 0, -ENOMEM or
 * what read() said. */
int mhcs_source_need(struct mhcs_source *source, size_t size);
const uint8_t *mhcs_source_data(const struct mhcs_source *source);
size_t mhcs_source_size(const struct mhcs_source *source);
/* Moves the window on, past bytes not read yet too; stops at the end of the file. */
int mhcs_source_skip(struct mhcs_source *source, uint64_t size);
/* Exchanges the buffer with *buffer, malloc'ed or NULL, of so many bytes, which then holds the
 * window; what was at other places stays where it was, and is the caller's. 0 or -ENOMEM. */
int mhcs_source_exchange(struct mhcs_source *source, uint8_t **buffer, size_t *capacity);
void mhcs_source_free(struct mhcs_source *source);

#endif
