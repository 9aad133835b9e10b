/* SPDX-License-Identifier: Apache-2.0 */
/* The origin in a trace's first facts. */
#include "tools/report/origin.h"

#include <cjson/cJSON.h>
#include <stdio.h>

static void copy(char *to, size_t size, const cJSON *json, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));

    if (text)
        snprintf(to, size, "%s", text);
}

void mhcs_origin_add(struct mhcs_origin *origin, const char *text)
{
    cJSON *json = cJSON_Parse(text);
    const cJSON *pid = cJSON_GetObjectItemCaseSensitive(json, "pid");

    if (cJSON_HasObjectItem(json, "format")) {
        copy(origin->host, sizeof(origin->host), json, "host");
        copy(origin->label, sizeof(origin->label), json, "label");
        if (cJSON_IsNumber(pid) && pid->valuedouble >= 0 && pid->valuedouble <= INT32_MAX)
            origin->pid = (int64_t)pid->valuedouble;
    }
    cJSON_Delete(json);
}
