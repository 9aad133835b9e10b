/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of rows, and the order of rows. */
#include "tools/report/worst.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mhcs_worst_init(struct mhcs_worst *worst, size_t room, size_t metric, enum mhcs_path reference)
{
    *worst = (struct mhcs_worst){.room = room, .metric = metric, .reference = reference};
    worst->row = calloc(room + 1, sizeof(*worst->row));
    return worst->row ? 0 : -ENOMEM;
}

void mhcs_worst_free(struct mhcs_worst *worst)
{
    free(worst->row);
    *worst = (struct mhcs_worst){0};
}

/* ---- order ---- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Negative: a is the worse one. Where all of these are equal the rows are, but for a writer that
 * repeats itself: then their coefficients decide. */
static int compare_rows(const void *left, const void *right)
{
    const struct mhcs_worst_row *a = left, *b = right;
    const struct mhcs_record *r = &a->record, *s = &b->record;
    int order = (a->value < b->value) - (a->value > b->value);

    order = order ? order : compare_numbers(r->time, s->time);
    order = order ? order : strcmp(a->file, b->file);
    order = order ? order : compare_numbers(r->call, s->call);
    order = order ? order : compare_numbers(r->row, s->row);
    order = order ? order : compare_numbers(r->site, s->site);
    order = order ? order : compare_numbers(r->device, s->device);
    order = order ? order : compare_numbers(a->reference, b->reference);
    return order ? order : memcmp(a->result.raw, b->result.raw, sizeof(a->result.raw));
}

/* ---- heap ---- */

static void swap(struct mhcs_worst_row *a, struct mhcs_worst_row *b)
{
    const struct mhcs_worst_row t = *a;

    *a = *b;
    *b = t;
}

static void sift_up(struct mhcs_worst_row *row, size_t at)
{
    for (size_t parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (compare_rows(&row[at], &row[parent]) <= 0)
            return;
        swap(&row[at], &row[parent]);
    }
}

static void sift_down(struct mhcs_worst_row *row, size_t count)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare_rows(&row[child + 1], &row[child]) > 0)
            child++;
        if (compare_rows(&row[at], &row[child]) >= 0)
            return;
        swap(&row[at], &row[child]);
    }
}

static void add_row(struct mhcs_worst *worst, const struct mhcs_worst_row *row)
{
    if (worst->count < worst->room) {
        worst->row[worst->count++] = *row;
        sift_up(worst->row, worst->count - 1);
    } else if (compare_rows(row, &worst->row[0]) < 0) {
        worst->row[0] = *row;
        sift_down(worst->row, worst->count);
    }
}

/* ---- rows ---- */

/* NaN: the row has no such figure. */
static float value_of(const struct mhcs_record *record, size_t metric, enum mhcs_path reference)
{
    float values[sizeof(struct mhcs_row_metrics) / sizeof(float)];

    if (record->result->nonfinite == MHCS_NONFINITE_PRODUCTION)
        return INFINITY;
    memcpy(values, &record->result->against[reference], sizeof(values));
    return fabsf(values[metric]);
}

static enum mhcs_path reference_of(const struct mhcs_worst *worst, const struct mhcs_record *record)
{
    if (worst->reference != MHCS_PRODUCTION)
        return worst->reference;
    return record->checkpoint ? MHCS_CHECKPOINT : MHCS_OPERANDS;
}

void mhcs_worst_add(struct mhcs_worst *worst, const struct mhcs_record *record, const char *file)
{
    const enum mhcs_path reference = reference_of(worst, record);
    struct mhcs_worst_row row;
    float value;

    if (worst->room == 0 || (reference == MHCS_CHECKPOINT && !record->checkpoint))
        return;
    value = value_of(record, worst->metric, reference);
    if (isnan(value) || (worst->count == worst->room && value < worst->row[0].value))
        return;
    row = (struct mhcs_worst_row){
        .value = value,
        .reference = reference,
        .file = file,
        .record = *record,
        .phase = mhcs_phase_of(record),
        .result = *record->result,
    };
    snprintf(row.site_name, sizeof(row.site_name), "%s", record->site_name);
    snprintf(row.path, sizeof(row.path), "%s", record->path);
    add_row(worst, &row);
}

void mhcs_worst_merge(struct mhcs_worst *worst, const struct mhcs_worst *other)
{
    for (size_t i = 0; i < other->count; i++)
        add_row(worst, &other->row[i]);
}

void mhcs_worst_sort(struct mhcs_worst *worst)
{
    if (worst->count > 0)
        qsort(worst->row, worst->count, sizeof(*worst->row), compare_rows);
}
