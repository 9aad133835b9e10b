/* SPDX-License-Identifier: Apache-2.0 */
/* Every thread takes a file of its own while there are any, then helps with those still being read.
 *
 * Within a file a thread pulls the next frame and draws its number under the file's lock, unpacks
 * it without, and then waits for its turn: what happens in the order of the file (facts, counts,
 * damage) happens there, and whether the batch counts is known. Its statistics follow without a
 * lock. A turn is never long in coming: all numbers before it are with threads that are at work on
 * them. */
#include "tools/report/read.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tools/parallel.h"
#include "tools/report/input.h"
#include "tools/report/progress.h"
#include "tools/report/rows.h"

/* One file. Everything but its name is under the lock. */
struct stream {
    pthread_mutex_t lock;
    pthread_cond_t next_turn;
    struct mhcs_trace_reader *reader; /* NULL: not opened yet, or done with */
    struct mhcs_scan scan, good;      /* good: without the torn tail */
    struct mhcs_facts facts;
    struct mhcs_origin origin;
    uint64_t pulled, turn; /* numbers drawn, and the one whose turn it is */
    bool ended;            /* nothing is left to pull */
    bool stopped;          /* by damage: what was pulled behind it does not count */
};

struct worker {
    struct mhcs_trace_unpacker *unpacker;
    uint8_t *bytes; /* of the batch that was pulled */
    size_t capacity;
    char *facts; /* that were pulled */
    struct mhcs_row_reader rows;
    struct mhcs_collect *collect; /* NULL: rows are not collected */
};

struct mhcs_reading {
    bool salvage, again;
    unsigned threads;
    struct worker *worker; /* one per thread */
    struct stream **stream;
    size_t streams;
    atomic_size_t next; /* stream that no thread has taken; any thread adds, relaxed */
    atomic_int error;   /* the first one; any thread sets it, all stop; relaxed */
    struct mhcs_progress progress;
};

/* ---- one item ---- */

/* The worker's own copy of a text that is the reader's until the next pull. */
static int keep(struct worker *worker, const char **text)
{
    free(worker->facts);
    worker->facts = strdup(*text);
    *text = worker->facts;
    return *text ? 0 : -ENOMEM;
}

static int pull_item(struct stream *stream, struct worker *worker, struct mhcs_trace_item *item)
{
    const int ret = mhcs_trace_pull(stream->reader, item);

    if (!ret && item->event == MHCS_TRACE_BATCH)
        return mhcs_trace_take(stream->reader, &worker->bytes, &worker->capacity);
    if (!ret && item->event == MHCS_TRACE_FACTS)
        return keep(worker, &item->facts);
    return ret;
}

/* Under the lock. False: there is nothing to pull. An error belongs to the item, and is handled in
 * its turn. */
static bool pull(struct mhcs_reading *reading, struct stream *stream, struct worker *worker,
                 struct mhcs_trace_item *item, uint64_t *ret_number, int *ret_error)
{
    *ret_error = 0;
    if (stream->ended)
        return false;
    if (!stream->reader)
        stream->reader = mhcs_scan_open(&stream->scan, reading->salvage, ret_error);
    if (stream->reader)
        *ret_error = pull_item(stream, worker, item);
    stream->ended = !stream->reader || *ret_error || item->event == MHCS_TRACE_EOF ||
                    item->event == MHCS_TRACE_DAMAGED;
    if (!stream->reader && !*ret_error) /* not a trace: nothing but that is to be said of it */
        return false;
    *ret_number = stream->pulled++;
    return true;
}

/* In the item's turn, under the lock. True: its rows count. */
static bool take(struct stream *stream, struct mhcs_trace_item *item, int *error)
{
    bool more = false;

    if (stream->stopped) {
        *error = 0;
        return false;
    }
    if (*error == -EBADMSG)
        *error = mhcs_trace_reject(stream->reader, item);
    if (!*error && item->event == MHCS_TRACE_FACTS) {
        mhcs_origin_add(&stream->origin, item->facts);
        *error = mhcs_facts_add(&stream->facts, item->facts);
    }
    if (*error && *error != -ENOMEM) {
        mhcs_scan_fail(&stream->scan, *error);
        *error = 0;
    } else if (!*error) {
        stream->good = stream->scan;
        more = mhcs_scan_item(&stream->scan, item);
    }
    if (more)
        return item->event == MHCS_TRACE_BATCH;
    stream->ended = stream->stopped = true;
    return false;
}

/* The next one's turn. Once nobody holds anything of the reader any more, it can go. */
static void pass_on(struct mhcs_reading *reading, struct stream *stream)
{
    stream->turn++;
    pthread_cond_broadcast(&stream->next_turn);
    if (stream->ended && stream->turn == stream->pulled && !reading->again) {
        mhcs_trace_reader_free(stream->reader);
        stream->reader = NULL;
    }
}

static int collect_batch(struct worker *worker, const char *file)
{
    worker->collect->file = file;
    return mhcs_collect_batch(worker->collect, &worker->rows);
}

/* One item, from pulling it to its statistics. False: the stream has no more, or *error is set. */
static bool read_item(struct mhcs_reading *reading, struct stream *stream, struct worker *worker,
                      int *error)
{
    struct mhcs_trace_item item;
    const char *missing = NULL;
    uint64_t number;
    bool counts;

    pthread_mutex_lock(&stream->lock);
    counts = pull(reading, stream, worker, &item, &number, error);
    pthread_mutex_unlock(&stream->lock);
    if (!counts)
        return false;

    if (!*error && item.event == MHCS_TRACE_BATCH)
        *error = mhcs_trace_unpack(worker->unpacker, &item.packed, &item.batch, &item.damage);
    if (!*error && item.event == MHCS_TRACE_BATCH)
        missing = mhcs_rows_bind(&worker->rows, &item.batch);

    pthread_mutex_lock(&stream->lock);
    while (stream->turn != number)
        pthread_cond_wait(&stream->next_turn, &stream->lock);
    counts = take(stream, &item, error);
    if (counts && missing)
        stream->scan.missing = missing;
    pass_on(reading, stream);
    pthread_mutex_unlock(&stream->lock);

    if (counts && !missing && worker->collect)
        *error = collect_batch(worker, stream->scan.name);
    if (counts)
        mhcs_progress_add(&reading->progress, item.packed.length, item.packed.rows);
    return !*error;
}

/* ---- all files ---- */

/* A file that nobody reads yet, else one that is still being read. NULL: none. */
static struct stream *find_work(struct mhcs_reading *reading)
{
    const size_t next = atomic_fetch_add_explicit(&reading->next, 1, memory_order_relaxed);

    if (next < reading->streams)
        return reading->stream[next];
    for (size_t i = 0; i < reading->streams; i++) {
        struct stream *stream = reading->stream[(next + i) % reading->streams];
        bool ended;

        pthread_mutex_lock(&stream->lock);
        ended = stream->ended;
        pthread_mutex_unlock(&stream->lock);
        if (!ended)
            return stream;
    }
    return NULL;
}

static void work(void *context, size_t i, uint32_t thread)
{
    struct mhcs_reading *reading = context;
    struct worker *worker = &reading->worker[thread];
    struct stream *stream;
    int error = 0;

    while (!error && (stream = find_work(reading)))
        while (!atomic_load_explicit(&reading->error, memory_order_relaxed) &&
               read_item(reading, stream, worker, &error))
            if (thread == 0)
                mhcs_progress_show(&reading->progress);
    if (error)
        atomic_store_explicit(&reading->error, error, memory_order_relaxed);
}

/* What ended may have grown since. A file that had nothing yet is opened anew. */
static void wake(struct stream *stream)
{
    struct mhcs_scan *scan = &stream->scan;
    const bool began = scan->facts + scan->batches > 0 || (scan->damaged && !mhcs_scan_torn(scan));

    if (stream->reader && mhcs_trace_resume(stream->reader)) {
        if (mhcs_scan_torn(scan))
            *scan = stream->good;
    } else if (!began && strcmp(scan->name, MHCS_STDIN_NAME)) {
        mhcs_trace_reader_free(stream->reader);
        stream->reader = NULL;
        *scan = (struct mhcs_scan){.name = scan->name};
    } else {
        return;
    }
    stream->ended = stream->stopped = false;
}

int mhcs_reading_run(struct mhcs_reading *reading)
{
    for (size_t i = 0; i < reading->streams; i++)
        wake(reading->stream[i]);
    atomic_store(&reading->next, 0);
    mhcs_progress_begin(&reading->progress);
    mhcs_parallel(reading->threads, reading->threads, work, reading);
    mhcs_progress_end(&reading->progress);
    return atomic_load(&reading->error);
}

/* ---- life, and results ---- */

static bool make_worker(struct worker *worker, bool collects)
{
    worker->unpacker = mhcs_trace_unpacker_new();
    worker->collect = collects ? mhcs_collect_new() : NULL;
    return worker->unpacker && (worker->collect || !collects);
}

struct mhcs_reading *mhcs_reading_new(unsigned threads, bool salvage, bool collects, bool again)
{
    struct mhcs_reading *reading = calloc(1, sizeof(*reading));
    bool made = reading != NULL;

    if (!reading)
        return NULL;
    reading->salvage = salvage;
    reading->again = again;
    reading->threads = threads;
    reading->worker = calloc(threads, sizeof(*reading->worker));
    made = reading->worker != NULL;
    for (unsigned i = 0; i < threads && made; i++)
        made = make_worker(&reading->worker[i], collects);
    if (made)
        return reading;
    mhcs_reading_free(reading);
    return NULL;
}

int mhcs_reading_extras(struct mhcs_reading *reading, const struct mhcs_extras *extras)
{
    int ret = 0;

    for (unsigned i = 0; i < reading->threads && !ret; i++)
        ret = mhcs_collect_extras(reading->worker[i].collect, extras);
    return ret;
}

static void stream_free(struct stream *stream)
{
    mhcs_trace_reader_free(stream->reader);
    mhcs_facts_free(&stream->facts);
    pthread_mutex_destroy(&stream->lock);
    pthread_cond_destroy(&stream->next_turn);
    free(stream);
}

void mhcs_reading_free(struct mhcs_reading *reading)
{
    if (!reading)
        return;
    for (size_t i = 0; i < reading->streams; i++)
        stream_free(reading->stream[i]);
    for (unsigned i = 0; i < reading->threads && reading->worker; i++) {
        mhcs_trace_unpacker_free(reading->worker[i].unpacker);
        mhcs_collect_free(reading->worker[i].collect);
        free(reading->worker[i].bytes);
        free(reading->worker[i].facts);
    }
    free(reading->worker);
    free(reading->stream);
    free(reading);
}

int mhcs_reading_add(struct mhcs_reading *reading, const char *name)
{
    struct stream **streams = reallocarray(reading->stream, reading->streams + 1, sizeof(*streams));
    struct stream *stream = calloc(1, sizeof(*stream));

    if (streams)
        reading->stream = streams;
    if (!streams || !stream) {
        free(stream);
        return -ENOMEM;
    }
    stream->scan.name = name;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->next_turn, NULL);
    reading->stream[reading->streams++] = stream;
    mhcs_progress_expect(&reading->progress, name);
    return 0;
}

const struct mhcs_scan *mhcs_reading_scan(const struct mhcs_reading *reading, size_t i)
{
    return &reading->stream[i]->scan;
}

const struct mhcs_facts *mhcs_reading_own_facts(const struct mhcs_reading *reading, size_t i)
{
    return &reading->stream[i]->facts;
}

const struct mhcs_origin *mhcs_reading_origin(const struct mhcs_reading *reading, size_t i)
{
    return &reading->stream[i]->origin;
}

int mhcs_reading_collect(const struct mhcs_reading *reading, struct mhcs_collect *collect)
{
    int ret = 0;

    for (unsigned i = 0; i < reading->threads && !ret; i++)
        ret = mhcs_collect_merge(collect, reading->worker[i].collect);
    return ret;
}

int mhcs_reading_facts(const struct mhcs_reading *reading, struct mhcs_facts *facts)
{
    int ret = 0;

    for (size_t i = 0; i < reading->streams && !ret; i++)
        ret = mhcs_facts_merge(facts, &reading->stream[i]->facts);
    return ret;
}
