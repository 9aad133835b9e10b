/* SPDX-License-Identifier: Apache-2.0 */
/* Names of metrics, from the list of columns. */
#include "tools/report/metrics.h"

#include <string.h>

#include "shadow/trace/columns.h"
#include "tools/report/collect.h"

/* offsetof() takes a list's "m.rel" as a member of this. */
struct holder {
    struct mhcs_row_metrics m;
};

static const struct {
    const char *name, *what;
} metrics[MHCS_METRICS] = {
/* Without a reference before it a column is called "_rel". */
#define METRIC(column, type, when, member, doc)                                                    \
    [offsetof(struct holder, member) / sizeof(float)] = {&#column[1], doc},
    MHCS_TRACE_METRICS(METRIC, , ALWAYS, m) MHCS_TRACE_MORE_METRICS(METRIC, , ALWAYS, m)
#undef METRIC
};

const char *mhcs_metric_name(size_t metric)
{
    return metrics[metric].name;
}

const char *mhcs_metric_what(size_t metric)
{
    return metrics[metric].what;
}

int mhcs_metric_find(const char *name)
{
    for (size_t i = 0; i < MHCS_METRICS; i++)
        if (!strcmp(metrics[i].name, name))
            return (int)i;
    return -1;
}
