/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the pattern that wrong rows follow: the one that would be least likely by chance and holds
 * for all of them. */
#include "tools/report/where.h"

#include <inttypes.h>
#include <math.h>

static const int32_t tails[MHCS_WHERE_TAILS] = {16, 32, 64, 128}; /* powers of two */

static uint32_t row_of(const struct mhcs_place *place)
{
    return place->row > 0 ? (uint32_t)place->row : 0;
}

static bool in_tail(uint32_t row, int32_t tokens, int i)
{
    return tokens > 0 && row >= (uint32_t)(tokens & -tails[i]);
}

static void add_off(struct mhcs_where *where, const struct mhcs_place *place, int32_t tokens)
{
    const uint32_t row = row_of(place);

    where->off[row % MHCS_WHERE_PERIOD]++;
    for (int i = 0; i < MHCS_WHERE_TAILS; i++)
        where->tail_off[i] += in_tail(row, tokens, i);
    where->wrong[place->wrong]++;
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        where->coefficient[i] += place->off >> i & 1;
    if (row > where->last)
        where->last = row;
    if (INT32_MAX - row > where->first_down)
        where->first_down = INT32_MAX - row;
}

void mhcs_where_add(struct mhcs_where *where, const struct mhcs_places *places)
{
    uint64_t tail_rows[MHCS_WHERE_TAILS] = {0};

    for (uint32_t p = 0; p < places->count; p++) {
        const uint32_t row = row_of(&places->place[p]), tile = row / MHCS_WHERE_TILE;

        where->tile[tile < MHCS_WHERE_TILES ? tile : MHCS_WHERE_TILES - 1]++;
        where->rows[row % MHCS_WHERE_PERIOD]++;
        for (int i = 0; i < MHCS_WHERE_TAILS; i++)
            tail_rows[i] += in_tail(row, places->tokens, i);
    }
    for (int i = 0; i < MHCS_WHERE_TAILS; i++)
        where->tail_rows[i] += tail_rows[i];
    for (uint32_t p = 0; p < places->count && places->off > 0; p++)
        if (places->place[p].off != 0)
            add_off(where, &places->place[p], places->tokens);
}

void mhcs_where_merge(struct mhcs_where *where, const struct mhcs_where *other)
{
    for (int i = 0; i < MHCS_WHERE_PERIOD; i++) {
        where->rows[i] += other->rows[i];
        where->off[i] += other->off[i];
    }
    for (int i = 0; i < MHCS_WHERE_TAILS; i++) {
        where->tail_rows[i] += other->tail_rows[i];
        where->tail_off[i] += other->tail_off[i];
    }
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        where->coefficient[i] += other->coefficient[i];
    for (int i = 0; i < MHCS_WRONG_COUNT; i++)
        where->wrong[i] += other->wrong[i];
    for (int i = 0; i < MHCS_WHERE_TILES; i++)
        where->tile[i] += other->tile[i];
    if (other->last > where->last)
        where->last = other->last;
    if (other->first_down > where->first_down)
        where->first_down = other->first_down;
}

/* The rows whose number is `residue` modulo `period`, which divides MHCS_WHERE_PERIOD. */
static struct mhcs_share periodic(const struct mhcs_where *where, int period, int residue)
{
    struct mhcs_share share = {0, 0};

    for (int i = residue; i < MHCS_WHERE_PERIOD; i += period) {
        share.rows += (double)where->rows[i];
        share.off += (double)where->off[i];
    }
    return share;
}

uint64_t mhcs_where_off(const struct mhcs_where *where)
{
    return (uint64_t)periodic(where, 1, 0).off;
}

enum mhcs_wrong mhcs_where_wrong(const struct mhcs_where *where)
{
    int most = 0;

    for (int i = 1; i < MHCS_WRONG_COUNT; i++)
        if (where->wrong[i] > where->wrong[most])
            most = i;
    return (enum mhcs_wrong)most;
}

const char *mhcs_wrong_name(enum mhcs_wrong wrong)
{
    static const char *const names[] = {
#define WRONG_NAME(name, what) [MHCS_WRONG_##name] = what,
        MHCS_WRONGS(WRONG_NAME)
#undef WRONG_NAME
    };

    return names[wrong];
}

static struct mhcs_share stretch(const struct mhcs_where *where, uint32_t first, uint32_t last)
{
    struct mhcs_share share = periodic(where, 1, 0);

    share.rows = 0;
    for (uint32_t i = first / MHCS_WHERE_TILE; i < MHCS_WHERE_TILES && i <= last / MHCS_WHERE_TILE;
         i++)
        share.rows += (double)where->tile[i];
    return share;
}

struct mhcs_share mhcs_where_share(const struct mhcs_where *where,
                                   const struct mhcs_pattern *pattern)
{
    switch (pattern->kind) {
    case MHCS_TAIL:
        return (struct mhcs_share){(double)where->tail_rows[pattern->tail],
                                   (double)where->tail_off[pattern->tail]};
    case MHCS_PERIOD:
        return periodic(where, pattern->period, pattern->residue);
    case MHCS_STRETCH:
        return stretch(where, pattern->first, pattern->last);
    default:
        return periodic(where, 1, 0);
    }
}

/* Share of all rows that lie in it, if all wrong ones do and that is no accident: one of them may
 * lie anywhere, each further one would by chance be in the pattern as often as any row is. Else 1.
 */
static double narrowness(const struct mhcs_where *where, const struct mhcs_pattern *pattern)
{
    const struct mhcs_share all = periodic(where, 1, 0), in = mhcs_where_share(where, pattern);
    const double common = in.rows / all.rows;

    return in.off == all.off && pow(common, all.off - 1) < MHCS_WHERE_CHANCE ? common : 1;
}

static void consider(const struct mhcs_where *where, const struct mhcs_pattern *pattern,
                     struct mhcs_pattern *best, double *least)
{
    const double common = narrowness(where, pattern);

    if (common >= *least)
        return;
    *least = common;
    *best = *pattern;
}

struct mhcs_pattern mhcs_where_pattern(const struct mhcs_where *where)
{
    const struct mhcs_pattern rows = {
        .kind = MHCS_STRETCH, .first = INT32_MAX - where->first_down, .last = where->last};
    struct mhcs_pattern best = {.kind = MHCS_ANYWHERE};
    double least = 1;

    if (mhcs_where_off(where) < 2)
        return best;
    for (int i = 0; i < MHCS_WHERE_TAILS; i++)
        consider(where, &(struct mhcs_pattern){.kind = MHCS_TAIL, .tail = i}, &best, &least);
    for (int period = 2; period <= MHCS_WHERE_PERIOD; period *= 2)
        for (int residue = 0; residue < period; residue++)
            consider(
                where,
                &(struct mhcs_pattern){.kind = MHCS_PERIOD, .period = period, .residue = residue},
                &best, &least);
    if (rows.last < MHCS_WHERE_TILE * (MHCS_WHERE_TILES - 1))
        consider(where, &rows, &best, &least);
    return best;
}

void mhcs_pattern_say(FILE *out, const struct mhcs_pattern *pattern)
{
    switch (pattern->kind) {
    case MHCS_TAIL:
        fprintf(out, "the token rows behind a call's last whole tile of %d", tails[pattern->tail]);
        return;
    case MHCS_STRETCH:
        fprintf(out, "token rows %" PRIu32 " to %" PRIu32, pattern->first, pattern->last);
        return;
    case MHCS_PERIOD:
        if (pattern->period == 2)
            fprintf(out, "%s token rows", pattern->residue ? "odd" : "even");
        else
            fprintf(out, "token rows %d, %d, ... (every %d%s)", pattern->residue,
                    pattern->residue + pattern->period, pattern->period,
                    pattern->period == 32 ? "nd" : "th");
        return;
    default:
        fputs("token rows", out);
    }
}

static void say_coefficient(FILE *out, int i)
{
    if (i < 4)
        fprintf(out, "%d (pre[%d])", i, i);
    else if (i < 8)
        fprintf(out, "%d (post[%d])", i, i - 4);
    else
        fprintf(out, "%d (comb[%d][%d])", i, (i - 8) / 4, (i - 8) % 4);
}

#define FEW_COEFFICIENTS 3

/* Those that are off in an eighth of the rows in which the worst one is. */
static int list_coefficients(const struct mhcs_where *where, int list[MHCS_COEFFICIENTS])
{
    uint64_t most = 0;
    int count = 0;

    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        if (where->coefficient[i] > most)
            most = where->coefficient[i];
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        if (most > 0 && where->coefficient[i] >= most / 8 + 1)
            list[count++] = i;
    return count;
}

bool mhcs_where_any_coefficient(const struct mhcs_where *where)
{
    int list[MHCS_COEFFICIENTS];
    const int count = list_coefficients(where, list);

    return count == 0 || count == MHCS_COEFFICIENTS;
}

void mhcs_where_say_coefficients(FILE *out, const struct mhcs_where *where)
{
    int list[MHCS_COEFFICIENTS];
    const int count = list_coefficients(where, list);

    if (mhcs_where_any_coefficient(where))
        return;
    fputs(count == 1 ? "coefficient " : "coefficients ", out);
    if (count > FEW_COEFFICIENTS)
        fprintf(out, "%d to %d", list[0], list[count - 1]);
    for (int i = 0; i < count && count <= FEW_COEFFICIENTS; i++) {
        fputs(i == 0 ? "" : i == count - 1 ? " and " : ", ", out);
        say_coefficient(out, list[i]);
    }
}
