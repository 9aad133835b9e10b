/* SPDX-License-Identifier: Apache-2.0 */
/* What the traces say about the processes that wrote them: JSON facts (shadow/facts.h has the
 * schema) merged over all files. A fact that is absent or of another type is simply not known. */
#ifndef MHCS_REPORT_FACTS_H
#define MHCS_REPORT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/reason.h"

/* Facts shown as text, one line each. X(NAME, label). */
#define MHCS_FACTS(X)                                                                              \
    X(LIBRARY, "library")                                                                          \
    X(COMMAND, "command")                                                                          \
    X(LABEL, "label")                                                                              \
    X(GPU, "GPU")                                                                                  \
    X(DRIVER, "driver")                                                                            \
    X(CUBLAS, "cuBLAS")                                                                            \
    X(ENVIRONMENT, "environment")                                                                  \
    X(MODEL, "model")                                                                              \
    X(SAMPLING, "sampling")                                                                        \
    X(ENGINE, "engine")                                                                            \
    X(SHAPE, "shape")

enum mhcs_fact {
#define MHCS_FACT_ENUM(name, label) MHCS_FACT_##name,
    MHCS_FACTS(MHCS_FACT_ENUM)
#undef MHCS_FACT_ENUM
        MHCS_FACTS_COUNT
};
extern const char *const mhcs_fact_label[MHCS_FACTS_COUNT];

/* The different values that the files give for one fact, each printable ASCII. */
#define MHCS_DISTINCT_MAX 8
struct mhcs_distinct {
    struct {
        char *text;
        uint64_t files;
    } value[MHCS_DISTINCT_MAX];
    size_t count;
    uint64_t further; /* files with a value that found no place */
};

struct mhcs_facts {
    struct mhcs_distinct fact[MHCS_FACTS_COUNT];
    struct mhcs_distinct
        events; /* fallbacks, disarmings, reasons that this version does not know */
    struct mhcs_distinct weights;  /* "layers.8.hc_attn_fn*: how it differs from the checkpoint" */
    struct mhcs_distinct likeness; /* what two runs must share for their errors to be comparable */
    char **process;                /* "host pid" */
    size_t processes, processes_room;
    bool simulated;     /* some GPU or driver is a simulation */
    bool neutral_model; /* some process ran the maps with scale 1, base 0 */
    bool counted;       /* some file has counters */
    uint64_t counter[MHCS_COUNTERS];
    uint64_t reason[MHCS_REASONS_COUNT];
    uint64_t checked, checked_cublas; /* samples checked against fp64; of these by cuBLAS */

    /* Of the file being read: cumulative, so that the last frame wins. */
    bool file_counted;
    uint64_t file_counter[MHCS_COUNTERS];
    uint64_t file_reason[MHCS_REASONS_COUNT];
    uint64_t file_checked, file_checked_cublas;
};

/* One J frame; text that is not JSON is ignored (its checksum was right, its meaning unknown).
 * 0 or -ENOMEM. */
int mhcs_facts_add(struct mhcs_facts *facts, const char *json);
/* After the last frame of a file. */
void mhcs_facts_end_file(struct mhcs_facts *facts);
void mhcs_facts_sort(struct mhcs_facts *facts);
/* Both hold the same texts, sorted, however many files have them. */
bool mhcs_distinct_equal(const struct mhcs_distinct *a, const struct mhcs_distinct *b);
void mhcs_facts_free(struct mhcs_facts *facts); /* what it holds, not itself */

#endif
