/* SPDX-License-Identifier: Apache-2.0 */
/* Trace and log, as the drain thread keeps them. */
#include "shadow/book.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shadow/budget.h"
#include "shadow/clock.h"
#include "shadow/facts.h"
#include "shadow/log.h"
#include "shadow/padding.h"
#include "shadow/path.h"
#include "shadow/process.h"

#define MB (UINT64_C(1) << 20)

/* Sites and events are written early when they grow to this; a frame of facts has a limit. */
#define FACTS_BYTES 65536

static const char *remedy(int error)
{
    switch (-error) {
    case ENOSPC:
    case EDQUOT:
        return "free some space, or set MHCSHADOW_DIR to another disk";
    case EFBIG:
        return "raise MHCSHADOW_MAX_MB, or the process's file size limit";
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
        return "set MHCSHADOW_DIR to a directory that this process can write to";
    default:
        return "the trace is valid up to here";
    }
}

/* Samples of calls and of launches. */
static uint64_t count_dropped(void)
{
    return mhcs_counter_value(MHCS_DROPPED) + mhcs_counter_value(MHCS_REPLAY_DROPPED);
}

/* Says so, and makes an end of tracing and sampling. */
static void give_up(struct mhcs_book *book, const char *where, int error)
{
    mhcs_log(error == -EFBIG ? MHCS_LOG_WARN : MHCS_LOG_ERROR,
             "can't write a trace to '%s': %s (%s); tracing stops", where, strerrordesc_np(-error),
             remedy(error));
    if (book->writer) {
        mhcs_trace_close(book->writer, MHCS_END_IO_ERROR, count_dropped());
        book->writer = NULL;
    }
    book->broken = true;
    mhcs_process_turn_off(MHCS_REASON_NO_TRACE);
}

static void check(struct mhcs_book *book, int error)
{
    if (error < 0 && !book->broken) {
        give_up(book, mhcs_trace_path(book->writer), error);
    }
}

bool mhcs_book_trace(struct mhcs_book *book)
{
    const struct mhcs_settings *settings = mhcs_process_settings();
    const struct mhcs_driver *driver;
    struct mhcs_json json = {0};
    int error;

    if (book->writer || book->broken) {
        return !book->broken;
    }
    mhcs_driver(&driver);
    mhcs_facts_process(&json, driver, mhcs_process_device(), book->model);
    error = mhcs_trace_create(&book->writer,
                              &(struct mhcs_trace_options){.dir = settings->dir,
                                                           .max_bytes = settings->max_mb * MB,
                                                           .sync = settings->sync,
                                                           .facts = mhcs_json_finish(&json)});
    mhcs_json_free(&json);
    if (error < 0) {
        book->writer = NULL;
        give_up(book, settings->dir, error);
        return false;
    }
    mhcs_log(MHCS_LOG_INFO, "trace: %s", mhcs_trace_path(book->writer));
    return true;
}

/* ---- facts ---- */

struct mhcs_json *mhcs_book_begin_item(struct mhcs_json *json, const char *kind)
{
    if (!json->text) {
        mhcs_json_begin_object(json, NULL);
        mhcs_json_begin_array(json, kind);
    }
    mhcs_json_begin_object(json, NULL);
    return json;
}

struct mhcs_json *mhcs_book_begin_event(struct mhcs_book *book, const char *event)
{
    struct mhcs_json *json = mhcs_book_begin_item(&book->new_events, "events");
    char time[MHCS_TIME_BYTES];

    mhcs_json_string(json, "time", mhcs_facts_time(mhcs_clock(CLOCK_REALTIME), time));
    mhcs_json_string(json, "event", event);
    return json;
}

static void write_items(struct mhcs_book *book, struct mhcs_json *json)
{
    const char *text;

    if (json->text && book->writer) {
        mhcs_json_end_array(json);
        mhcs_json_end_object(json);
        text = mhcs_json_finish(json);
        check(book, text ? mhcs_trace_facts(book->writer, text) : -ENOMEM);
    }
    if (book->writer || book->broken) {
        mhcs_json_free(json);
    }
}

void mhcs_book_fallback(struct mhcs_book *book, const struct mhcs_engine *engine,
                        enum mhcs_mode mode, const char *why)
{
    struct mhcs_json *json = mhcs_book_begin_event(book, "fallback");

    mhcs_json_int(json, "device", engine->device);
    mhcs_json_string(json, "mode", mhcs_mode_name(mode));
    mhcs_json_string(json, "reason", why);
    mhcs_json_end_object(json);
}

void mhcs_book_armed(struct mhcs_book *book, const struct mhcs_engine *engine)
{
    struct mhcs_json *json = mhcs_book_begin_event(book, "armed");

    mhcs_json_int(json, "context", (int64_t)atomic_load(&engine->key));
    mhcs_json_int(json, "device", engine->device);
    mhcs_facts_gpu(json, engine->driver, engine->device);
    mhcs_json_string(json, "mode", engine->scratch ? "cublas" : mhcs_mode_name(engine->mode));
    mhcs_json_int(json, "slots", MHCS_CHUNKS / mhcs_engine_chunks(engine, engine->largest));
    mhcs_json_int(json, "slot_bytes", (int64_t)engine->largest);
    mhcs_json_int(json, "arena_bytes", (int64_t)(MHCS_CHUNKS * engine->chunk_bytes));
    mhcs_json_end_object(json);
    for (uint32_t i = 0; i < engine->fallback_count; i++) {
        mhcs_book_fallback(book, engine, engine->fallbacks[i].mode, engine->fallbacks[i].why);
    }
}

void mhcs_book_disarmed(struct mhcs_book *book, const struct mhcs_engine *engine)
{
    struct mhcs_json *json = mhcs_book_begin_event(book, "disarmed");
    char why[160];

    snprintf(why, sizeof(why), "%s failed with %s (%d)", engine->disarm_what,
             mhcs_driver_error(engine->driver, engine->disarm_result), (int)engine->disarm_result);
    mhcs_json_int(json, "device", engine->device);
    mhcs_json_string(json, "reason", why);
    mhcs_json_end_object(json);
}

static void note_reasons(struct mhcs_book *book)
{
    for (int i = 0; i < MHCS_REASONS_COUNT; i++) {
        const struct mhcs_reason_info *info = &mhcs_reason_info[i];

        if (!book->reason_told[i] && mhcs_reason_value((enum mhcs_reason)i) > 0) {
            struct mhcs_json *json = mhcs_book_begin_event(book, "notice");

            mhcs_json_string(json, "reason", info->key);
            mhcs_json_string(json, "text", info->text);
            mhcs_json_end_object(json);
            mhcs_log(info->level, "%s", info->text);
            book->reason_told[i] = true;
        }
    }
}

static void note_bypasses(struct mhcs_book *book)
{
    mhcs_bypass_look *look = mhcs_process_bypass_look();

    if (look) {
        look(&book->bypasses);
    }
    for (; book->bypasses_told < book->bypasses.count; book->bypasses_told++) {
        const struct mhcs_bypass *bypass = &book->bypasses.list[book->bypasses_told];
        struct mhcs_json *json = mhcs_book_begin_event(book, "notice");
        char text[512];

        snprintf(text, sizeof(text), "%s %s: its GEMMs are neither seen nor counted",
                 bypass->object,
                 bypass->is_static
                     ? "has cuBLAS linked in statically, where no preloaded library reaches"
                     : "calls cuBLAS past the preloaded library (opened with RTLD_DEEPBIND?)");
        mhcs_json_string(json, "reason", "bypassed");
        mhcs_json_string(json, "text", text);
        mhcs_json_end_object(json);
        mhcs_log(MHCS_LOG_WARN, "%s", text);
    }
}

static void write_counters(struct mhcs_book *book)
{
    uint64_t now[MHCS_COUNTERS];
    struct mhcs_json json = {0};
    const char *text;

    for (int i = 0; i < MHCS_COUNTERS; i++) {
        now[i] = mhcs_counter_value((enum mhcs_counter)i);
    }
    if (memcmp(now, book->told, sizeof(now)) == 0) {
        return;
    }
    mhcs_json_begin_object(&json, NULL);
    mhcs_json_begin_object(&json, "counters");
    for (int i = 0; i < MHCS_COUNTERS; i++) {
        mhcs_json_int(&json, mhcs_counter_key[i], (int64_t)now[i]);
    }
    mhcs_json_begin_object(&json, "reasons");
    for (int i = 0; i < MHCS_REASONS_COUNT; i++) {
        const uint64_t value = mhcs_reason_value((enum mhcs_reason)i);

        if (value > 0) {
            mhcs_json_int(&json, mhcs_reason_info[i].key, (int64_t)value);
        }
    }
    mhcs_json_end_object(&json);
    mhcs_json_int(&json, "hook_ns", atomic_load(&mhcs_hook_budget.spent));
    mhcs_json_int(&json, "checked", (int64_t)book->checked);
    mhcs_json_int(&json, "checked_cublas", (int64_t)book->checked_cublas);
    mhcs_json_end_object(&json);
    mhcs_json_end_object(&json);
    text = mhcs_json_finish(&json);
    check(book, text ? mhcs_trace_facts(book->writer, text) : -ENOMEM);
    mhcs_json_free(&json);
    memcpy(book->told, now, sizeof(now));
}

/* ---- records ---- */

void mhcs_book_sample(struct mhcs_book *book, const struct mhcs_engine *engine,
                      const struct mhcs_slot *slot, const float *checks)
{
    const struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_gemm *gemm = &call->gemm;
    const struct mhcs_site *site = call->site;
    char path[MHCS_PATH_BYTES];

    mhcs_path_format(gemm, path);
    book->checked += checks ? 1 : 0;
    book->checked_cublas += checks && call->by_cublas ? 1 : 0;
    for (uint32_t r = 0; r < call->rows && !book->broken; r++) {
        const struct mhcs_record record = {
            .time = call->time,
            .call = call->number,
            .site = site->id,
            .site_name = site->name,
            .layer = site->layer,
            .role = site->role,
            .device = (int16_t)engine->device,
            .tokens = (int32_t)gemm->tokens,
            .row = (int32_t)mhcs_row_index(call->seed, r, call->rows, gemm->tokens),
            .graph = call->graph,
            .padded = mhcs_is_padding(slot->results, r),
            .path = path,
            .checkpoint = call->checkpoint,
            .check = checks ? checks[r] : NAN,
            .result = &slot->results[r],
        };

        check(book, mhcs_trace_append(book->writer, &record));
    }
    if (book->new_sites.length > FACTS_BYTES) {
        write_items(book, &book->new_sites);
    }
}

static uint64_t count_unchecked(void)
{
    return mhcs_counter_value(MHCS_CAPTURED) + mhcs_counter_value(MHCS_UNFOLLOWED) +
           mhcs_counter_value(MHCS_FAILED) + mhcs_counter_value(MHCS_REPLAY_FAILED);
}

void mhcs_book_flush(struct mhcs_book *book)
{
    const uint64_t dropped = count_dropped();

    note_reasons(book);
    mhcs_book_note_findings(book);
    if (!book->writer && dropped + count_unchecked() > 0) {
        mhcs_book_trace(book);
    }
    if (book->writer) {
        note_bypasses(book);
        check(book, mhcs_trace_flush(book->writer, dropped));
    }
    write_items(book, &book->new_sites);
    write_items(book, &book->new_events);
    if (book->writer) {
        write_counters(book);
    }
}

void mhcs_book_close(struct mhcs_book *book)
{
    book->bypasses.loads = 0; /* calls may have been bound since they were looked at */
    mhcs_book_flush(book);
    if (book->writer) {
        const char *path = mhcs_trace_path(book->writer);
        int error;

        mhcs_log(MHCS_LOG_DEBUG, "closing %s", path);
        error = mhcs_trace_close(book->writer, MHCS_END_EXIT, count_dropped());
        if (error < 0) {
            mhcs_log(MHCS_LOG_ERROR, "can't end the trace: %s (%s)", strerrordesc_np(-error),
                     remedy(error));
        }
    }
    mhcs_book_free_sites(book);
    mhcs_json_free(&book->new_sites);
    mhcs_json_free(&book->new_events);
    *book = (struct mhcs_book){0};
}

void mhcs_book_forget(struct mhcs_book *book)
{
    mhcs_trace_orphan(book->writer);
    *book = (struct mhcs_book){0};
}
