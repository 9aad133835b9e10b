/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of the server that are not the checkpoint's. */
#include <stdlib.h>

#include "tools/report/report.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

static void print_list(FILE *out, const struct mhcs_distinct *list)
{
    for (size_t i = 0; i < list->count && i < MHCS_DISTINCT_SHOWN; i++) {
        char *text = NULL;

        if (asprintf(&text, "%s%s", list->value[i].text,
                     list->value[i].files > 1 ? " (several processes)" : "") < 0)
            return;
        mhcs_text_wrap(out, "  * ", text);
        free(text);
    }
    if (list->count > MHCS_DISTINCT_SHOWN)
        fprintf(out, "    and %zu more\n", list->count - MHCS_DISTINCT_SHOWN);
}

/* What happened at an address first: a reload makes many weights differ, each listed behind it. */
void mhcs_report_weights(FILE *out, const struct mhcs_report *report)
{
    if (!mhcs_facts_weights_differ(&report->facts))
        return;
    fprintf(out, "%sWeights that are not the checkpoint's%s\n", mhcs_colour(MHCS_YELLOW),
            mhcs_colour(MHCS_PLAIN));
    print_list(out, &report->facts.places);
    print_list(out, &report->facts.weights);
    mhcs_text_wrap(
        out, "  ",
        "A star marks a site whose weights differ; its errors against the checkpoint are "
        "those of the wrong weights. Fine if the server was tuned or updated on purpose.");
    fputc('\n', out);
}
