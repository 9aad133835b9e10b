/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of `export`. Rows and events are written while the traces are read, so that memory
 * does not grow with them; the others hold what a report holds. */
#ifndef MHCS_REPORT_EXPORT_H
#define MHCS_REPORT_EXPORT_H

#include "tools/report/origin.h"
#include "tools/report/report.h"
#include "tools/report/rows.h"

/* A format that follows the rows. Each returns 0 or a negative errno, which ends the export; `out`
 * tells write errors itself. `state` is the format's own, all zero at first. Any may be NULL. */
struct mhcs_row_format {
    size_t state_size;
    int (*begin)(FILE *out, void *state);
    int (*file)(FILE *out, void *state, const struct mhcs_origin *origin); /* before its rows */
    /* The batch is bound to `rows`. */
    int (*batch)(FILE *out, void *state, const struct mhcs_origin *origin,
                 struct mhcs_row_reader *rows, uint32_t count);
    int (*end_file)(FILE *out, void *state);
    int (*end)(FILE *out, void *state);
    void (*free)(void *state);
};
extern const struct mhcs_row_format mhcs_export_jsonl, mhcs_export_csv, mhcs_export_perfetto;

/* All of the report. 0 or -ENOMEM. */
int mhcs_export_json(FILE *out, const struct mhcs_report *report);
int mhcs_export_openmetrics(FILE *out, const struct mhcs_report *report);

#endif
