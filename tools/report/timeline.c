/* SPDX-License-Identifier: Apache-2.0 */
/* Bins that double in length when the rows no longer fit; timeline.h says why that has no order. */
#include "tools/report/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct mhcs_timeline_bin **slot_of(struct mhcs_timeline *timeline, int64_t index)
{
    return &timeline->slot[(uint64_t)index % MHCS_TIMELINE_BINS];
}

void mhcs_timeline_init(struct mhcs_timeline *timeline)
{
    *timeline = (struct mhcs_timeline){.shift = MHCS_TIMELINE_SHIFT_MIN, .first = 0, .last = -1};
}

void mhcs_timeline_clear(struct mhcs_timeline *timeline)
{
    for (int i = 0; i < MHCS_TIMELINE_BINS; i++)
        free(timeline->slot[i]);
    mhcs_timeline_init(timeline);
}

void mhcs_moment_merge(struct mhcs_moment *moment, const struct mhcs_moment *other)
{
    moment->rows += other->rows;
    moment->nonfinite += other->nonfinite;
    if (other->max > moment->max)
        moment->max = other->max;
    mhcs_exact_merge(&moment->rel_squares, &other->rel_squares);
    mhcs_moments_merge(&moment->excess, &other->excess);
}

static void merge_bin(struct mhcs_timeline_bin *bin, const struct mhcs_timeline_bin *other)
{
    for (int p = 0; p < MHCS_PHASES; p++)
        for (int r = 0; r < MHCS_PATHS; r++)
            mhcs_moment_merge(&bin->moment[p][r], &other->moment[p][r]);
}

/* Each two neighbours become one. Right shifts of negative times round down, as they must. */
static void coarsen(struct mhcs_timeline *timeline)
{
    struct mhcs_timeline_bin *old[MHCS_TIMELINE_BINS];

    memcpy(old, timeline->slot, sizeof(old));
    memset(timeline->slot, 0, sizeof(timeline->slot));
    for (int64_t i = timeline->first; i <= timeline->last; i++) {
        struct mhcs_timeline_bin *bin = old[(uint64_t)i % MHCS_TIMELINE_BINS];
        struct mhcs_timeline_bin **slot = slot_of(timeline, i >> 1);

        if (bin && *slot) {
            merge_bin(*slot, bin);
            free(bin);
        } else if (bin) {
            *slot = bin;
        }
    }
    timeline->shift++;
    timeline->first >>= 1;
    timeline->last >>= 1;
}

/* Makes room for a time; *ret_index is its bin then. */
static void stretch(struct mhcs_timeline *timeline, int64_t unix_ns, int64_t *ret_index)
{
    const bool empty = timeline->first > timeline->last;
    int64_t index = unix_ns >> timeline->shift;

    if (empty)
        timeline->first = timeline->last = index;
    while (llabs(index - timeline->first) >= MHCS_TIMELINE_BINS ||
           llabs(index - timeline->last) >= MHCS_TIMELINE_BINS) {
        coarsen(timeline);
        index = unix_ns >> timeline->shift;
    }
    if (index < timeline->first)
        timeline->first = index;
    if (index > timeline->last)
        timeline->last = index;
    *ret_index = index;
}

int mhcs_timeline_find(struct mhcs_timeline *timeline, int64_t unix_ns,
                       struct mhcs_timeline_bin **ret_bin)
{
    struct mhcs_timeline_bin **slot;
    int64_t index;

    stretch(timeline, unix_ns, &index);
    slot = slot_of(timeline, index);
    if (!*slot)
        *slot = calloc(1, sizeof(**slot));
    *ret_bin = *slot;
    return *slot ? 0 : -ENOMEM;
}

int mhcs_timeline_merge(struct mhcs_timeline *timeline, const struct mhcs_timeline *other)
{
    while (timeline->shift < other->shift)
        coarsen(timeline);
    for (int64_t i = other->first; i <= other->last; i++) {
        const struct mhcs_timeline_bin *from = mhcs_timeline_bin(other, i);
        struct mhcs_timeline_bin *to;
        int ret;

        if (!from)
            continue;
        ret = mhcs_timeline_find(timeline, mhcs_timeline_start(other, i), &to);
        if (ret)
            return ret;
        merge_bin(to, from);
    }
    return 0;
}

const struct mhcs_timeline_bin *mhcs_timeline_bin(const struct mhcs_timeline *timeline,
                                                  int64_t index)
{
    return timeline->slot[(uint64_t)index % MHCS_TIMELINE_BINS];
}

int64_t mhcs_timeline_start(const struct mhcs_timeline *timeline, int64_t index)
{
    return index * (INT64_C(1) << timeline->shift);
}

void mhcs_moment_add(struct mhcs_moment *moment, const struct mhcs_look *look)
{
    moment->rows += look->rows;
    moment->nonfinite += look->nonfinite;
    if (look->max > moment->max)
        moment->max = look->max;
    mhcs_exact_add_all(&moment->rel_squares, &look->squares);
    mhcs_moments_add_all(&moment->excess, &look->excess, &look->excess_squares);
}

double mhcs_moment_rms(const struct mhcs_moment *moment)
{
    if (moment->rows == 0)
        return NAN;
    return sqrt(mhcs_exact_value(&moment->rel_squares) / (double)moment->rows);
}
