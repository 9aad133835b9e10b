/* SPDX-License-Identifier: Apache-2.0 */
/* FlatBuffers: a table starts with the distance back to its vtable; the vtable holds its own size,
 * the table's size, and for each field its offset in the table (0: absent). */
#include "shadow/trace/flatbuf.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the trace is written as it is in memory");

/* ---- building ---- */

/* Room for `size` zero bytes at the next position p with (p + lead) % alignment == 0. */
static size_t reserve(struct mhcs_fb_out *out, size_t size, size_t alignment, size_t lead)
{
    const size_t padding = (alignment - (out->size + lead) % alignment) % alignment;
    const size_t position = out->size + padding;

    if (out->size > out->capacity || out->capacity - out->size < padding + size) {
        out->size = out->capacity + 1;
        return 0;
    }
    memset(out->data + out->size, 0, padding + size);
    out->size = position + size;
    return position;
}

void mhcs_fb_put(struct mhcs_fb_out *out, size_t position, uint64_t value, size_t size)
{
    if (out->size <= out->capacity)
        memcpy(out->data + position, &value, size);
}

void mhcs_fb_link(struct mhcs_fb_out *out, size_t hole, size_t target)
{
    mhcs_fb_put(out, hole, target - hole, 4);
}

void mhcs_fb_start(struct mhcs_fb_out *out)
{
    out->size = 0;
    reserve(out, 4, 4, 0);
}

size_t mhcs_fb_table(struct mhcs_fb_out *out, const uint8_t *sizes, uint32_t count)
{
    const size_t vtable = reserve(out, 4 + 2 * (size_t)count, 2, 0);
    uint32_t end = 4;

    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] == 0)
            continue;
        const uint32_t start = (end + sizes[i] - 1) / sizes[i] * sizes[i];
        mhcs_fb_put(out, vtable + 4 + 2 * (size_t)i, start, 2);
        end = start + sizes[i];
    }
    const size_t table = reserve(out, end, 8, 0);
    mhcs_fb_put(out, vtable, 4 + 2 * (uint64_t)count, 2);
    mhcs_fb_put(out, vtable + 2, end, 2);
    mhcs_fb_put(out, table, table - vtable, 4);
    return table;
}

size_t mhcs_fb_slot(const struct mhcs_fb_out *out, size_t table, uint32_t id)
{
    uint32_t distance;
    uint16_t offset;

    if (out->size > out->capacity)
        return 0;
    memcpy(&distance, out->data + table, 4);
    memcpy(&offset, out->data + table - distance + 4 + 2 * (size_t)id, 2);
    return table + offset;
}

size_t mhcs_fb_vector(struct mhcs_fb_out *out, uint32_t count, uint32_t element_size)
{
    const size_t alignment = element_size < 4 ? 4 : element_size > 8 ? 8 : element_size;
    const size_t position = reserve(out, 4 + (size_t)count * element_size, alignment, 4);

    mhcs_fb_put(out, position, count, 4);
    return position;
}

size_t mhcs_fb_string(struct mhcs_fb_out *out, const char *text)
{
    const size_t length = strlen(text);
    const size_t position = reserve(out, 4 + length + 1, 4, 0);

    mhcs_fb_put(out, position, length, 4);
    if (out->size <= out->capacity)
        memcpy(out->data + position + 4, text, length);
    return position;
}

/* ---- reading ---- */

/* Whether `size` bytes at `position` lie in the buffer; marks the buffer bad if not. */
static bool within(struct mhcs_fb_in *in, uint64_t position, uint64_t size)
{
    if (in->bad || position > in->size || size > in->size - position)
        in->bad = true;
    return !in->bad;
}

static uint32_t load(struct mhcs_fb_in *in, uint64_t position, uint32_t size)
{
    uint32_t value = 0;

    if (within(in, position, size))
        memcpy(&value, in->data + position, size);
    return value;
}

static struct mhcs_fb_table table_at(struct mhcs_fb_in *in, uint64_t position)
{
    struct mhcs_fb_table table = {.in = in};
    const int32_t back = (int32_t)load(in, position, 4);
    const int64_t vtable = (int64_t)position - back;

    if (in->bad || vtable < 0 || vtable > in->size) {
        in->bad = true;
        return table;
    }
    const uint32_t vtable_size = load(in, (uint64_t)vtable, 2);
    const uint32_t size = load(in, (uint64_t)vtable + 2, 2);
    if (vtable_size < 4 || vtable_size % 2 != 0 || size < 4 ||
        !within(in, (uint64_t)vtable, vtable_size) || !within(in, position, size)) {
        in->bad = true;
        return table;
    }
    table.position = (uint32_t)position;
    table.vtable = (uint32_t)vtable;
    table.size = size;
    table.vtable_size = vtable_size;
    return table;
}

struct mhcs_fb_table mhcs_fb_root(struct mhcs_fb_in *in)
{
    return table_at(in, load(in, 0, 4));
}

/* Position of a field of `size` bytes; 0 if it is absent or bad. */
static uint32_t field(const struct mhcs_fb_table *table, uint32_t id, uint32_t size)
{
    if (table->position == 0 || 4 + 2 * id + 2 > table->vtable_size)
        return 0;
    const uint32_t offset = load(table->in, table->vtable + 4 + 2 * id, 2);
    if (offset == 0)
        return 0;
    if (offset < 4 || offset > table->size || size > table->size - offset) {
        table->in->bad = true;
        return 0;
    }
    return table->position + offset;
}

/* What the offset in a field points to; 0 if it is absent or bad. */
static uint64_t target(const struct mhcs_fb_table *table, uint32_t id)
{
    const uint32_t position = field(table, id, 4);

    return position == 0 ? 0 : position + (uint64_t)load(table->in, position, 4);
}

int64_t mhcs_fb_int(const struct mhcs_fb_table *table, uint32_t id, uint32_t size, int64_t absent)
{
    const uint32_t position = field(table, id, size);
    uint64_t value = 0;

    if (position == 0)
        return absent;
    memcpy(&value, table->in->data + position, size);
    const uint32_t unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

struct mhcs_fb_table mhcs_fb_child(const struct mhcs_fb_table *table, uint32_t id)
{
    const uint64_t position = target(table, id);

    if (position == 0)
        return (struct mhcs_fb_table){.in = table->in};
    return table_at(table->in, position);
}

struct mhcs_fb_vector mhcs_fb_elements(const struct mhcs_fb_table *table, uint32_t id,
                                       uint32_t element_size)
{
    struct mhcs_fb_vector vector = {.in = table->in};
    const uint64_t position = target(table, id);

    if (position == 0)
        return vector;
    const uint32_t count = load(table->in, position, 4);
    if (!within(table->in, position + 4, (uint64_t)count * element_size))
        return vector;
    vector.position = (uint32_t)position + 4;
    vector.count = count;
    return vector;
}

struct mhcs_fb_table mhcs_fb_table_at(const struct mhcs_fb_vector *vector, uint32_t i)
{
    const uint64_t position = vector->position + 4 * (uint64_t)i;

    return table_at(vector->in, position + load(vector->in, position, 4));
}

const char *mhcs_fb_text(const struct mhcs_fb_table *table, uint32_t id)
{
    const struct mhcs_fb_vector bytes = mhcs_fb_elements(table, id, 1);

    if (bytes.position != 0 && load(bytes.in, bytes.position + (uint64_t)bytes.count, 1) != 0)
        bytes.in->bad = true;
    if (bytes.position == 0 || bytes.in->bad)
        return "";
    return (const char *)bytes.in->data + bytes.position;
}
