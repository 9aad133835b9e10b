/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a report as JSON: parts of model_json.h. Failures go where json_put.h says. */
#ifndef MHCS_REPORT_MODEL_FIGURES_H
#define MHCS_REPORT_MODEL_FIGURES_H

#include <cjson/cJSON.h>

#include "tools/report/report.h"

/* Who a group is and how it is judged. */
void mhcs_model_put_group(bool *failed, cJSON *to, const char *key, const struct mhcs_group *group);

/* Keys "check", "errors", "paths", "sites", "timeline" and "layers". */
void mhcs_model_put_figures(bool *failed, cJSON *to, const struct mhcs_report *report);

#endif
