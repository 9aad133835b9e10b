/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the reading of Arrow messages. The schema is turned once into a plan: which nodes and
 * buffers of a record batch belong to which column. A batch is then checked against the plan and
 * its own size. */
#ifndef MHCS_TRACE_ARROW_PLAN_H
#define MHCS_TRACE_ARROW_PLAN_H

#include "shadow/trace/arrow.h"
#include "shadow/trace/flatbuf.h"

/* Where a column's parts start in a record batch. */
struct mhcs_arrow_place {
    uint32_t node, buffer;
};

struct mhcs_arrow_schema {
    uint32_t nodes, buffers; /* of one record batch, all columns */
    uint32_t column_count;   /* those that can be handed out */
    struct mhcs_arrow_place *places;
    struct mhcs_column *columns; /* name and type alone; names point into text */
    uint8_t *text;               /* the schema message, kept for the names */
};

struct mhcs_arrow_message {
    struct mhcs_fb_in in;
    struct mhcs_fb_table header;
    uint32_t body; /* where it starts */
};

/* The envelope: prefix, metadata, and a body that ends with the message. */
int mhcs_arrow_open(struct mhcs_arrow_message *ret, const uint8_t *data, size_t size, uint8_t type,
                    char what[MHCS_TRACE_WHAT]);

#define MHCS_ARROW_FAIL(error, ...) (snprintf(what, MHCS_TRACE_WHAT, __VA_ARGS__), error)

#endif
