/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the rows with the least hash. */
#include "tools/report/samples.h"

#include <math.h>
#include <string.h>

/* Rows that share their hash are one row, or one in 2^64. */
static int compare(const struct mhcs_sample_row *a, const struct mhcs_sample_row *b)
{
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return memcmp(a->production, b->production, sizeof(a->production));
}

static void insert(struct mhcs_samples *samples, const struct mhcs_sample_row *row)
{
    uint32_t at = samples->count;

    if (at == MHCS_SAMPLES && compare(row, &samples->row[at - 1]) >= 0)
        return;
    if (at == MHCS_SAMPLES)
        at--;
    else
        samples->count++;
    for (; at > 0 && compare(row, &samples->row[at - 1]) < 0; at--)
        samples->row[at] = samples->row[at - 1];
    samples->row[at] = *row;
}

static uint64_t hash_of(const struct mhcs_record *record)
{
    uint64_t bits[2];

    memcpy(bits, record->result->raw[MHCS_PRODUCTION], sizeof(bits));
    return mhcs_mix64(mhcs_mix64((uint64_t)record->time ^ mhcs_mix64((uint64_t)record->call)) ^
                      mhcs_mix64(bits[0] + mhcs_mix64(bits[1])) ^ (uint64_t)record->row);
}

static bool is_whole(const float *raw)
{
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        if (!isfinite(raw[i]))
            return false;
    return true;
}

void mhcs_samples_add(struct mhcs_samples *samples, const struct mhcs_record *record)
{
    const float *production = record->result->raw[MHCS_PRODUCTION];
    const float *reference =
        record->result->raw[record->checkpoint ? MHCS_CHECKPOINT : MHCS_OPERANDS];
    struct mhcs_sample_row row = {.hash = hash_of(record), .rms = record->result->rms};

    if (samples->count == MHCS_SAMPLES && row.hash > samples->row[MHCS_SAMPLES - 1].hash)
        return;
    if (!is_whole(production) || !is_whole(reference) || !isfinite(row.rms))
        return;
    memcpy(row.production, production, sizeof(row.production));
    memcpy(row.reference, reference, sizeof(row.reference));
    insert(samples, &row);
}

void mhcs_samples_merge(struct mhcs_samples *samples, const struct mhcs_samples *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        insert(samples, &other->row[i]);
}
