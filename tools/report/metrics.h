/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of a row by name: those of the trace's columns without their reference. They are
 * numbered as MHCS_METRIC() does. */
#ifndef MHCS_REPORT_METRICS_H
#define MHCS_REPORT_METRICS_H

#include <stddef.h>

const char *mhcs_metric_name(size_t metric); /* "rel", "y_cosdist" */
const char *mhcs_metric_what(size_t metric); /* half a sentence */
/* -1: no metric has this name. */
int mhcs_metric_find(const char *name);

#endif
