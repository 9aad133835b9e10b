/* SPDX-License-Identifier: Apache-2.0 */
/* What the traces say about the processes that wrote them: JSON facts (shadow/facts.h has the
 * schema) merged over all files. A fact that is absent or of another type is simply not known. */
#ifndef MHCS_REPORT_FACTS_H
#define MHCS_REPORT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/reason.h"
#include "tools/report/distinct.h"
#include "tools/report/maps.h"

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

/* Further ones, each by its name. X(name). weights: "layers.8.hc_attn_fn*: how it differs from the
 * checkpoint". places: addresses whose weights changed, or are another layer's. events: fallbacks,
 * disarmings, reasons that this version does not know. likeness: what two runs must share for their
 * errors to be comparable. */
#define MHCS_DISTINCTS(X)                                                                          \
    X(events)                                                                                      \
    X(likeness)                                                                                    \
    X(places)                                                                                      \
    X(weights)

struct mhcs_facts {
    struct mhcs_distinct fact[MHCS_FACTS_COUNT];
#define MHCS_DISTINCT_MEMBER(name) struct mhcs_distinct name;
    MHCS_DISTINCTS(MHCS_DISTINCT_MEMBER)
#undef MHCS_DISTINCT_MEMBER
    struct mhcs_maps maps;
    char **process; /* "host pid" */
    size_t processes, processes_room;
    bool simulated;     /* some GPU or driver is a simulation */
    bool neutral_model; /* some process ran the maps with scale 1, base 0 */
    bool counted;       /* some file has counters */
    uint64_t counter[MHCS_COUNTERS];
    uint64_t reason[MHCS_REASONS_COUNT];
    uint64_t checked, checked_cublas; /* samples checked against fp64; of these by cuBLAS */
};

/* One J frame; text that is not JSON is ignored (its checksum was right, its meaning unknown). Of
 * the cumulative counters of one process the last frame wins, so each trace has facts of its own. 0
 * or -ENOMEM. */
int mhcs_facts_add(struct mhcs_facts *facts, const char *json);
/* Adds another trace's. 0 or -ENOMEM. */
int mhcs_facts_merge(struct mhcs_facts *facts, const struct mhcs_facts *from);
/* Whether the server multiplied with anything but the checkpoint's weights, each at its place. */
bool mhcs_facts_weights_differ(const struct mhcs_facts *facts);
void mhcs_facts_sort(struct mhcs_facts *facts);
void mhcs_facts_free(struct mhcs_facts *facts); /* what it holds, not itself */

#endif
