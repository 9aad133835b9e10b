/* SPDX-License-Identifier: Apache-2.0 */
/* Plain read() into one buffer: works on pipes, and a file that is cut while it is read is an end
 * of file here where a mapping would raise SIGBUS. */
#include "shadow/trace/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 18)

const uint8_t *mhcs_source_data(const struct mhcs_source *source)
{
    return source->buffer + source->begin;
}

size_t mhcs_source_size(const struct mhcs_source *source)
{
    return source->end - source->begin;
}

/* Makes room for a window of `size` bytes. */
static int make_room(struct mhcs_source *source, size_t size)
{
    if (size <= source->capacity - source->begin)
        return 0;
    if (source->begin != 0)
        memmove(source->buffer, source->buffer + source->begin, source->end - source->begin);
    source->end -= source->begin;
    source->begin = 0;
    if (size <= source->capacity)
        return 0;
    const size_t capacity = (size + 2 * CHUNK - 1) / CHUNK * CHUNK;
    uint8_t *buffer = realloc(source->buffer, capacity);
    if (buffer == NULL)
        return -ENOMEM;
    source->buffer = buffer;
    source->capacity = capacity;
    return 0;
}

int mhcs_source_need(struct mhcs_source *source, size_t size)
{
    if (mhcs_source_size(source) >= size || source->at_end)
        return 0;
    if (source->begin == source->end)
        source->begin = source->end = 0;
    const int error = make_room(source, size);
    if (error < 0)
        return error;
    while (mhcs_source_size(source) < size) {
        const size_t room = source->capacity - source->end,
                     missing = size - mhcs_source_size(source);
        const size_t step = missing > CHUNK ? missing : CHUNK;
        const ssize_t got =
            read(source->fd, source->buffer + source->end, step < room ? step : room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0) {
            source->at_end = true;
            break;
        }
        source->end += (size_t)got;
    }
    return 0;
}

int mhcs_source_skip(struct mhcs_source *source, uint64_t size)
{
    while (size != 0) {
        const int error = mhcs_source_need(source, 1);
        const uint64_t have = mhcs_source_size(source);
        if (error < 0 || have == 0)
            return error;
        const uint64_t step = size < have ? size : have;
        source->begin += step;
        source->offset += step;
        size -= step;
    }
    return 0;
}

int mhcs_source_exchange(struct mhcs_source *source, uint8_t **buffer, size_t *capacity)
{
    const size_t size = mhcs_source_size(source);
    uint8_t *own = source->buffer;

    if (*capacity < source->capacity) {
        free(*buffer);
        *capacity = 0;
        *buffer = malloc(source->capacity);
        if (*buffer == NULL)
            return -ENOMEM;
        *capacity = source->capacity;
    }
    memcpy(*buffer, own + source->begin, size);
    source->buffer = *buffer;
    *buffer = own;
    const size_t own_capacity = source->capacity;
    source->capacity = *capacity;
    *capacity = own_capacity;
    source->begin = 0;
    source->end = size;
    return 0;
}

void mhcs_source_free(struct mhcs_source *source)
{
    free(source->buffer);
}
