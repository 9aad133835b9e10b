/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the reader: its state, and the steps from frame to frame. */
#ifndef MHCS_TRACE_WALK_H
#define MHCS_TRACE_WALK_H

#include "shadow/trace/arrow.h"
#include "shadow/trace/source.h"
#include "shadow/trace/trace.h"

enum mhcs_walk_state { AT_HEADER, AT_FIRST_FACTS, AT_FRAMES, AFTER_END, FINISHED };

struct mhcs_trace_reader {
    struct mhcs_source source;
    bool owns_fd, salvage;
    enum mhcs_walk_state state;
    enum mhcs_walk_state resume_state; /* and where, if mhcs_trace_resume() is called */
    uint64_t resume_offset;
    size_t header_size; /* of H; 0: the file ends within it */
    uint32_t header_crc;
    uint32_t seq;                         /* of the next mark */
    uint64_t resume;                      /* after damage: from where a good mark is looked for */
    struct mhcs_trace_unpacker *unpacker; /* of the schema, and of batches for mhcs_trace_next() */
    struct mhcs_arrow_schema *schema;
    char *facts;
    struct mhcs_trace_item last; /* returned again once FINISHED */
};

/* What a step gives, besides a negative errno. */
enum mhcs_walk_result {
    WALK_EVENT, /* *item is set */
    WALK_ON,    /* nothing to report */
    WALK_DAMAGE /* item->damage is set but for the bytes dropped; the window is where it was */
};

/* The frame at the start of the window: checks it and moves the window behind it. */
int mhcs_walk_step(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item);

/* The first undamaged mark of at least this seq in the window, `from` bytes in or later. */
bool mhcs_walk_find_mark(const struct mhcs_source *source, size_t from, uint32_t seq,
                         size_t *ret_at);

#endif
