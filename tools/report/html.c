/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report html: the report as one page that needs nothing else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/html.h"
#include "tools/report/term.h"

extern const char mhcs_html_css[]; /* html.css */

struct html_options {
    const char *output; /* NULL: standard output */
};

static const struct argp_option option_list[] = {
    {"output", 'o', "FILE", 0, "write to FILE instead of standard output", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct html_options *options = state->input;

    if (key != 'o')
        return ARGP_ERR_UNKNOWN;
    options->output = argument;
    return 0;
}

static void print_head(FILE *out, const struct mhcs_report *report)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    mhcs_html_elementf(out, "title", "", "mhcshadow: %s",
                       mhcs_status_name(report->conclusion.status));
    /* No request for an icon either. */
    fputs("<link rel=\"icon\" href=\"data:,\">\n<style>\n", out);
    fputs(mhcs_html_css, out);
    fputs("</style>\n</head>\n", out);
}

/* X(id and function, heading in the list, is of rows) */
#define SECTIONS(X)                                                                                \
    X(verdict, "Verdict", false)                                                                   \
    X(map, "Where", true)                                                                          \
    X(spread, "How large", true)                                                                   \
    X(sizes, "By size of call", true)                                                              \
    X(drift, "Over time", true)                                                                    \
    X(errors, "Figures", true)                                                                     \
    X(coverage, "Coverage", false)                                                                 \
    X(provenance, "What ran", false)

static void print_body(FILE *out, const struct mhcs_report *report)
{
    const bool rows = report->collect->rows > 0;

    fputs("<body>\n<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n"
          "<header><h1>mhcshadow: does the precision of the mHC mixing GEMM matter?</h1>\n"
          "<nav aria-label=\"Sections\"><ul>\n",
          out);
#define LINK(id, heading, of_rows)                                                                 \
    if (rows || !(of_rows))                                                                        \
        fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", #id, heading);
    SECTIONS(LINK)
#undef LINK
    fputs("</ul></nav></header>\n<main id=\"main\" tabindex=\"-1\">\n", out);
#define PRINT(id, heading, of_rows)                                                                \
    if (rows || !(of_rows))                                                                        \
        mhcs_html_##id(out, report);
    SECTIONS(PRINT)
#undef PRINT
    fputs("</main>\n</body>\n</html>\n", out);
}

/* Complete in memory before the first byte is written; NULL: no memory. */
static char *make_page(const struct mhcs_report *report, size_t *ret_size)
{
    char *page = NULL;
    FILE *out = open_memstream(&page, ret_size);

    if (!out)
        return NULL;
    print_head(out, report);
    print_body(out, report);
    if (!fclose(out))
        return page;
    free(page);
    return NULL;
}

/* 0 or an errno. */
static int write_file(const char *name, const char *page, size_t size)
{
    FILE *file = fopen(name, "w");
    int error = 0;

    if (!file)
        return errno;
    if (fwrite(page, 1, size, file) != size)
        error = errno;
    if (fclose(file) && !error)
        error = errno;
    return error;
}

static enum mhcs_exit write_page(const struct mhcs_report *report, const char *name)
{
    size_t size = 0;
    char *page = make_page(report, &size);
    int error = 0;

    if (!page)
        error = ENOMEM;
    else if (name)
        error = write_file(name, page, size);
    else
        fwrite(page, 1, size, stdout); /* main() sees whether it arrived */
    free(page);
    if (!error)
        return mhcs_report_exit(report);
    fprintf(stderr, "mhcshadow-report: %s: %s\n", name ? name : "html", strerror(error));
    return MHCS_EXIT_DAMAGED;
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct html_options own = {0};
    struct mhcs_options options;
    struct mhcs_report report;
    enum mhcs_exit code;

    mhcs_options_parse(&mhcs_verb_html, argc, argv, &options, &own);
    mhcs_term_setup(&(struct mhcs_term_options){
        .colour = MHCS_NEVER, .ascii = true, .width = MHCS_TERM_WIDTH_MAX});
    code = mhcs_report_read(&report, &options);
    if (code == MHCS_EXIT_FINE)
        code = write_page(&report, own.output);
    mhcs_report_free(&report);
    return code;
}

const struct mhcs_verb mhcs_verb_html = {
    .about = "the report as one HTML page that needs nothing else",
    .notes = "The page has no script and asks for nothing from a network. Its charts show their "
             "figures to the pointer and to the tab key, and have tables beside them.",
    .example = "-o report.html /var/tmp/mhc",
    .options = option_list,
    .parse = parse,
    .run = run,
};
