/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of the server that are not the checkpoint's. */
#include <stdlib.h>

#include "tools/report/report.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

void mhcs_report_weights(FILE *out, const struct mhcs_report *report)
{
    const struct mhcs_distinct *weights = &report->facts.weights;

    if (weights->count == 0)
        return;
    fprintf(out, "%sWeights that are not the checkpoint's%s\n", mhcs_colour(MHCS_YELLOW),
            mhcs_colour(MHCS_PLAIN));
    for (size_t i = 0; i < weights->count && i < MHCS_DISTINCT_SHOWN; i++) {
        char *text = NULL;

        if (asprintf(&text, "%s%s", weights->value[i].text,
                     weights->value[i].files > 1 ? " (several processes)" : "") < 0)
            return;
        mhcs_text_wrap(out, "  * ", text);
        free(text);
    }
    if (weights->count > MHCS_DISTINCT_SHOWN)
        fprintf(out, "  and %zu more\n", weights->count - MHCS_DISTINCT_SHOWN);
    mhcs_text_wrap(
        out, "  ",
        "A star marks a site whose weights differ; its errors against the checkpoint are "
        "those of the wrong weights. Fine if the server was tuned or updated on purpose.");
    fputc('\n', out);
}
