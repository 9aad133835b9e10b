/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the rows of a selection, and what is expected of them. */
#include "tools/report/spread.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>

#include "tools/report/expect.h"

/* ---- observed ---- */

static bool selects(const struct mhcs_selection *selection, const struct mhcs_site_line *site,
                    int phase)
{
    return site->line[phase] && (selection->phase < 0 || selection->phase == phase) &&
           (!selection->site || !fnmatch(selection->site, site->name, 0));
}

static bool is_everything(const struct mhcs_selection *selection)
{
    return !selection->site && selection->phase < 0;
}

static void add_line(struct mhcs_spread *spread, const struct mhcs_line *line,
                     enum mhcs_path reference, struct mhcs_evidence *evidence)
{
    spread->lines++;
    mhcs_stat_merge(&spread->observed, &line->rel[reference]);
    for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++)
        if (line->bucket[b])
            mhcs_evidence_merge(evidence, &line->bucket[b]->against[reference]);
}

/* Rows of sites that were not told apart are in the totals alone. */
static void observe(struct mhcs_spread *spread, const struct mhcs_collect *collect,
                    const struct mhcs_selection *selection, struct mhcs_evidence *evidence)
{
    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++)
            if (selects(selection, collect->site[i], p))
                add_line(spread, collect->site[i]->line[p], selection->reference, evidence);
    if (is_everything(selection))
        spread->observed = collect->metric[selection->reference][selection->metric];
    spread->uncertainty = selection->metric == MHCS_METRIC(rel) && collect->rows_of_other_sites == 0
                              ? mhcs_evidence_uncertainty(evidence) / 2
                              : NAN;
}

/* ---- expected ---- */

/* Rows of a head have 4 coefficients, the others 24. */
static uint64_t head_rows(const struct mhcs_evidence *evidence)
{
    return (MHCS_COEFFICIENTS * evidence->rows - evidence->traits.elements) /
           (MHCS_COEFFICIENTS - MHCS_COEFFICIENTS_HEAD);
}

/* False: the path has no expectation. */
static bool expect_rows(double *expected, const struct mhcs_path_line *path,
                        enum mhcs_path reference, uint32_t coefficients, uint64_t rows,
                        struct mhcs_stat *scratch)
{
    if (rows == 0)
        return true;
    *scratch = (struct mhcs_stat){0};
    if (!path->parsed || !mhcs_expect_rel(&path->precision, reference, coefficients, scratch))
        return false;
    for (uint32_t i = 0; i < MHCS_HIST_BUCKETS; i++)
        expected[i] += (double)scratch->hist.bucket[i] * (double)rows / MHCS_EXPECT_ROWS;
    return true;
}

bool mhcs_spread_expect(double expected[MHCS_HIST_BUCKETS], const struct mhcs_path_line *path,
                        enum mhcs_path reference, const struct mhcs_evidence *evidence,
                        struct mhcs_stat *scratch)
{
    const uint64_t heads = head_rows(evidence);

    return expect_rows(expected, path, reference, MHCS_COEFFICIENTS_HEAD, heads, scratch) &&
           expect_rows(expected, path, reference, MHCS_COEFFICIENTS, evidence->rows - heads,
                       scratch);
}

static void expect(struct mhcs_spread *spread, const struct mhcs_collect *collect,
                   const struct mhcs_selection *selection, const struct mhcs_evidence *evidence,
                   struct mhcs_stat *scratch)
{
    const enum mhcs_path r = selection->reference;

    spread->why_not = NULL;
    if (selection->metric != MHCS_METRIC(rel))
        spread->why_not = "for rel alone is it known what to expect";
    else if (collect->other_path.rows > 0)
        spread->why_not = "there are more declared paths than are told apart";
    else if (!is_everything(selection) && collect->paths != 1)
        spread->why_not = "the rows of several declared paths are told apart only all together";
    for (size_t i = 0; i < collect->paths && !spread->why_not; i++) {
        const struct mhcs_path_line *path = collect->path[i];

        if (!mhcs_spread_expect(spread->expected, path, r,
                                is_everything(selection) ? &path->against[r] : evidence, scratch))
            spread->why_not = "a declared path has no expectation";
    }
    spread->expects = !spread->why_not;
}

int mhcs_spread_gather(const struct mhcs_collect *collect, const struct mhcs_selection *selection,
                       struct mhcs_spread **ret_spread)
{
    struct mhcs_evidence evidence = {0};
    struct mhcs_stat *scratch = malloc(sizeof(*scratch));

    *ret_spread = calloc(1, sizeof(**ret_spread));
    if (*ret_spread && scratch) {
        observe(*ret_spread, collect, selection, &evidence);
        expect(*ret_spread, collect, selection, &evidence, scratch);
        free(scratch);
        return 0;
    }
    free(*ret_spread);
    free(scratch);
    return -ENOMEM;
}

/* ---- percentiles ---- */

static double middle(uint32_t bucket)
{
    return (mhcs_hist_edge(bucket) + mhcs_hist_edge(bucket + 1)) / 2;
}

static double sum_of(const struct mhcs_spread *spread)
{
    double sum = 0;

    for (uint32_t i = 0; i < MHCS_HIST_BUCKETS; i++)
        sum += spread->expected[i];
    return sum;
}

double mhcs_spread_expected_percentile(const struct mhcs_spread *spread, uint32_t per_10000)
{
    const double rank = sum_of(spread) * per_10000 / 10000;
    double seen = 0;

    for (uint32_t i = 0; spread->expects && i < MHCS_HIST_BUCKETS; i++) {
        seen += spread->expected[i];
        if (seen > 0 && seen >= rank)
            return middle(i);
    }
    return NAN;
}

double mhcs_spread_expected_rms(const struct mhcs_spread *spread)
{
    double squares = 0;

    for (uint32_t i = 0; spread->expects && i < MHCS_HIST_BUCKETS; i++)
        squares += spread->expected[i] * middle(i) * middle(i);
    return spread->expects ? sqrt(squares / sum_of(spread)) : NAN;
}

/* Of the rank-th value, as if those of a bucket were spread evenly over it. */
static double value_at(const struct mhcs_hist *hist, double rank)
{
    double seen = (double)hist->zeros;

    if (rank <= seen)
        return 0;
    for (uint32_t i = 0; i < MHCS_HIST_BUCKETS; i++) {
        const double here = (double)hist->bucket[i], begin = mhcs_hist_edge(i);

        if (here > 0 && seen + here >= rank)
            return begin + (mhcs_hist_edge(i + 1) - begin) * (rank - seen - 0.5) / here;
        seen += here;
    }
    return NAN;
}

double mhcs_percentile_error(const struct mhcs_hist *hist, uint32_t per_10000)
{
    const double share = per_10000 / 10000.0, n = (double)hist->count;
    const double rank = ceil(share * n), deviation = sqrt(n * share * (1 - share));
    const double low = rank - deviation, high = rank + deviation;
    double resolution;

    if (low < 1 || high > n)
        return NAN;
    resolution = mhcs_hist_percentile(hist, per_10000) * MHCS_HIST_ERROR / sqrt(3);
    return hypot((value_at(hist, high) - value_at(hist, low)) / 2, resolution);
}
