/* SPDX-License-Identifier: Apache-2.0 */
/* Where the errors are: layer x role x phase, coloured by R. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/text.h"

/* Layers stand in bands of this many, so that a cell can be hit with a finger. */
#define BAND         11
#define LABELS       74
#define CELL_WIDTH   26
#define CELL_HEIGHT  22
#define BAND_SPACE   22
#define LEGEND_SPACE 40
#define ROLES        2
#define GAP_MAX      16
#define WORST        10 /* sites in the table beside the map */
#define ROWS_MAX     (ROLES * MHCS_PHASES)

static const char *const roles[ROLES] = {"attn", "ffn"};

struct cell {
    const struct mhcs_group *worst; /* NULL: no rows */
    uint64_t rows;
    size_t sites;
};

/* A layer, or a site that belongs to none. */
struct column {
    int layer;        /* -1: a site */
    const char *name; /* of the site */
    struct cell cell[ROWS_MAX];
};

struct map {
    struct column *column; /* layers, then sites */
    size_t layers, sites;
};

/* ---- what is shown ---- */

/* -1: neither attn nor ffn of a layer. */
static int role_of(const struct mhcs_site_line *site)
{
    for (int i = 0; i < ROLES; i++)
        if (site->layer >= 0 && !strcmp(site->role, roles[i]))
            return i;
    return -1;
}

static void fill_cell(struct cell *cell, const struct mhcs_report *report,
                      const struct mhcs_site_line *site, enum mhcs_phase phase)
{
    const struct mhcs_group *worst = mhcs_conclusion_find(&report->conclusion, site, phase);

    if (!site->line[phase])
        return;
    cell->rows += site->line[phase]->rows;
    cell->sites++;
    if (!cell->worst || (worst && worst->judgement.status > cell->worst->judgement.status))
        cell->worst = worst;
}

/* Layers of which nothing was seen have columns too, unless there are many between two others. */
static struct column *add_layer(struct map *map, int layer)
{
    const int last = map->layers > 0 ? map->column[map->layers - 1].layer : -1;

    for (int i = last + 1; i < layer && layer - last <= GAP_MAX; i++)
        map->column[map->layers++].layer = i;
    if (layer != last)
        map->column[map->layers++].layer = layer;
    return &map->column[map->layers - 1];
}

/* Sites are sorted by layer. */
static void add_layers(struct map *map, const struct mhcs_report *report)
{
    const struct mhcs_collect *collect = report->collect;

    for (size_t i = 0; i < collect->sites; i++) {
        const struct mhcs_site_line *site = collect->site[i];
        const int role = role_of(site);

        struct column *column;

        if (role < 0)
            continue;
        column = add_layer(map, site->layer);
        for (int p = 0; p < MHCS_PHASES; p++)
            fill_cell(&column->cell[role * MHCS_PHASES + p], report, site, (enum mhcs_phase)p);
    }
}

static void add_sites(struct map *map, const struct mhcs_report *report)
{
    const struct mhcs_collect *collect = report->collect;

    for (size_t i = 0; i < collect->sites; i++) {
        const struct mhcs_site_line *site = collect->site[i];
        struct column *column = &map->column[map->layers + map->sites];

        if (role_of(site) >= 0)
            continue;
        map->sites++;
        column->layer = -1;
        column->name = site->name;
        for (int p = 0; p < MHCS_PHASES; p++)
            fill_cell(&column->cell[p], report, site, (enum mhcs_phase)p);
    }
}

/* ---- cells ---- */

/* Steps of colour end at these R. */
static const double steps[] = {0.5, 1, MHCS_PASS_RATIO, 2.5, MHCS_WARN_RATIO, 8};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static size_t step_of(double ratio)
{
    size_t step = 0;

    while (step < STEPS && !(ratio <= steps[step]))
        step++;
    return step;
}

/* Not by colour alone. */
static const char *sign_of(enum mhcs_status status)
{
    static const char *const signs[] = {
        [MHCS_INSUFFICIENT] = "?", [MHCS_PASS] = "", [MHCS_WARN] = "!", [MHCS_FAIL] = "x"};

    return signs[status];
}

static void draw_cell(FILE *out, const struct column *column, size_t row, int x, int y)
{
    const struct cell *cell = &column->cell[row];
    const enum mhcs_phase phase = (enum mhcs_phase)(row % MHCS_PHASES);
    char text[128], class[40], number[MHCS_NUMBER_BYTES];
    int length;

    if (!cell->worst) {
        fprintf(out, "<rect class=\"nothing\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", x,
                y, CELL_WIDTH - 2, CELL_HEIGHT - 2);
        return;
    }
    if (column->layer >= 0)
        length =
            snprintf(text, sizeof(text), "layer %d %s", column->layer, roles[row / MHCS_PHASES]);
    else
        length = snprintf(text, sizeof(text), "%.24s", column->name);
    snprintf(text + length, sizeof(text) - (size_t)length, ", %s: %s, R %s, %" PRIu64 " rows%s",
             mhcs_phase_name(phase), mhcs_status_name(cell->worst->judgement.status),
             mhcs_text_ratio(cell->worst->judgement.ratio, number), cell->rows,
             cell->sites > 1 ? ", several sites" : "");
    length =
        snprintf(class, sizeof(class), "cell %s ", mhcs_html_status(cell->worst->judgement.status));
    if (isnan(cell->worst->judgement.ratio))
        snprintf(class + length, sizeof(class) - (size_t)length, "unknown");
    else
        snprintf(class + length, sizeof(class) - (size_t)length, "r%zu",
                 step_of(cell->worst->judgement.ratio));
    mhcs_chart_mark(out, class, text,
                    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
                    "<text class=\"sign\" aria-hidden=\"true\" x=\"%d\" y=\"%d\">%s</text>",
                    x, y, CELL_WIDTH - 2, CELL_HEIGHT - 2, x + CELL_WIDTH / 2 - 1, y + 14,
                    sign_of(cell->worst->judgement.status));
}

/* ---- bands ---- */

static int band_height(size_t rows)
{
    return BAND_SPACE + (int)rows * CELL_HEIGHT;
}

static int bands_height(size_t columns, size_t rows)
{
    return (int)((columns + BAND - 1) / BAND) * band_height(rows);
}

static void draw_heading(FILE *out, const struct column *column, int x, int y)
{
    const char *number = NULL;

    fprintf(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">",
            x + CELL_WIDTH / 2 - 1, y);
    if (column->layer >= 0) {
        fprintf(out, "%d", column->layer);
    } else if (!strncmp(column->name, "site", 4)) {
        number = column->name + 4;
        mhcs_html_text(out, number);
    } else {
        fputs(strstr(column->name, "head") ? "head" : "other", out);
    }
    fputs("</text>\n", out);
}

static int draw_bands(FILE *out, const struct column *column, size_t columns, size_t rows, int y)
{
    for (size_t first = 0; first < columns; first += BAND, y += band_height(rows)) {
        fprintf(out, "<text class=\"tick\" x=\"0\" y=\"%d\">%s</text>\n", y + 14,
                rows > MHCS_PHASES ? "layer" : "site");
        for (size_t row = 0; row < rows; row++)
            fprintf(out, "<text class=\"tick\" x=\"0\" y=\"%d\">%s %s</text>\n",
                    y + BAND_SPACE + (int)row * CELL_HEIGHT + 12,
                    rows > MHCS_PHASES ? roles[row / MHCS_PHASES] : "",
                    mhcs_phase_name((enum mhcs_phase)(row % MHCS_PHASES)));
        for (size_t i = first; i < columns && i < first + BAND; i++) {
            const int x = LABELS + (int)(i - first) * CELL_WIDTH;

            draw_heading(out, &column[i], x, y + 14);
            for (size_t row = 0; row < rows; row++)
                draw_cell(out, &column[i], row, x, y + BAND_SPACE - 2 + (int)row * CELL_HEIGHT);
        }
    }
    return y;
}

static void draw_legend(FILE *out, int y)
{
    const int width = 36;

    fputs("<g class=\"legend\" aria-hidden=\"true\">", out);
    fprintf(out, "<text class=\"tick\" x=\"0\" y=\"%d\">R</text>", y + 12);
    for (size_t i = 0; i <= STEPS; i++) {
        fprintf(out,
                "<g class=\"cell r%zu\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"14\"/></g>",
                i, LABELS + (int)i * width, y, width);
        if (i < STEPS)
            fprintf(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">%g</text>",
                    LABELS + ((int)i + 1) * width, y + 27, steps[i]);
    }
    fputs("</g>\n", out);
}

static void draw(FILE *out, const struct map *map)
{
    const int top = 18;
    const int height = top + bands_height(map->layers, ROWS_MAX) +
                       bands_height(map->sites, MHCS_PHASES) + LEGEND_SPACE;
    int y;

    mhcs_chart_begin(
        out, "heat", height, "R by layer, role and phase",
        "A cell for each layer, role and phase, coloured by R, the worse of both "
        "references and of all sizes of call. The table of all sites has the same figures.");
    y = draw_bands(out, map->column, map->layers, ROWS_MAX, top);
    y = draw_bands(out, map->column + map->layers, map->sites, MHCS_PHASES, y);
    draw_legend(out, y + 8);
    mhcs_chart_end(out, "heat",
                   "x: FAIL, !: WARN, ?: too few rows to judge. Dashed: no row was seen. An excess "
                   "that may be chance is no WARN.");
}

/* ---- the same as tables ---- */

/* A site in a phase. */
struct line {
    const struct mhcs_site_line *site;
    enum mhcs_phase phase;
    const struct mhcs_group *worst;
    size_t place; /* in order of sites */
};

static enum mhcs_status status_of(const struct line *line)
{
    return line->worst ? line->worst->judgement.status : MHCS_INSUFFICIENT;
}

static double ratio_of(const struct line *line)
{
    return line->worst && !isnan(line->worst->judgement.ratio) ? line->worst->judgement.ratio : -1;
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;

    if (status_of(a) != status_of(b))
        return status_of(a) > status_of(b) ? -1 : 1;
    if (ratio_of(a) != ratio_of(b))
        return ratio_of(a) > ratio_of(b) ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static size_t list_lines(const struct mhcs_report *report, struct line *lines)
{
    const struct mhcs_collect *collect = report->collect;
    size_t count = 0;

    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++) {
            const struct mhcs_site_line *site = collect->site[i];

            if (!site->line[p])
                continue;
            lines[count] = (struct line){
                site, (enum mhcs_phase)p,
                mhcs_conclusion_find(&report->conclusion, site, (enum mhcs_phase)p), count};
            count++;
        }
    return count;
}

static void print_lines(FILE *out, const struct mhcs_report *report, const char *caption,
                        const struct line *lines, size_t count, bool folded)
{
    static const char *const columns[] = {"site",    "phase",   "verdict", "R",
                                          "rms rel", "p99 rel", "rows",    NULL};
    const enum mhcs_path reference =
        report->collect->reference_rows[MHCS_CHECKPOINT] > 0 ? MHCS_CHECKPOINT : MHCS_OPERANDS;
    char number[4][MHCS_NUMBER_BYTES], text[128];

    snprintf(text, sizeof(text), "%s; rel against the %s", caption, mhcs_html_reference(reference));
    mhcs_html_table(out, text, columns, folded);
    for (size_t i = 0; i < count; i++) {
        const struct mhcs_line *line = lines[i].site->line[lines[i].phase];
        const char *const cells[] = {
            lines[i].site->name,
            mhcs_phase_name(lines[i].phase),
            mhcs_status_name(status_of(&lines[i])),
            mhcs_text_ratio(lines[i].worst ? lines[i].worst->judgement.ratio : NAN, number[0]),
            mhcs_text_number(mhcs_stat_rms(&line->rel[reference]), number[1]),
            mhcs_text_number(mhcs_stat_percentile(&line->rel[reference], 9900), number[2]),
            number[3],
        };

        snprintf(number[3], sizeof(number[3]), "%" PRIu64, line->rows);
        mhcs_html_row(out, cells, sizeof(cells) / sizeof(cells[0]));
    }
    mhcs_html_table_end(out, folded);
}

static void print_tables(FILE *out, const struct mhcs_report *report)
{
    struct line *lines = calloc(report->collect->sites * MHCS_PHASES + 1, sizeof(*lines));
    size_t count;

    if (!lines)
        return;
    fputs("<div>\n", out);
    count = list_lines(report, lines);
    qsort(lines, count, sizeof(*lines), compare_lines);
    print_lines(out, report, "The worst sites", lines, count < WORST ? count : WORST, false);
    count = list_lines(report, lines);
    print_lines(out, report, "All sites", lines, count, true);
    fputs("</div>\n", out);
    free(lines);
}

void mhcs_html_map(FILE *out, const struct mhcs_report *report)
{
    struct map map = {.column = calloc(report->collect->sites * GAP_MAX + 1, sizeof(*map.column))};

    mhcs_html_section(out, "map", "Where");
    fputs("<div class=\"charts\">\n", out);
    if (map.column) {
        add_layers(&map, report);
        add_sites(&map, report);
        draw(out, &map);
        free(map.column);
    }
    print_tables(out, report);
    fputs("</div>\n", out);
    mhcs_html_section_end(out);
}
