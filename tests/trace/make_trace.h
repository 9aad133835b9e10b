/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic traces for tests: rows whose production coefficients differ from the references by
 * rounding noise of a known size. Same plan, same records. */
#ifndef MHCS_TEST_MAKE_TRACE_H
#define MHCS_TEST_MAKE_TRACE_H

#include <limits.h>

#include "shadow/trace/trace.h"

struct make_trace_plan {
    uint64_t seed;
    const char *facts;     /* JSON of the J frame; NULL: {} */
    const char *path;      /* declared precision path */
    uint32_t layers;       /* two sites each (attn, ffn); then the head's */
    uint32_t calls;        /* sampled calls of each site */
    uint32_t rows;         /* token rows per call */
    int32_t tokens;        /* of each call */
    double operands_rel;   /* rms relative error against the operands reference */
    double checkpoint_rel; /* added by the weights' rounding: the checkpoint's is sqrt(a^2 + b^2) */
    bool checkpoint;       /* false: no checkpoint, so no layer, no role, and names site0, site1 */
    int64_t start, step;   /* unix ns of the first call; from one call to the next */
    uint64_t dropped;
    enum mhcs_trace_end end; /* 0: no end mark, as after SIGKILL */
    /* Has the last word on each record before it is appended; NULL: none. After changing raw
     * coefficients call make_row_metrics(). */
    void (*edit)(struct mhcs_record *record, struct mhcs_row_result *result, void *context);
    void *context;
};

/* 3 layers (7 sites), 4 calls of 16 rows each, bf16 weights and output with a checkpoint. */
struct make_trace_plan make_trace_default(void);

/* Writes a trace below `dir`; 0 or a negative errno. */
int make_trace(const struct make_trace_plan *plan, const char *dir, char ret_path[PATH_MAX]);

/* One row of 24 or 4 coefficients; `state` is a splitmix64 counter. */
void make_row(struct mhcs_row_result *ret_result, uint64_t *state, uint32_t coefficients,
              double operands_rel, double checkpoint_rel, bool checkpoint);
/* Recomputes, from result->raw, nonfinite and the metrics against one reference: rel and its
 * groups, max_abs, ulp and bias exactly; those behind the maps as fixed shares of rel. */
void make_row_metrics(struct mhcs_row_result *result, uint32_t coefficients,
                      enum mhcs_path reference);

#endif
