/* SPDX-License-Identifier: Apache-2.0 */
/* As much of FlatBuffers as Arrow's messages need: building a buffer front to back, and reading
 * one that may be hostile. Positions are byte offsets from the start of the buffer. */
#ifndef MHCS_TRACE_FLATBUF_H
#define MHCS_TRACE_FLATBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- building ----
 * A parent is written before its children (offsets in a flatbuffer point forward), with holes that
 * are linked once the child's position is known. After an overflow nothing more is written, size
 * is over capacity, and all functions stay safe to call. */
struct mhcs_fb_out {
    uint8_t *data;
    size_t size, capacity;
};

/* The root offset; call first. Link the root table with mhcs_fb_link(out, 0, ...). */
void mhcs_fb_start(struct mhcs_fb_out *out);
/* A table with fields of the given sizes (0: absent; offsets are 4) and all values zero. */
size_t mhcs_fb_table(struct mhcs_fb_out *out, const uint8_t *sizes, uint32_t count);
/* Where field `id` of a table made by mhcs_fb_table lies. */
size_t mhcs_fb_slot(const struct mhcs_fb_out *out, size_t table, uint32_t id);
void mhcs_fb_put(struct mhcs_fb_out *out, size_t position, uint64_t value, size_t size);
void mhcs_fb_link(struct mhcs_fb_out *out, size_t hole, size_t target);
/* Zeroed elements follow the length: element i lies at result + 4 + i * element_size. */
size_t mhcs_fb_vector(struct mhcs_fb_out *out, uint32_t count, uint32_t element_size);
size_t mhcs_fb_string(struct mhcs_fb_out *out, const char *text);

/* ---- reading ----
 * Every access is checked against the buffer. The first one that fails sets `bad`; it and all later
 * ones give zero or nothing, so a reader asks for what it needs and looks at `bad` before it
 * believes any of it. */
struct mhcs_fb_in {
    const uint8_t *data;
    uint32_t size;
    bool bad;
};
struct mhcs_fb_table {
    struct mhcs_fb_in *in;
    uint32_t position, vtable; /* position 0: no table */
    uint32_t size, vtable_size;
};
struct mhcs_fb_vector {
    struct mhcs_fb_in *in;
    uint32_t position; /* of element 0 */
    uint32_t count;
};

struct mhcs_fb_table mhcs_fb_root(struct mhcs_fb_in *in);
/* An integer field of 1, 2, 4 or 8 bytes, sign-extended; `absent` if it is not there. */
int64_t mhcs_fb_int(const struct mhcs_fb_table *table, uint32_t id, uint32_t size, int64_t absent);
struct mhcs_fb_table mhcs_fb_child(const struct mhcs_fb_table *table, uint32_t id);
struct mhcs_fb_vector mhcs_fb_elements(const struct mhcs_fb_table *table, uint32_t id,
                                       uint32_t element_size);
/* Element i of a vector of tables. */
struct mhcs_fb_table mhcs_fb_table_at(const struct mhcs_fb_vector *vector, uint32_t i);
/* NUL-terminated within the buffer; "" if absent. */
const char *mhcs_fb_text(const struct mhcs_fb_table *table, uint32_t id);

#endif
