/* SPDX-License-Identifier: Apache-2.0 */
/* A whole trace in memory, for tests: rows and facts. */
#ifndef TRACES_H
#define TRACES_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernels.h"

struct trace_row {
    int64_t time, call;
    int32_t site, tokens, row;
    char site_name[24], path[48], role[8]; /* role "": null */
    bool graph, padded, layer_known, checkpoint_known, checked;
    int16_t nonfinite, device;
    float rms, check, rel;
    float production[MHCS_COEFFICIENTS], operands[MHCS_COEFFICIENTS];
};

struct trace {
    struct trace_row *rows;
    uint32_t count;
    cJSON *process;        /* the first frame */
    cJSON *counters;       /* the last ones; NULL: none */
    cJSON *sites, *events; /* arrays, of all frames */
    int end;               /* enum mhcs_trace_end; 0: not closed */
    uint64_t dropped;      /* as of the end mark */
};

/* Number of traces in `dir` (all processes). */
int traces_count(const char *dir);
/* Bytes of the one trace in `dir`; 0: there is none yet. */
int64_t traces_size(const char *dir);
/* Reads the trace of `pid` (0: the only one). False, with a message on stderr, if there is none or
 * it is damaged. */
bool trace_read(struct trace *trace, const char *dir, int pid);
void trace_free(struct trace *trace);

/* Number of events of a kind; `reason` NULL: any, else a part of their reason. */
int trace_events(const struct trace *trace, const char *event, const char *reason);
/* A counter, -1 if there are none. */
int64_t trace_counter(const struct trace *trace, const char *name);
int64_t trace_reason(const struct trace *trace, const char *key);

#endif
