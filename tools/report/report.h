/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of mhcshadow-report share: the table of verbs, the common options, and the traces
 * read into one state. Each verb is one file. */
#ifndef MHCS_REPORT_H
#define MHCS_REPORT_H

#include <argp.h>

#include "tools/report/collect.h"
#include "tools/report/conclude.h"
#include "tools/report/facts.h"
#include "tools/report/input.h"

/* X(verb, what it does) */
#define MHCS_VERBS(X)                                                                              \
    X(summary, "what ran, what was seen, how large the errors are, a verdict (default)")           \
    X(layers, "one line per site and phase")                                                       \
    X(verify, "check every byte of the traces")

/* Each takes the arguments behind its name (argv[0] is "mhcshadow-report VERB") and returns an
 * enum mhcs_exit. */
#define MHCS_VERB_RUN(verb, doc) int mhcs_report_##verb(int argc, char **argv);
MHCS_VERBS(MHCS_VERB_RUN)
#undef MHCS_VERB_RUN

/* Common options, to be the first child of a verb's parser and get a struct mhcs_options. */
struct mhcs_options {
    bool salvage;
    char **paths;
    size_t path_count;
};
extern const struct argp mhcs_common_argp;
#define MHCS_ARGS_DOC "TRACE..."

/* Behind the verb's own words in --help. */
#define MHCS_HELP_TRACES                                                                           \
    "TRACE is a trace file, a directory (all *.arrows.zst in it), or - for standard input. "       \
    "Traces "                                                                                      \
    "of several ranks are merged; their order does not matter."
#define MHCS_HELP_EXIT                                                                             \
    "Exit status: 0 fine, 1 over threshold (verdict FAIL), 2 usage or unreadable path, 3 damaged " \
    "trace or too little data to judge."

/* All traces, read. */
struct mhcs_report {
    struct mhcs_files files;
    struct mhcs_scan *scan; /* one per file */
    struct mhcs_collect *collect;
    struct mhcs_facts facts;
    struct mhcs_conclusion conclusion; /* if there are rows */
    size_t damaged;                    /* files with damage other than a torn tail, or unreadable */
    size_t torn;
};

/* MHCS_EXIT_FINE if there is something to report on. Otherwise the reason has been said and the
 * exit code is returned; mhcs_report_free() is due all the same. */
enum mhcs_exit mhcs_report_load(struct mhcs_report *ret_report, const struct mhcs_options *options);
void mhcs_report_free(struct mhcs_report *report);
enum mhcs_exit mhcs_report_exit(const struct mhcs_report *report);

/* Nothing was compared: says so, with what to check. */
void mhcs_report_nothing(FILE *out, const struct mhcs_report *report);
/* Lines about damaged, torn, or capped files; nothing if there are none. */
void mhcs_report_troubles(FILE *out, const struct mhcs_report *report);
/* Sections of the summary. */
void mhcs_report_run(FILE *out, const struct mhcs_report *report);
void mhcs_report_coverage(FILE *out, const struct mhcs_report *report);
void mhcs_report_weights(FILE *out, const struct mhcs_report *report); /* nothing if all is well */
void mhcs_report_errors(FILE *out, const struct mhcs_report *report);
void mhcs_report_noise(FILE *out, const struct mhcs_report *report);
/* The last lines: thresholds in use, then the verdict. */
void mhcs_report_verdict(FILE *out, const struct mhcs_report *report);

#endif
