/* SPDX-License-Identifier: Apache-2.0 */
/* Exact matches by the first row, then by all; the nearest by rows of equal content anywhere. */
#include "shadow/model/match.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/model/print.h"

/* The nearest by row norms is named if they are within 2 % and nearer than a quarter of the second
 * nearest's. What fp8 or a small LoRA update leave of a matrix has its norms within 1 %; those of
 * two layers differ by as much as their rms does. */
#define ALIKE   0.02
#define CLEARLY 0.25

struct mhcs_matcher {
    struct mhcs_prints prints;
};

/* What a matrix of the server is compared with. */
struct target {
    const struct mhcs_fingerprint_row *rows;
    uint32_t coefficients;
};

/* Where a row of the server's comes from in the candidate. */
struct origin {
    int32_t row; /* -1: from nowhere */
    bool negated;
};

const char *mhcs_form_name(enum mhcs_form form)
{
    static const char *const names[] = {
#define FORM_NAME(name, text) text,
        MHCS_FORMS(FORM_NAME)
#undef FORM_NAME
    };

    return names[form];
}

struct mhcs_matcher *mhcs_matcher_new(const struct mhcs_model *model)
{
    struct mhcs_matcher *matcher = malloc(sizeof(*matcher));

    if (matcher && mhcs_prints_init(&matcher->prints, model) < 0) {
        free(matcher);
        return NULL;
    }
    return matcher;
}

void mhcs_matcher_free(struct mhcs_matcher *matcher)
{
    if (matcher)
        mhcs_prints_destroy(&matcher->prints);
    free(matcher);
}

/* ---- exactly ---- */

/* 1: found; 0: not; -errno. */
static int match_exactly(struct mhcs_prints *prints, const struct target *target,
                         struct mhcs_match *ret_match, char *error)
{
    const struct mhcs_model *model = prints->model;
    struct mhcs_fingerprint_row rows[MHCS_COEFFICIENTS];
    int ret = mhcs_prints_first(prints, error);

    for (size_t s = 0; !ret && s < model->site_count; s++) {
        const struct mhcs_model_site *site = &model->sites[s];

        for (int f = 0; !ret && f < MHCS_FORM_COUNT; f++) {
            bool same = true;

            if (site->coefficients != target->coefficients ||
                prints->first[s][f] != target->rows[0].hash)
                continue;
            ret = mhcs_prints_site(prints, site, (enum mhcs_form)f, rows, error);
            for (uint32_t j = 0; !ret && j < target->coefficients; j++)
                same = same && rows[j].hash == target->rows[j].hash;
            if (!ret && same) {
                *ret_match = (struct mhcs_match){.site = site, .form = (enum mhcs_form)f};
                return 1;
            }
        }
    }
    return ret;
}

/* ---- nearest ---- */

/* A row's content but for its place and the signs: square_sum is added in an order that depends on
 * the column alone. */
static bool is_alike(const struct mhcs_fingerprint_row *a, const struct mhcs_fingerprint_row *b)
{
    return a->absmax == b->absmax && a->square_sum == b->square_sum && a->nonfinite == b->nonfinite;
}

static uint32_t score(const struct target *target, const struct mhcs_fingerprint_row *candidate)
{
    uint32_t points = 0;

    for (uint32_t j = 0; j < target->coefficients; j++) {
        bool alike = false;

        for (uint32_t i = 0; i < target->coefficients; i++)
            alike = alike || is_alike(&target->rows[j], &candidate[i]);
        points += candidate[j].hash == target->rows[j].hash ? 2 : alike;
    }
    return points;
}

/* Root of the summed squares of the relative differences of the rows' norms. */
static double distance(const struct target *target, const struct mhcs_fingerprint_row *candidate)
{
    double sum = 0;

    for (uint32_t j = 0; j < target->coefficients; j++) {
        const double norm = sqrt((double)candidate[j].square_sum);

        sum += pow(sqrt((double)target->rows[j].square_sum) / norm - 1, 2);
    }
    return sqrt(sum / target->coefficients);
}

struct nearest {
    size_t site, form;
    uint32_t points;
    double by_norm, second;
    size_t site_by_norm;
};

static struct nearest find_nearest(const struct mhcs_prints *prints, const struct target *target)
{
    const struct mhcs_model *model = prints->model;
    struct nearest nearest = {.by_norm = INFINITY, .second = INFINITY};

    for (size_t s = 0; s < model->site_count; s++) {
        double off;

        if (model->sites[s].coefficients != target->coefficients)
            continue;
        for (size_t f = 0; f < MHCS_FORM_COUNT; f++) {
            const uint32_t points = score(target, prints->all[s][f]);

            if (points > nearest.points) {
                nearest.points = points;
                nearest.site = s;
                nearest.form = f;
            }
        }
        off = distance(target, prints->all[s][MHCS_FORM_STORED]);
        if (off < nearest.by_norm) {
            nearest.second = nearest.by_norm;
            nearest.by_norm = off;
            nearest.site_by_norm = s;
        } else if (off < nearest.second) {
            nearest.second = off;
        }
    }
    return nearest;
}

/* ---- how they differ ---- */

struct text {
    char *at;
    size_t left;
};

static void __attribute__((format(printf, 2, 3))) say(struct text *text, const char *format, ...)
{
    va_list args;
    int used;

    va_start(args, format);
    used = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    if (used < 0 || (size_t)used >= text->left)
        used = text->left > 0 ? (int)text->left - 1 : 0;
    text->at += used;
    text->left -= (size_t)used;
}

/* "comb[1][2]" for row 8 + 4*1 + 2. */
static const char *row_name(uint32_t j, char name[24])
{
    if (j < 4)
        snprintf(name, 24, "pre[%u]", j);
    else if (j < 8)
        snprintf(name, 24, "post[%u]", j - 4);
    else
        snprintf(name, 24, "comb[%u][%u]", (j - 8) / 4, j % 4);
    return name;
}

static struct origin find_origin(const struct mhcs_prints *prints, const struct target *target,
                                 const struct mhcs_fingerprint_row *candidate, uint32_t j)
{
    for (uint32_t n = 0; n < target->coefficients; n++) {
        const uint32_t i = (j + n) % target->coefficients; /* its own place first */

        if (!is_alike(&target->rows[j], &candidate[i]))
            continue;
        for (int negated = 0; negated < 2; negated++)
            if (mhcs_prints_moved(prints, i, j, negated) == target->rows[j].hash)
                return (struct origin){.row = (int32_t)i, .negated = negated};
    }
    return (struct origin){.row = -1};
}

static bool is_transposed_comb(const struct origin *origin, uint32_t coefficients)
{
    if (coefficients != MHCS_COEFFICIENTS)
        return false;
    for (uint32_t j = 0; j < MHCS_COEFFICIENTS; j++) {
        const uint32_t want = j < 8 ? j : 8 + 4 * (j % 4) + (j - 8) / 4;

        if (origin[j].row != (int32_t)want || origin[j].negated)
            return false;
    }
    return true;
}

/* The site whose row j this is, or NULL. */
static const struct mhcs_model_site *whose_row(const struct mhcs_prints *prints,
                                               const struct target *target, uint32_t j)
{
    for (size_t s = 0; s < prints->model->site_count; s++)
        for (int f = 0; f < MHCS_FORM_COUNT; f++)
            if (j < prints->model->sites[s].coefficients &&
                prints->all[s][f][j].hash == target->rows[j].hash)
                return &prints->model->sites[s];
    return NULL;
}

static void say_row(struct text *text, const struct mhcs_prints *prints,
                    const struct target *target, const struct origin *origin, uint32_t j)
{
    const struct mhcs_model_site *other;
    char name[24], from[24];
    uint32_t k;
    float value;

    say(text, "row %u (%s) ", j, row_name(j, name));
    if (origin->row >= 0 && (uint32_t)origin->row != j)
        say(text, "holds row %d (%s)%s", (int)origin->row, row_name((uint32_t)origin->row, from),
            origin->negated ? " negated" : "");
    else if (origin->row >= 0)
        say(text, "is negated");
    else if (mhcs_prints_element(prints, j, target->rows[j].hash, &k, &value))
        say(text, "differs in column %u alone, by %.3g times the row's rms", k,
            ((double)value - (double)prints->rounded[(size_t)j * prints->model->k + k]) /
                sqrt((double)target->rows[j].square_sum / prints->model->k));
    else if ((other = whose_row(prints, target, j)))
        say(text, "is that of %s", other->name);
    else
        say(text, "has other values");
}

#define ROWS_SAID 3

static void say_rows(struct text *text, const struct mhcs_prints *prints,
                     const struct target *target, const struct origin *origin)
{
    uint32_t differ = 0;

    for (uint32_t j = 0; j < target->coefficients; j++) {
        if (origin[j].row == (int32_t)j && !origin[j].negated)
            continue;
        if (differ++ < ROWS_SAID) {
            say(text, differ > 1 ? "; " : "");
            say_row(text, prints, target, &origin[j], j);
        }
    }
    if (differ > ROWS_SAID)
        say(text, "; %u more rows differ", differ - ROWS_SAID);
}

static int describe(struct mhcs_prints *prints, const struct target *target,
                    const struct nearest *nearest, struct mhcs_match *match, char *error)
{
    struct origin origin[MHCS_COEFFICIENTS];
    struct mhcs_fingerprint_row rows[MHCS_COEFFICIENTS];
    struct text text = {match->difference, sizeof(match->difference)};
    int ret;

    if (nearest->points == 0) {
        say(&text, "every row has other values; the rows' norms are within %.2g %% of this site's",
            nearest->by_norm * 100);
        return 0;
    }
    ret = mhcs_prints_site(prints, match->site, match->form, rows, error);
    for (uint32_t j = 0; !ret && j < target->coefficients; j++)
        origin[j] = find_origin(prints, target, rows, j);
    if (ret)
        return ret;
    if (is_transposed_comb(origin, target->coefficients))
        say(&text, "the rows of comb are transposed: row 8 + 4j + k holds row 8 + 4k + j");
    else
        say_rows(&text, prints, target, origin);
    return 0;
}

int mhcs_match(struct mhcs_matcher *matcher, const struct mhcs_fingerprint_row *rows,
               uint32_t coefficients, uint32_t k, struct mhcs_match *ret_match,
               char error[MHCS_MODEL_ERROR])
{
    const struct target target = {rows, coefficients};
    struct mhcs_prints *prints = &matcher->prints;
    struct nearest nearest;
    int ret;

    *ret_match = (struct mhcs_match){0};
    if (k != prints->model->k)
        return 0;
    ret = match_exactly(prints, &target, ret_match, error);
    if (ret)
        return ret < 0 ? ret : 0;
    ret = mhcs_prints_all(prints, error);
    if (ret)
        return ret;
    nearest = find_nearest(prints, &target);
    if (nearest.points == 0 &&
        !(nearest.by_norm < ALIKE && nearest.by_norm < CLEARLY * nearest.second))
        return 0;
    ret_match->site = &prints->model->sites[nearest.points ? nearest.site : nearest.site_by_norm];
    ret_match->form = nearest.points ? (enum mhcs_form)nearest.form : MHCS_FORM_STORED;
    return describe(prints, &target, &nearest, ret_match, error);
}
