/* SPDX-License-Identifier: Apache-2.0 */
/* The trace: one record per sampled token row. doc/trace.md is the normative description of the
 * bytes.
 *
 * A writer or reader belongs to one thread. Functions return 0 or a negative errno; nothing here
 * logs, and no input, however hostile, makes the reader crash or allocate without bound. */
#ifndef MHCS_TRACE_H
#define MHCS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/* One row, as the writer takes it. Strings are borrowed for the call. */
struct mhcs_record {
    int64_t time; /* unix ns, UTC */
    int64_t call; /* grows with each sampled call of the process */
    int32_t site;
    const char *site_name; /* "layers.21.hc_attn_fn", or "site21" without a checkpoint */
    int16_t layer;         /* -1: unknown (null in the trace) */
    const char *role;      /* "attn", "ffn", "head"; NULL: unknown (null in the trace) */
    int16_t device;
    int32_t tokens;   /* T of the GEMM */
    int32_t row;      /* 0 .. T-1 */
    bool graph;       /* from a graph replay */
    bool padded;      /* x is zero, or repeats an earlier row of its call */
    const char *path; /* declared precision path, mhcs_path_format() */
    bool checkpoint;  /* whether the checkpoint columns hold values */
    float check; /* rel of the fp32 reference against fp64; NaN: not checked (null in the trace) */
    const struct mhcs_row_result *result;
};

/* ---- writer ---- */

enum mhcs_trace_end {
    MHCS_END_EXIT = 1,
    MHCS_END_SIZE_CAP,
    MHCS_END_NO_SPACE,
    MHCS_END_DISABLED,
    MHCS_END_IO_ERROR
};

struct mhcs_trace_options {
    const char *dir;
    uint64_t max_bytes; /* the file never grows beyond this; 0: no limit */
    bool sync;          /* fdatasync after each batch */
    const char *facts;  /* JSON text of the process facts: the J frame */
};

struct mhcs_trace_writer;

/* Creates DIR/mhcshadow.<host>.<pid>.<start ns>.arrows.zst (O_EXCL, O_APPEND, O_CLOEXEC) and writes
 * H and J. */
int mhcs_trace_create(struct mhcs_trace_writer **ret_writer,
                      const struct mhcs_trace_options *options);
const char *mhcs_trace_path(const struct mhcs_trace_writer *writer);

/* Appends a row to the open batch; a full batch (MHCS_TRACE_BATCH_ROWS) is written out. After a
 * write error the file is cut back to its last good edge and every later call returns the same
 * error. */
int mhcs_trace_append(struct mhcs_trace_writer *writer, const struct mhcs_record *record);
int mhcs_trace_flush(struct mhcs_trace_writer *writer, uint64_t dropped);

/* Adds a J frame {"KIND": ...}; `json` is a complete JSON object. Flushes the open batch first. */
int mhcs_trace_facts(struct mhcs_trace_writer *writer, const char *json);

/* Flushes, writes E with the reason, closes and frees. */
int mhcs_trace_close(struct mhcs_trace_writer *writer, enum mhcs_trace_end reason,
                     uint64_t dropped);

/* Closes and frees without a word more in the file. */
void mhcs_trace_forget(struct mhcs_trace_writer *writer);

/* For a forked child: closes its descriptor and leaves file and memory alone. Another thread may
 * have been at the writer when the process forked; what it left half done can't be freed. */
void mhcs_trace_orphan(struct mhcs_trace_writer *writer);

#define MHCS_TRACE_BATCH_ROWS 4096

/* ---- reader ---- */

/* One column of a batch. Fixed-width values are little-endian as on disk and aligned to 8. */
enum mhcs_column_type {
    MHCS_COL_INT16,
    MHCS_COL_INT32,
    MHCS_COL_INT64,
    MHCS_COL_FLOAT32,
    MHCS_COL_BOOL,
    MHCS_COL_UTF8,
    MHCS_COL_FLOAT32_LIST24,
    MHCS_COL_TIMESTAMP_NS
};
struct mhcs_column {
    const char *name;
    enum mhcs_column_type type;
    const uint8_t *valid;   /* bitmap, NULL: all rows valid */
    const void *values;     /* bit-packed for BOOL; bytes for UTF8; [rows][24] floats for LIST24; a
                               float that is null is NaN here */
    const int32_t *offsets; /* UTF8: rows + 1 */
};
struct mhcs_batch {
    uint32_t rows;
    uint32_t column_count;
    const struct mhcs_column *columns; /* valid until the next mhcs_trace_next() */
};
const struct mhcs_column *mhcs_batch_column(
    const struct mhcs_batch *batch, const char *name,
    enum mhcs_column_type type); /* NULL: absent or another type */
bool mhcs_column_valid(const struct mhcs_column *column, uint32_t row);

enum mhcs_trace_event {
    MHCS_TRACE_BATCH,  /* *batch is set */
    MHCS_TRACE_FACTS,  /* *facts is set: NUL-terminated JSON */
    MHCS_TRACE_CLOSED, /* E frame; *reason is set */
    MHCS_TRACE_GAP,    /* salvage only: bytes were skipped; the damage describes them */
    MHCS_TRACE_EOF,    /* end of file on a frame edge (whether or not closed cleanly) */
    MHCS_TRACE_DAMAGED /* stop: damage describes why; everything returned before is good */
};
enum mhcs_damage_kind {
    MHCS_DAMAGE_TORN = 1,   /* the file ends inside a frame and nothing follows: it is still being
                               written, or the process was killed; all whole batches were read */
    MHCS_DAMAGE_CORRUPT,    /* bytes are not what was written */
    MHCS_DAMAGE_UNSUPPORTED /* sound so far, but it needs a newer reader */
};
struct mhcs_trace_damage {
    enum mhcs_damage_kind kind;
    uint64_t offset;       /* of the frame that failed, or of its mark */
    uint64_t dropped;      /* bytes not read: to the end, or to the next good mark */
    uint32_t lost_batches; /* from the gap in seq, salvage only */
    char what[160];        /* which check failed, one sentence */
};
/* A batch whose bytes are known to be what was written, but not decompressed yet. */
struct mhcs_arrow_schema;
struct mhcs_trace_packed {
    const uint8_t *frame; /* good until the reader is asked for more */
    uint32_t length;
    uint32_t seq, rows;
    uint64_t offset;                        /* of its mark in the file */
    const struct mhcs_arrow_schema *schema; /* the reader's */
};
struct mhcs_trace_item {
    enum mhcs_trace_event event;
    struct mhcs_batch batch;         /* not by mhcs_trace_pull() */
    struct mhcs_trace_packed packed; /* BATCH */
    const char *facts;
    enum mhcs_trace_end reason;
    uint32_t lost_rows;       /* CLOSED: appended, but could not be written any more */
    uint64_t dropped_samples; /* BATCH, CLOSED: cumulative counter in the mark */
    struct mhcs_trace_damage damage;
};

struct mhcs_trace_reader;
/* `salvage`: after damage look for the next good mark instead of stopping. -EINVAL: not a trace;
 * `why` says in words for every error. A pipe will do. mhcs_trace_open_fd() leaves `fd` to the
 * caller, who closes it after mhcs_trace_reader_free(). */
int mhcs_trace_open(struct mhcs_trace_reader **ret_reader, const char *file, bool salvage,
                    char why[160]);
int mhcs_trace_open_fd(struct mhcs_trace_reader **ret_reader, int fd, bool salvage, char why[160]);
/* 0, or -ENOMEM/-EIO for trouble that is not the file's content. */
int mhcs_trace_next(struct mhcs_trace_reader *reader, struct mhcs_trace_item *ret_item);
/* After EOF or a torn tail: true if the file may have grown, and the reader goes on where the last
 * whole frame ended. False for a closed or damaged file, for a pipe, and before the schema is
 * whole. */
bool mhcs_trace_resume(struct mhcs_trace_reader *reader);
void mhcs_trace_reader_free(struct mhcs_trace_reader *reader);

/* ---- reading with several threads ----
 * mhcs_trace_next() in parts. One thread at a time pulls, and takes the bytes of a batch; any
 * number of threads unpack what was pulled, each with an unpacker of its own, while the reader
 * lives. */
int mhcs_trace_pull(struct mhcs_trace_reader *reader, struct mhcs_trace_item *ret_item);
/* After pulling a batch: its bytes lie in *buffer from now on, which the reader swaps for its own.
 * The caller frees what is there in the end; at first *buffer is NULL and *capacity 0. 0 or
 * -ENOMEM. */
int mhcs_trace_take(struct mhcs_trace_reader *reader, uint8_t **buffer, size_t *capacity);

struct mhcs_trace_unpacker;
struct mhcs_trace_unpacker *mhcs_trace_unpacker_new(void); /* NULL: no memory */
void mhcs_trace_unpacker_free(struct mhcs_trace_unpacker *unpacker);
/* 0, -ENOMEM, or -EBADMSG with *ret_damage set. The batch is good until the next call. */
int mhcs_trace_unpack(struct mhcs_trace_unpacker *unpacker, const struct mhcs_trace_packed *packed,
                      struct mhcs_batch *ret_batch, struct mhcs_trace_damage *ret_damage);
/* Makes of an item whose batch was found damaged, item->damage, what mhcs_trace_next() gives: GAP,
 * behind which the reader goes on, or DAMAGED, with which it ends. 0 or what read() said. */
int mhcs_trace_reject(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item);

#endif
