/* SPDX-License-Identifier: Apache-2.0 */
/* The changes between two runs as tables and sentences. */
#include "tools/report/changes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tools/report/term.h"
#include "tools/report/text.h"

/* ---- what changed ---- */

static bool is_site_line(const struct mhcs_change *change)
{
    const struct mhcs_group *group = mhcs_change_group(change);

    return group->site && group->bucket < 0;
}

static bool has_changed(const struct mhcs_change *change)
{
    return change->kind == MHCS_CHANGE_GREW || change->kind == MHCS_CHANGE_SHRANK;
}

/* Infinite where B has an error and A has none. */
static double size_of(const struct mhcs_change *change)
{
    return isnan(change->ratio) ? -1 : fabs(log(change->ratio));
}

/* NaN lies at one site: 2, or 1 for the groups that include that site, or 0. */
static int weight_of_nonfinite(const struct mhcs_change *change)
{
    if (change->kind != MHCS_CHANGE_GREW || change->group[1]->evidence.nonfinite == 0)
        return 0;
    return mhcs_change_group(change)->site ? 2 : 1;
}

/* What grew first, NaN before all, then larger changes, equal ones in their order. */
static int compare_sizes(const void *left, const void *right)
{
    const struct mhcs_change *a = *(const struct mhcs_change *const *)left;
    const struct mhcs_change *b = *(const struct mhcs_change *const *)right;

    if (a->kind != b->kind)
        return a->kind > b->kind ? -1 : 1;
    if (weight_of_nonfinite(a) != weight_of_nonfinite(b))
        return weight_of_nonfinite(a) > weight_of_nonfinite(b) ? -1 : 1;
    if (size_of(a) != size_of(b))
        return size_of(a) > size_of(b) ? -1 : 1;
    return a < b ? -1 : 1;
}

static void print_change(const struct mhcs_change *change)
{
    const struct mhcs_group *group = mhcs_change_group(change);
    const enum mhcs_colour colour = change->kind == MHCS_CHANGE_GREW     ? MHCS_RED
                                    : change->kind == MHCS_CHANGE_SHRANK ? MHCS_GREEN
                                                                         : MHCS_PLAIN;
    char number[MHCS_NUMBER_BYTES], tokens[16] = "";

    if (group->bucket >= 0)
        snprintf(tokens, sizeof(tokens), "%u+", 1u << group->bucket);
    printf("  %-23.23s %-7s%7s", group->site ? group->site->name : "all sites",
           group->phase < 0 ? "" : mhcs_phase_name((enum mhcs_phase)group->phase), tokens);
    for (int r = 0; r < 2; r++)
        printf("%8" PRIu64, change->group[r] ? change->group[r]->evidence.rows : 0);
    for (int r = 0; r < 2; r++)
        printf("%10s", mhcs_text_number(
                           change->group[r] ? mhcs_evidence_rms(&change->group[r]->evidence) : NAN,
                           number));
    printf("%7s", mhcs_text_ratio(change->ratio, number));
    printf("%8s  %s%s%s\n", mhcs_text_chance(change->probability, number), mhcs_colour(colour),
           mhcs_change_name(change->kind), mhcs_colour(MHCS_PLAIN));
}

static bool is_shown(const struct mhcs_change *change, bool all)
{
    return all || !mhcs_change_group(change)->site || has_changed(change);
}

static void print_heading(enum mhcs_path reference)
{
    printf("\n%sErrors against the %s, rms of rel%s\n  %-23s %-7s%7s%8s%8s%10s%10s%7s%8s  %s\n",
           mhcs_colour(MHCS_BOLD), mhcs_reference_name(reference), mhcs_colour(MHCS_PLAIN), "site",
           "phase", "tokens", "rows A", "rows B", "A", "B", "B/A", "chance", "change");
}

/* `sorted` has room for all changes. */
static void print_reference(const struct mhcs_comparison *comparison, enum mhcs_path reference,
                            bool all, const struct mhcs_change **sorted)
{
    size_t count = 0, hidden = 0, wide = 0;

    for (size_t i = 0; i < comparison->changes; i++) {
        const struct mhcs_change *change = &comparison->change[i];

        if (mhcs_change_group(change)->reference != reference)
            continue;
        if (is_shown(change, all))
            sorted[count++] = change;
        hidden += !is_shown(change, all) && is_site_line(change);
    }
    while (wide < count && !mhcs_change_group(sorted[wide])->site)
        wide++;
    qsort(sorted + wide, count - wide, sizeof(*sorted), compare_sizes);
    print_heading(reference);
    for (size_t i = 0; i < count; i++)
        print_change(sorted[i]);
    if (hidden > 0)
        printf("  (%zu more sites and phases that did not change or have too few rows; --all lists "
               "them)\n",
               hidden);
}

static bool has_reference(const struct mhcs_comparison *comparison, enum mhcs_path reference,
                          int run)
{
    for (size_t i = 0; i < comparison->changes; i++) {
        const struct mhcs_group *group = comparison->change[i].group[run];

        if (group && group->reference == reference)
            return true;
    }
    return false;
}

static void print_references(const struct mhcs_comparison *comparison, bool all,
                             const struct mhcs_change **sorted)
{
    MHCS_FOR_EACH_REFERENCE(r) {
        const bool in_a = has_reference(comparison, r, 0), in_b = has_reference(comparison, r, 1);

        if (in_a && in_b)
            print_reference(comparison, r, all, sorted);
        else if (in_a || in_b)
            printf("\nErrors against the %s: %c alone has them.\n", mhcs_reference_name(r),
                   in_a ? 'A' : 'B');
    }
}

#define ONLY_SHOWN 12

/* Sites and phases that one run alone has. */
static void print_only(const struct mhcs_comparison *comparison, int only)
{
    char *text = NULL, label[40];
    size_t size, count = 0;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; out && i < comparison->changes; i++) {
        const struct mhcs_change *change = &comparison->change[i];
        const struct mhcs_group *group = change->group[only];

        if (change->group[!only] || !is_site_line(change) || group->reference != MHCS_OPERANDS)
            continue;
        if (count < ONLY_SHOWN)
            fprintf(out, "%s%s %s", count ? ", " : "", group->site->name,
                    mhcs_phase_name((enum mhcs_phase)group->phase));
        count++;
    }
    if (out && count > ONLY_SHOWN)
        fprintf(out, " and %zu more", count - ONLY_SHOWN);
    snprintf(label, sizeof(label), "  only in %c: ", 'A' + only);
    if (out && !fclose(out) && count > 0)
        mhcs_text_wrap(stdout, label, text);
    free(text);
}

/* ---- what it comes to ---- */

static void say_where(FILE *out, const struct mhcs_change *change)
{
    const struct mhcs_group *group = mhcs_change_group(change);
    char ratio[MHCS_NUMBER_BYTES];

    fputs(group->site ? group->site->name : "all sites together", out);
    if (group->phase >= 0)
        fprintf(out, " in %s", mhcs_phase_name((enum mhcs_phase)group->phase));
    if (group->bucket >= 0)
        fprintf(out, " (calls of %u to %u token rows)", 1u << group->bucket,
                (2u << group->bucket) - 1);
    fprintf(out, " against the %s", mhcs_reference_name(group->reference));
    if (isfinite(change->ratio))
        fprintf(out, ", %s times", mhcs_text_ratio(change->ratio, ratio));
    if (change->group[1] && change->group[1]->evidence.nonfinite > 0)
        fprintf(out, ", with NaN or Inf in production (rows: %" PRIu64 ")",
                change->group[1]->evidence.nonfinite);
}

/* Sites and phases of that kind, by the reference that shows more of them. */
static size_t count_lines(const struct mhcs_comparison *comparison, enum mhcs_change_kind kind,
                          const struct mhcs_change **ret_largest)
{
    size_t count[MHCS_PATHS] = {0};

    *ret_largest = NULL;
    for (size_t i = 0; i < comparison->changes; i++) {
        const struct mhcs_change *change = &comparison->change[i];

        if (change->kind != kind)
            continue;
        count[mhcs_change_group(change)->reference] += is_site_line(change);
        if (!*ret_largest || compare_sizes(&change, ret_largest) < 0)
            *ret_largest = change;
    }
    return count[MHCS_OPERANDS] > count[MHCS_CHECKPOINT] ? count[MHCS_OPERANDS]
                                                         : count[MHCS_CHECKPOINT];
}

static void say_kind(const char *word, const char *how, enum mhcs_colour colour, size_t lines,
                     const struct mhcs_change *largest)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    fprintf(out, "Errors are %s in B: sites and phases %zu, most at ", how, lines);
    say_where(out, largest);
    printf("  %s%s%s\n", mhcs_colour(colour), word, mhcs_colour(MHCS_PLAIN));
    if (!fclose(out))
        mhcs_text_wrap(stdout, "  ", text);
    free(text);
}

static enum mhcs_exit conclude(const struct mhcs_comparison *comparison)
{
    const struct mhcs_change *grew, *shrank;
    const size_t lines_grew = count_lines(comparison, MHCS_CHANGE_GREW, &grew);
    const size_t lines_shrank = count_lines(comparison, MHCS_CHANGE_SHRANK, &shrank);

    printf("\n  %zu groups compared; a change is larger than %.1f times and significant at %.2g "
           "over all (Holm).\n\n",
           comparison->tested, MHCS_CHANGE_MIN, MHCS_ALPHA);
    if (grew)
        say_kind("GREW", "larger", MHCS_RED, lines_grew, grew);
    if (shrank)
        say_kind("SHRANK", "smaller", MHCS_GREEN, lines_shrank, shrank);
    if (!grew && !shrank && comparison->tested > 0)
        printf("  %sSAME%s\n  No change that chance does not explain.\n", mhcs_colour(MHCS_GREEN),
               mhcs_colour(MHCS_PLAIN));
    if (grew)
        return MHCS_EXIT_OVER;
    if (comparison->tested > 0)
        return MHCS_EXIT_FINE;
    printf("  %sINSUFFICIENT%s\n  No group has %d rows on both sides.\n", mhcs_colour(MHCS_YELLOW),
           mhcs_colour(MHCS_PLAIN), MHCS_MIN_ROWS);
    return MHCS_EXIT_DAMAGED;
}

enum mhcs_exit mhcs_changes_print(const struct mhcs_comparison *comparison, bool all)
{
    const struct mhcs_change **sorted = calloc(comparison->changes + 1, sizeof(*sorted));

    if (!sorted) {
        fputs("mhcshadow-report: out of memory\n", stderr);
        return MHCS_EXIT_DAMAGED;
    }
    print_references(comparison, all, sorted);
    for (int run = 0; run < 2; run++)
        print_only(comparison, run);
    free(sorted);
    return conclude(comparison);
}
