/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of errors, traits and wrong coefficients of a run. */
#include "tools/report/look.h"

#include <math.h>
#include <string.h>

_Static_assert(MHCS_RUN_ROWS <= MHCS_PLACES && MHCS_RUN_ROWS <= MHCS_ADDENDS_MAX, "a run fits");

/* Two rows of coefficients. */
struct pair {
    const float *production, *reference;
    uint32_t count;
    double rms; /* of the reference */
};

/* ---- wrong rows ---- */

static uint32_t find_nonfinite(const struct pair *pair)
{
    uint32_t off = 0;

    for (uint32_t i = 0; i < pair->count; i++)
        if (!isfinite(pair->production[i]))
            off |= 1u << i;
    return off;
}

/* Production as factor * reference + rest. */
static void fit(const struct pair *pair, double *ret_factor, double *ret_rest)
{
    double dot = 0, square = 0, rest = 0;

    for (uint32_t i = 0; i < pair->count; i++) {
        dot += (double)pair->production[i] * pair->reference[i];
        square += (double)pair->reference[i] * pair->reference[i];
    }
    *ret_factor = dot / square;
    for (uint32_t i = 0; i < pair->count; i++) {
        const double left = pair->production[i] - *ret_factor * pair->reference[i];
        rest += left * left;
    }
    *ret_rest = sqrt(rest / pair->count);
}

static bool is_zero(const struct pair *pair)
{
    for (uint32_t i = 0; i < pair->count; i++)
        if (pair->production[i] != 0)
            return false;
    return true;
}

static bool holds_value(const struct pair *pair, float value, double limit)
{
    for (uint32_t i = 0; i < pair->count; i++)
        if (fabs((double)value - pair->reference[i]) <= limit)
            return true;
    return false;
}

/* Each wrong value is the right one of another coefficient. */
static bool is_moved(const struct pair *pair, uint32_t off, double limit)
{
    for (uint32_t i = 0; i < pair->count; i++)
        if (off >> i & 1 && !holds_value(pair, pair->production[i], limit))
            return false;
    return true;
}

#define SAME 0.02 /* apart by less than this, of the row's rms: as good as equal */
#define FEW  4    /* of so many by chance all may resemble others */

static enum mhcs_wrong kind_of(const struct pair *pair, uint32_t off, double limit)
{
    const int count = __builtin_popcount(off);
    double factor, rest;

    if (is_zero(pair))
        return MHCS_WRONG_ZERO;
    if (count <= FEW)
        return MHCS_WRONG_FEW;
    fit(pair, &factor, &rest);
    if (rest <= limit)
        return MHCS_WRONG_SCALED;
    if (is_moved(pair, off, limit))
        return MHCS_WRONG_MOVED;
    if (fabs(factor - 1) < 0.5)
        return MHCS_WRONG_ADDED;
    return fabs(factor) < 0.5 ? MHCS_WRONG_UNRELATED : MHCS_WRONG_OTHER;
}

/* ---- a run ---- */

/* Of one of the columns' rows. */
static struct pair pair_at(const struct mhcs_view *view, uint32_t row)
{
    const size_t at = (size_t)row * MHCS_COEFFICIENTS;

    return (struct pair){.production = view->columns->raw[MHCS_PRODUCTION] + at,
                         .reference = view->columns->raw[view->reference] + at,
                         .count = view->coefficients,
                         .rms = view->rms[row - view->begin]};
}

static bool can_be_off(const struct mhcs_view *view)
{
    return !isnan(view->expected) && view->coefficients == MHCS_COEFFICIENTS;
}

static struct mhcs_place place_of(const struct mhcs_view *view, uint32_t row, bool defined,
                                  bool nonfinite)
{
    const uint64_t counts = view->counts[row - view->begin];
    struct mhcs_place place = {.row = view->columns->row[row], .wrong = MHCS_WRONG_NONFINITE};
    const bool judged = defined && can_be_off(view);
    struct pair pair;

    if (judged ? mhcs_count_of(counts, MHCS_COUNT_OFF) == 0 : !nonfinite)
        return place;
    pair = pair_at(view, row);
    place.off = judged ? mhcs_view_off(view, row) : find_nonfinite(&pair);
    if (judged)
        place.wrong = kind_of(&pair, place.off, SAME * pair.rms);
    return place;
}

static void note_traits(struct mhcs_traits *traits, const struct mhcs_view *view, uint32_t rows,
                        uint64_t counts, uint64_t low_bits)
{
    const struct mhcs_precision *precision = view->precision;

    traits->elements = (uint64_t)rows * view->coefficients;
    traits->over_bf16 = mhcs_count_of(counts, MHCS_COUNT_OVER_BF16);
    traits->over_f16 = mhcs_count_of(counts, MHCS_COUNT_OVER_F16);
    traits->errors = mhcs_count_of(counts, MHCS_COUNT_ERRORS);
    traits->inward = mhcs_count_of(counts, MHCS_COUNT_INWARD);
    if (!precision)
        return;
    if (precision->fn != MHCS_F32 && view->reference == MHCS_OPERANDS)
        traits->narrow = traits->elements;
    if (precision->out == MHCS_F16)
        traits->out_f16 = traits->elements;
    if (precision->out != MHCS_F32)
        return;
    traits->out_f32 = traits->elements;
    traits->coarse = mhcs_count_of(low_bits, MHCS_LOW_BITS_COARSE);
    traits->on_f16 = mhcs_count_of(low_bits, MHCS_LOW_BITS_ON_F16);
    traits->on_bf16 = mhcs_count_of(low_bits, MHCS_LOW_BITS_ON_BF16);
}

void mhcs_look_sizes(struct mhcs_look *look, const double *rel, double expected, const bool *wrong)
{
    const uint32_t rows = look->rows, judged = isnan(expected) ? 0 : rows;
    const bool whole = look->traits.elements == (uint64_t)rows * MHCS_COEFFICIENTS;
    uint32_t rest = 0;

    look->max = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const double ratio = rel[i] / expected;

        look->square[i] = rel[i] * rel[i];
        look->fourth[i] = rel[i] * rel[i] * rel[i] * rel[i];
        look->q[i] = ratio * ratio;
        look->q_square[i] = look->q[i] * look->q[i];
        look->max = (float)rel[i] > look->max ? (float)rel[i] : look->max;
    }
    look->wrong = 0;
    for (uint32_t i = 0; i < judged; i++) {
        look->wrong += wrong[i];
        look->q_rest[rest] = look->q[i];
        rest += !wrong[i] && whole;
    }
    mhcs_addends_init(&look->squares, look->square, rows);
    mhcs_addends_init(&look->fourths, look->fourth, rows);
    mhcs_addends_init(&look->excess, look->q, judged);
    mhcs_addends_init(&look->excess_squares, look->q_square, judged);
    mhcs_addends_init(&look->rest, look->q_rest, rest);
    look->rank = judged > 0 ? mhcs_size_rank(expected) : 0;
}

void mhcs_look_at(struct mhcs_look *ret_look, const struct mhcs_view *view,
                  const struct mhcs_run *run)
{
    const struct mhcs_columns *columns = view->columns;
    const float *metric = columns->metric[view->reference][MHCS_METRIC(rel)];
    const bool operands = view->reference == MHCS_OPERANDS;
    struct mhcs_look *look = ret_look;
    struct mhcs_places *places = &look->places;
    uint64_t counts = 0, low_bits = 0;
    double rel[MHCS_RUN_ROWS];
    bool wrong[MHCS_RUN_ROWS];

    memset(look, 0, offsetof(struct mhcs_look, places.place));
    places->tokens = run->record->tokens;
    for (uint32_t row = run->begin; row < run->begin + run->rows; row++) {
        const bool defined = isfinite(metric[row]);
        const bool nonfinite = operands && columns->nonfinite[row] == MHCS_NONFINITE_PRODUCTION;
        struct mhcs_place *place = &places->place[places->count];

        if (!defined && !nonfinite)
            continue;
        look->nonfinite += nonfinite;
        *place = place_of(view, row, defined, nonfinite);
        places->off += place->off != 0;
        places->count++;
        if (!defined)
            continue;
        counts += view->counts[row - view->begin];
        low_bits += view->low_bits[row - view->begin];
        wrong[look->rows] = place->off != 0 && operands;
        rel[look->rows++] = (double)metric[row];
    }
    note_traits(&look->traits, view, look->rows, counts, low_bits);
    look->reduced = view->precision && view->precision->reduced;
    mhcs_look_sizes(look, rel, view->expected, wrong);
}
