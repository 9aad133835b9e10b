/* SPDX-License-Identifier: Apache-2.0 */
#include "traces.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shadow/trace/trace.h"

static bool is_trace(const char *name, int pid)
{
    const size_t n = strlen(name);
    char part[32];

    snprintf(part, sizeof(part), ".%d.", pid);
    return n > 11 && strcmp(name + n - 11, ".arrows.zst") == 0 && (pid == 0 || strstr(name, part));
}

static int find_traces(const char *dir, int pid, char path[PATH_MAX])
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int count = 0;

    while (d && (e = readdir(d))) {
        if (is_trace(e->d_name, pid)) {
            snprintf(path, PATH_MAX, "%s/%s", dir, e->d_name);
            count++;
        }
    }
    if (d) {
        closedir(d);
    }
    return count;
}

int traces_count(const char *dir)
{
    char path[PATH_MAX];

    return find_traces(dir, 0, path);
}

int64_t traces_size(const char *dir)
{
    char path[PATH_MAX];
    struct stat s;

    return find_traces(dir, 0, path) == 1 && stat(path, &s) == 0 ? s.st_size : 0;
}

static const void *value(const struct mhcs_batch *batch, const char *name,
                         enum mhcs_column_type type, uint32_t row, size_t size, bool *ret_valid)
{
    const struct mhcs_column *column = mhcs_batch_column(batch, name, type);

    if (!column) {
        fprintf(stderr, "the trace has no column %s\n", name);
        abort();
    }
    *ret_valid = mhcs_column_valid(column, row);
    return (const char *)column->values + row * size;
}

static void text(const struct mhcs_batch *batch, const char *name, uint32_t row, char *to,
                 size_t size)
{
    const struct mhcs_column *column = mhcs_batch_column(batch, name, MHCS_COL_UTF8);

    to[0] = '\0';
    if (column && mhcs_column_valid(column, row)) {
        const int32_t begin = column->offsets[row], end = column->offsets[row + 1];

        snprintf(to, size, "%.*s", (int)(end - begin), (const char *)column->values + begin);
    }
}

static bool flag(const struct mhcs_batch *batch, const char *name, uint32_t row)
{
    bool valid;

    return *(const uint8_t *)value(batch, name, MHCS_COL_BOOL, row / 8, 1, &valid) >> row % 8 & 1;
}

static void read_row(struct trace_row *to, const struct mhcs_batch *batch, uint32_t row)
{
    bool valid;

#define GET(field, name, type)                                                                     \
    memcpy(&to->field, value(batch, name, type, row, sizeof(to->field), &valid), sizeof(to->field))
    GET(time, "time", MHCS_COL_TIMESTAMP_NS);
    GET(call, "call", MHCS_COL_INT64);
    GET(site, "site", MHCS_COL_INT32);
    GET(tokens, "tokens", MHCS_COL_INT32);
    GET(row, "row", MHCS_COL_INT32);
    GET(nonfinite, "nonfinite", MHCS_COL_INT16);
    GET(device, "device", MHCS_COL_INT16);
    GET(rms, "rms", MHCS_COL_FLOAT32);
    GET(rel, "operands_rel", MHCS_COL_FLOAT32);
    GET(production, "production", MHCS_COL_FLOAT32_LIST24);
    GET(operands, "operands", MHCS_COL_FLOAT32_LIST24);
    GET(check, "check", MHCS_COL_FLOAT32);
    to->checked = valid;
#undef GET
    value(batch, "checkpoint", MHCS_COL_FLOAT32_LIST24, row, 96, &to->checkpoint_known);
    value(batch, "layer", MHCS_COL_INT16, row, 2, &to->layer_known);
    to->graph = flag(batch, "graph", row);
    to->padded = flag(batch, "padded", row);
    text(batch, "site_name", row, to->site_name, sizeof(to->site_name));
    text(batch, "path", row, to->path, sizeof(to->path));
    text(batch, "role", row, to->role, sizeof(to->role));
}

static void append(cJSON *array, cJSON *more)
{
    cJSON *item;

    while ((item = cJSON_DetachItemFromArray(more, 0))) {
        cJSON_AddItemToArray(array, item);
    }
}

static bool read_facts(struct trace *t, const char *facts)
{
    cJSON *json = cJSON_ParseWithOpts(facts, NULL, 1);

    if (!json) {
        fprintf(stderr, "facts that are not JSON: %s\n", facts);
        return false;
    }
    if (!t->process) {
        t->process = json;
        return true;
    }
    if (cJSON_HasObjectItem(json, "counters")) {
        cJSON_Delete(t->counters);
        t->counters = cJSON_DetachItemFromObject(json, "counters");
    } else if (cJSON_HasObjectItem(json, "sites")) {
        append(t->sites, cJSON_GetObjectItem(json, "sites"));
    } else if (cJSON_HasObjectItem(json, "events")) {
        append(t->events, cJSON_GetObjectItem(json, "events"));
    }
    cJSON_Delete(json);
    return true;
}

bool trace_read(struct trace *t, const char *dir, int pid)
{
    struct mhcs_trace_reader *reader;
    struct mhcs_trace_item item;
    char path[PATH_MAX], why[160];
    bool good = true;

    *t = (struct trace){.sites = cJSON_CreateArray(), .events = cJSON_CreateArray()};
    if (find_traces(dir, pid, path) != 1) {
        fprintf(stderr, "%d traces of process %d in %s\n", find_traces(dir, pid, path), pid, dir);
        return false;
    }
    if (mhcs_trace_open(&reader, path, false, why) < 0) {
        fprintf(stderr, "%s: %s\n", path, why);
        return false;
    }
    while (good && mhcs_trace_next(reader, &item) == 0 && item.event != MHCS_TRACE_EOF) {
        switch (item.event) {
        case MHCS_TRACE_BATCH:
            t->rows = realloc(t->rows, (t->count + item.batch.rows) * sizeof(t->rows[0]));
            for (uint32_t i = 0; i < item.batch.rows; i++) {
                read_row(&t->rows[t->count++], &item.batch, i);
            }
            break;
        case MHCS_TRACE_FACTS:
            good = read_facts(t, item.facts);
            break;
        case MHCS_TRACE_CLOSED:
            t->end = (int)item.reason;
            t->dropped = item.dropped_samples;
            break;
        default:
            fprintf(stderr, "%s: %s\n", path, item.damage.what);
            good = false;
        }
    }
    mhcs_trace_reader_free(reader);
    return good;
}

void trace_free(struct trace *t)
{
    free(t->rows);
    cJSON_Delete(t->process);
    cJSON_Delete(t->counters);
    cJSON_Delete(t->sites);
    cJSON_Delete(t->events);
    *t = (struct trace){0};
}

int trace_events(const struct trace *t, const char *event, const char *reason)
{
    const cJSON *item;
    int count = 0;

    cJSON_ArrayForEach(item, t->events)
    {
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(item, "event"));
        const char *why = cJSON_GetStringValue(cJSON_GetObjectItem(item, "reason"));

        count += kind && strcmp(kind, event) == 0 && (!reason || (why && strstr(why, reason)));
    }
    return count;
}

static int64_t number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);

    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : -1;
}

int64_t trace_counter(const struct trace *t, const char *name)
{
    return number(t->counters, name);
}

int64_t trace_reason(const struct trace *t, const char *key)
{
    return number(cJSON_GetObjectItem(t->counters, "reasons"), key);
}
