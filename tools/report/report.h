/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of mhcshadow-report share: their list, the common options, and the traces read
 * into one state. */
#ifndef MHCS_REPORT_H
#define MHCS_REPORT_H

#include <argp.h>

#include "tools/report/collect.h"
#include "tools/report/conclude.h"
#include "tools/report/facts.h"
#include "tools/report/input.h"
#include "tools/report/origin.h"
#include "tools/report/scan.h"

/* Every verb, in the order of --help. Each is one file, VERB.c, that defines a struct mhcs_verb of
 * that name, and has a man page, doc/mhcshadow-report-VERB.1. The first one is the default. */
#define MHCS_VERBS(X)                                                                              \
    X(summary)                                                                                     \
    X(layers)                                                                                      \
    X(top)                                                                                         \
    X(hist)                                                                                        \
    X(drift)                                                                                       \
    X(diff)                                                                                        \
    X(export)                                                                                      \
    X(html)                                                                                        \
    X(check)                                                                                       \
    X(verify)

struct mhcs_verb {
    const char *about;     /* half a sentence, as in the NAME of its man page */
    const char *arguments; /* NULL: "TRACE..." */
    const char *notes;     /* behind the options in --help; NULL: none */
    const char *exits;     /* the exit status in words; NULL: MHCS_HELP_EXIT */
    const char *example;   /* what follows the verb on the command line */
    /* Its own options, and what takes them, as in argp(3): keys are letters that no common option
     * has, or from 0x200 on; state->input is `own` of mhcs_options_parse(). NULL: none. */
    const struct argp_option *options;
    argp_parser_t parse;
    enum mhcs_exit (*run)(int argc, char **argv); /* argv[0] is "mhcshadow-report VERB" */
};

#define MHCS_VERB_DECLARE(verb) extern const struct mhcs_verb mhcs_verb_##verb;
MHCS_VERBS(MHCS_VERB_DECLARE)
#undef MHCS_VERB_DECLARE

#define MHCS_HELP_TRACES                                                                           \
    "TRACE is a trace file, a directory (all *.arrows.zst in it), or - for standard input. "       \
    "Traces of several ranks are merged; their order does not matter."
#define MHCS_HELP_EXIT                                                                             \
    "Exit status: 0 fine, 1 over threshold (verdict FAIL), 2 usage or unreadable path, 3 damaged " \
    "trace or too little data to judge."

/* What every verb may be told. */
struct mhcs_options {
    bool salvage;
    unsigned threads; /* 1 .. MHCS_THREADS_MAX */
    char **paths;     /* the arguments that are no options; at least one */
    size_t path_count;
    struct mhcs_extras extras; /* the verb's, not the user's */
};

/* Parses the command line of a verb and sets up the terminal. --help and mistakes end the process
 * (argp(3)), with MHCS_EXIT_USAGE for mistakes. */
void mhcs_options_parse(const struct mhcs_verb *verb, int argc, char **argv,
                        struct mhcs_options *ret_options, void *own);
/* A whole number from `low` to `high`, or a usage error that names the option. */
unsigned long mhcs_options_number(const struct argp_state *state, const char *option,
                                  const char *text, unsigned long low, unsigned long high);

/* Who wrote a trace, and what that process counted. */
struct mhcs_process {
    struct mhcs_origin origin;
    uint64_t rows;
    bool counted;
    uint64_t counter[MHCS_COUNTERS];
};

/* "operands" or "checkpoint" behind --against, or a usage error. */
enum mhcs_path mhcs_options_reference(const struct argp_state *state, const char *text);

/* All traces, read. */
struct mhcs_report {
    struct mhcs_files files, read; /* by name; and in the order of the reading, if it is over */
    struct mhcs_scan *scan;        /* one per file */
    struct mhcs_process *process;  /* one per file, in an order of their own */
    struct mhcs_collect *collect;
    struct mhcs_facts facts;
    struct mhcs_conclusion conclusion; /* if there are rows */
    size_t damaged;                    /* files with damage other than a torn tail, or unreadable */
    size_t torn;
};

/* MHCS_EXIT_FINE if all has been read, be it nothing. Otherwise the reason has been said on stderr.
 * mhcs_report_free() is due in any case. */
enum mhcs_exit mhcs_report_read(struct mhcs_report *ret_report, const struct mhcs_options *options);
/* The same, but MHCS_EXIT_FINE only if there is something to report on; else stdout says why. */
enum mhcs_exit mhcs_report_load(struct mhcs_report *ret_report, const struct mhcs_options *options);
void mhcs_report_free(struct mhcs_report *report);
enum mhcs_exit mhcs_report_exit(const struct mhcs_report *report);

/* The same more than once: each report is on all that the traces hold by then, and new files of the
 * directories. The exit codes are those of mhcs_report_read(). Reports must not outlive the
 * loading; mhcs_loading_end() is due whatever happens. */
struct mhcs_loading {
    const struct mhcs_options *options;
    struct mhcs_files files; /* in the order of the reading */
    struct mhcs_reading *reading;
};
enum mhcs_exit mhcs_loading_begin(struct mhcs_loading *ret_loading,
                                  const struct mhcs_options *options, bool again);
enum mhcs_exit mhcs_loading_next(struct mhcs_loading *loading, struct mhcs_report *ret_report);
void mhcs_loading_end(struct mhcs_loading *loading);

/* Prints reports by `print`, whose exit code it returns, whenever the traces have grown, until
 * SIGINT or SIGTERM; then once more, if they have. */
enum mhcs_exit mhcs_follow(const struct mhcs_options *options,
                           enum mhcs_exit (*print)(const struct mhcs_report *report));

/* Nothing was compared: says so, what is known all the same, and what to check. Returns
 * MHCS_EXIT_DAMAGED. The first and the last of these stand alone too. */
enum mhcs_exit mhcs_report_nothing(FILE *out, const struct mhcs_report *report);
void mhcs_report_no_rows(FILE *out, const struct mhcs_report *report);
void mhcs_report_remedy(FILE *out, const struct mhcs_report *report);
/* Lines about damaged, torn, or capped files; nothing if there are none. */
void mhcs_report_troubles(FILE *out, const struct mhcs_report *report);
/* Sections of the summary. */
void mhcs_report_run(FILE *out, const struct mhcs_report *report);
void mhcs_report_coverage(FILE *out, const struct mhcs_report *report);
void mhcs_report_weights(FILE *out, const struct mhcs_report *report); /* nothing if all is well */
void mhcs_report_errors(FILE *out, const struct mhcs_report *report);
void mhcs_report_noise(FILE *out, const struct mhcs_report *report);
/* Thresholds in use, then the verdict. */
void mhcs_report_verdict(FILE *out, const struct mhcs_report *report);
/* The last lines of a verb: troubles and verdict. Returns mhcs_report_exit(). */
enum mhcs_exit mhcs_report_end(FILE *out, const struct mhcs_report *report);

/* What makes the run say less than it seems, a sentence each; how many there are. `phases`: also
 * the phases that were not seen, which mhcs_report_sentence() says too. */
#define MHCS_WARNINGS_MAX 6
size_t mhcs_report_warnings(const struct mhcs_report *report, bool phases,
                            const char *ret_warnings[MHCS_WARNINGS_MAX]);
const char *mhcs_report_reason(int reason); /* of enum mhcs_reason, in words */

/* The same as text without line breaks, for other forms of a report. */
void mhcs_report_sentence(FILE *out, const struct mhcs_report *report);
void mhcs_report_thresholds(FILE *out, const struct mhcs_report *report);

#define MHCS_SIMULATED "SIMULATED GPU: these numbers come from the CPU simulation, not from a GPU."
#define MHCS_NO_CHECKPOINT                                                                         \
    "No checkpoint was compared: what rounding of the stored weights costs is not in these "       \
    "numbers."

/* The error figures against one reference in the summary's order, those with values. */
struct mhcs_error_line {
    const char *heading; /* the same pointer for those that stand together */
    char label[MHCS_PATH_BYTES + 8];
    const struct mhcs_stat *stat;
};
#define MHCS_ERROR_LINES_MAX (MHCS_METRICS + MHCS_COLLECT_PATHS_MAX + 4)
size_t mhcs_report_error_lines(const struct mhcs_report *report, enum mhcs_path reference,
                               struct mhcs_error_line *ret_lines);
const char *mhcs_report_reference(enum mhcs_path reference); /* what errors are against, in words */

#endif
