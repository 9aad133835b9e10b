/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one JSON object. */
#include <errno.h>
#include <stdlib.h>

#include "tools/report/export.h"
#include "tools/report/model_json.h"

int mhcs_export_json(FILE *out, const struct mhcs_report *report)
{
    cJSON *model = mhcs_model_json(report);
    char *text = model ? cJSON_Print(model) : NULL;

    if (text)
        fprintf(out, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(model);
    return text ? 0 : -ENOMEM;
}
