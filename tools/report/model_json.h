/* SPDX-License-Identifier: Apache-2.0 */
/* A whole report as one JSON object, which `export --format=json` prints and
 * mhcshadow-report-export(1) describes. A key never changes its meaning within a version, and
 * readers ignore keys that they do not know. */
#ifndef MHCS_REPORT_MODEL_JSON_H
#define MHCS_REPORT_MODEL_JSON_H

#include <cjson/cJSON.h>

#include "tools/report/report.h"

#define MHCS_MODEL_JSON_VERSION 1

/* `report` was read with samples, for "layers" to have a product. NULL: out of memory. The caller
 * frees it with cJSON_Delete(). */
cJSON *mhcs_model_json(const struct mhcs_report *report);

#endif
