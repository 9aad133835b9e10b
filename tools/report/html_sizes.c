/* SPDX-License-Identifier: Apache-2.0 */
/* The errors by the size of a call: whether cuBLAS picks a worse kernel for some of them. */
#include <inttypes.h>
#include <math.h>

#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/text.h"

/* All sites of one phase and size of call; ret_evidence must be zero. */
static void merge_sites(const struct mhcs_collect *collect, enum mhcs_phase phase, int bucket,
                        enum mhcs_path reference, struct mhcs_evidence *ret_evidence)
{
    for (size_t i = 0; i < collect->sites; i++) {
        const struct mhcs_line *line = collect->site[i]->line[phase];

        if (line && line->bucket[bucket])
            mhcs_evidence_merge(ret_evidence, &line->bucket[bucket]->against[reference]);
    }
}

static struct mhcs_point make_point(const struct mhcs_evidence *evidence, enum mhcs_phase phase,
                                    int bucket)
{
    const double ratio = sqrt(mhcs_moments_mean(&evidence->excess));
    char number[MHCS_NUMBER_BYTES];
    struct mhcs_point point = {
        .x = bucket + 0.5,
        .ratio = ratio,
        .error = mhcs_moments_standard_error(&evidence->excess) / 2 / ratio,
        .rows = evidence->rows,
        .nonfinite = evidence->nonfinite,
    };

    snprintf(point.text, sizeof(point.text), "%u to %u tokens, %s: R %s, %" PRIu64 " rows",
             1u << bucket, (2u << bucket) - 1, mhcs_phase_name(phase),
             mhcs_text_ratio(ratio, number), evidence->rows);
    return point;
}

struct sizes {
    struct mhcs_evidence evidence[MHCS_PHASES][MHCS_TOKEN_BUCKETS];
    struct mhcs_point point[MHCS_PHASES][MHCS_TOKEN_BUCKETS];
    int lowest, highest; /* buckets with rows */
};

static void gather(const struct mhcs_collect *collect, enum mhcs_path reference,
                   struct sizes *sizes, struct mhcs_ratio_chart *chart)
{
    sizes->lowest = MHCS_TOKEN_BUCKETS;
    for (int p = 0; p < MHCS_PHASES; p++)
        for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++) {
            struct mhcs_evidence *evidence = &sizes->evidence[p][b];

            *evidence = (struct mhcs_evidence){0};
            merge_sites(collect, (enum mhcs_phase)p, b, reference, evidence);
            if (evidence->rows == 0 && evidence->nonfinite == 0)
                continue;
            sizes->point[p][chart->points[p]++] = make_point(evidence, (enum mhcs_phase)p, b);
            if (b < sizes->lowest)
                sizes->lowest = b;
            if (b > sizes->highest)
                sizes->highest = b;
        }
}

static void draw_ticks(FILE *out, const struct mhcs_ratio_chart *chart, double bottom)
{
    const int step = chart->x.high - chart->x.low > 8 ? 2 : 1;
    char text[MHCS_NUMBER_BYTES];

    for (int b = (int)chart->x.low; b <= (int)chart->x.high; b += step) {
        snprintf(text, sizeof(text), b < 10 ? "%u" : "%uk", b < 10 ? 1u << b : 1u << (b - 10));
        mhcs_chart_label_x(out, mhcs_scale_at(&chart->x, b), bottom, text);
    }
}

static void print_table(FILE *out, const struct sizes *sizes, enum mhcs_path reference)
{
    static const char *const columns[] = {"token rows in the call", "phase", "rows", "R", "rms rel",
                                          "NaN or Inf alone",       NULL};
    char caption[80], number[6][MHCS_NUMBER_BYTES];

    snprintf(caption, sizeof(caption), "errors by size of call, against the %s",
             mhcs_html_reference(reference));
    mhcs_html_table(out, caption, columns, true);
    for (int b = sizes->lowest; b <= sizes->highest; b++)
        for (int p = 0; p < MHCS_PHASES; p++) {
            const struct mhcs_evidence *evidence = &sizes->evidence[p][b];
            const char *const cells[] = {
                number[0],
                mhcs_phase_name((enum mhcs_phase)p),
                number[1],
                mhcs_text_ratio(sqrt(mhcs_moments_mean(&evidence->excess)), number[2]),
                mhcs_text_number(mhcs_evidence_rms(evidence), number[3]),
                number[4],
            };

            if (evidence->rows == 0 && evidence->nonfinite == 0)
                continue;
            snprintf(number[0], sizeof(number[0]), "%u to %u", 1u << b, (2u << b) - 1);
            snprintf(number[1], sizeof(number[1]), "%" PRIu64, evidence->rows);
            snprintf(number[4], sizeof(number[4]), "%" PRIu64, evidence->nonfinite);
            mhcs_html_row(out, cells, sizeof(cells) / sizeof(cells[0]));
        }
    mhcs_html_table_end(out, true);
}

static void print_reference(FILE *out, const struct mhcs_collect *collect, enum mhcs_path reference)
{
    struct sizes sizes = {0};
    char id[32], title[96];
    struct mhcs_ratio_chart chart = {
        .id = id,
        .title = title,
        .description = "Points of R over the number of token rows in a call, one line for prefill "
                       "and one for decode. Hollow points have too few rows to judge.",
        .x_title = "token rows in the call",
        .point = {sizes.point[MHCS_PREFILL], sizes.point[MHCS_DECODE]},
        .ticks = draw_ticks,
    };

    gather(collect, reference, &sizes, &chart);
    if (sizes.lowest > sizes.highest)
        return;
    chart.x = (struct mhcs_scale){.low = sizes.lowest,
                                  .high = sizes.highest + 1,
                                  .from = MHCS_CHART_LEFT,
                                  .to = MHCS_CHART_RIGHT};
    snprintf(id, sizeof(id), "sizes-%s", mhcs_html_reference(reference));
    snprintf(title, sizeof(title), "R by size of call, against the %s",
             mhcs_html_reference(reference));
    fputs("<div>\n", out);
    mhcs_chart_ratio(out, &chart);
    print_table(out, &sizes, reference);
    fputs("</div>\n", out);
}

void mhcs_html_sizes(FILE *out, const struct mhcs_report *report)
{
    mhcs_html_section(out, "sizes", "By size of call");
    fputs("<p>cuBLAS picks another kernel for another number of token rows. R is the rms relative "
          "error over the largest that rounding alone explains.</p>\n<div class=\"charts\">\n",
          out);
    MHCS_FOR_EACH_REFERENCE(r)
        if (report->collect->reference_rows[r] > 0)
            print_reference(out, report->collect, r);
    fputs("</div>\n", out);
    mhcs_html_section_end(out);
}
