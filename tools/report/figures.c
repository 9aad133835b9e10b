/* SPDX-License-Identifier: Apache-2.0 */
/* Figures from statistics and groups. */
#include "tools/report/figures.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
#define NAME(id, name, doc) name,
    MHCS_FIGURES(NAME)
#undef NAME
};

const char *mhcs_figure_name(enum mhcs_figure figure)
{
    return names[figure];
}

int mhcs_figure_find(const char *name)
{
    for (int i = 0; i < MHCS_FIGURES_COUNT; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

/* Of the groups with rows enough to be judged, or of all if none has. */
static double largest_ratio(const struct mhcs_conclusion *conclusion,
                            const struct mhcs_site_line *site, enum mhcs_phase phase,
                            enum mhcs_path reference)
{
    double judged = NAN, any = NAN;

    for (size_t i = 0; i < conclusion->groups; i++) {
        const struct mhcs_group *group = &conclusion->group[i];

        if (group->site != site || group->phase != (int)phase ||
            (reference != MHCS_PRODUCTION && group->reference != reference))
            continue;
        any = fmax(any, group->judgement.ratio);
        if (group->evidence.excess.count >= MHCS_MIN_ROWS)
            judged = fmax(judged, group->judgement.ratio);
    }
    return isnan(judged) ? any : judged;
}

static double nonfinite_rows(const struct mhcs_conclusion *conclusion,
                             const struct mhcs_site_line *site, enum mhcs_phase phase)
{
    for (size_t i = 0; i < conclusion->groups; i++) {
        const struct mhcs_group *group = &conclusion->group[i];

        if (group->site == site && group->phase == (int)phase && group->bucket < 0 &&
            group->reference == MHCS_OPERANDS)
            return (double)group->evidence.nonfinite;
    }
    return 0;
}

double mhcs_figure(const struct mhcs_collect *collect, const struct mhcs_conclusion *conclusion,
                   const struct mhcs_site_line *site, enum mhcs_phase phase,
                   enum mhcs_figure figure, enum mhcs_path reference)
{
    const enum mhcs_path against = reference ? reference : mhcs_widest(collect);
    const struct mhcs_line *line = site->line[phase];
    const struct mhcs_stat *rel = &line->rel[against];

    switch (figure) {
    case MHCS_FIGURE_ROWS:
        return (double)rel->hist.count;
    case MHCS_FIGURE_NONFINITE:
        return nonfinite_rows(conclusion, site, phase);
    case MHCS_FIGURE_RATIO:
        return largest_ratio(conclusion, site, phase, reference);
    case MHCS_FIGURE_REL:
        return mhcs_stat_rms(rel);
    case MHCS_FIGURE_P50:
        return mhcs_stat_percentile(rel, 5000);
    case MHCS_FIGURE_P90:
        return mhcs_stat_percentile(rel, 9000);
    case MHCS_FIGURE_P99:
        return mhcs_stat_percentile(rel, 9900);
    case MHCS_FIGURE_MAX:
        return rel->hist.count > 0 ? (double)rel->max : NAN;
    case MHCS_FIGURE_COMB:
        return mhcs_moments_rms(&line->comb_err[against]);
    case MHCS_FIGURE_Y:
        return mhcs_moments_rms(&line->y_rel[against]);
    case MHCS_FIGURES_COUNT:
        break;
    }
    return NAN;
}
