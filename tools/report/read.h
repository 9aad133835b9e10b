/* SPDX-License-Identifier: Apache-2.0 */
/* Reading traces with several threads: over files, and within a file where there are fewer files
 * than threads. What comes out does not depend on their number: a batch counts if all before it in
 * its file are good, as if the file had been read in order, and statistics merge exactly. */
#ifndef MHCS_REPORT_READ_H
#define MHCS_REPORT_READ_H

#include "tools/report/collect.h"
#include "tools/report/facts.h"
#include "tools/report/origin.h"
#include "tools/report/scan.h"

/* Belongs to one thread, which others help while mhcs_reading_run() runs. */
struct mhcs_reading;

/* `collects`: else the traces are only checked. `again`: mhcs_reading_run() may be called more than
 * once, and files stay open. NULL: no memory. */
struct mhcs_reading *mhcs_reading_new(unsigned threads, bool salvage, bool collects, bool again);
void mhcs_reading_free(struct mhcs_reading *reading);

/* Before the first file. 0 or -ENOMEM. */
int mhcs_reading_extras(struct mhcs_reading *reading, const struct mhcs_extras *extras);

/* A file to read; `name` must outlive the reading. 0 or -ENOMEM. */
int mhcs_reading_add(struct mhcs_reading *reading, const char *name);
/* Reads all files to their ends; another time, what has been written to them since, and new files.
 * 0 or -ENOMEM. */
int mhcs_reading_run(struct mhcs_reading *reading);

/* What has been read so far. The scan of the i-th file added is good until the next call. */
const struct mhcs_scan *mhcs_reading_scan(const struct mhcs_reading *reading, size_t i);
/* The facts of that file alone, and who wrote it; good as long. */
const struct mhcs_facts *mhcs_reading_own_facts(const struct mhcs_reading *reading, size_t i);
const struct mhcs_origin *mhcs_reading_origin(const struct mhcs_reading *reading, size_t i);
/* Adds all rows or facts to these. 0 or -ENOMEM. */
int mhcs_reading_collect(const struct mhcs_reading *reading, struct mhcs_collect *collect);
int mhcs_reading_facts(const struct mhcs_reading *reading, struct mhcs_facts *facts);

#endif
