/* SPDX-License-Identifier: Apache-2.0 */
/* Scale and base out of JSON. */
#include "tools/report/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static int add_map(struct mhcs_maps *maps, const char *site, const float scale[3],
                   const float base[MHCS_COEFFICIENTS])
{
    struct mhcs_map *map;

    for (size_t i = 0; i < maps->count; i++)
        if (!strcmp(maps->map[i].site, site)) {
            maps->unlike |= memcmp(maps->map[i].scale, scale, 3 * sizeof(*scale)) != 0 ||
                            memcmp(maps->map[i].base, base, sizeof(maps->map[i].base)) != 0;
            return 0;
        }
    if (maps->count == maps->room) {
        const size_t room = maps->room ? 2 * maps->room : 32;

        map = reallocarray(maps->map, room, sizeof(*map));
        if (!map)
            return -ENOMEM;
        maps->map = map;
        maps->room = room;
    }
    map = &maps->map[maps->count];
    map->site = strdup(site);
    if (!map->site)
        return -ENOMEM;
    memcpy(map->scale, scale, sizeof(map->scale));
    memcpy(map->base, base, sizeof(map->base));
    maps->count++;
    return 0;
}

static void set_model(struct mhcs_maps *maps, bool neutral, float hc_eps, int32_t iterations)
{
    maps->unlike |= maps->known && (maps->neutral != neutral || maps->hc_eps != hc_eps ||
                                    maps->iterations != iterations);
    maps->known = true;
    maps->neutral = neutral;
    maps->hc_eps = hc_eps;
    maps->iterations = iterations;
}

static void add_model(struct mhcs_maps *maps, const cJSON *model)
{
    const char *source = cJSON_GetStringValue(get(model, "source"));
    const cJSON *eps = get(model, "hc_eps"), *iterations = get(model, "iterations");

    if (cJSON_IsNumber(eps) && cJSON_IsNumber(iterations) && iterations->valueint > 0 &&
        iterations->valueint <= 1000)
        set_model(maps, !source || !*source || !strcmp(source, "none"), (float)eps->valuedouble,
                  iterations->valueint);
}

/* False: not a list of `count` numbers. */
static bool get_list(const cJSON *list, float *to, int count)
{
    if (cJSON_GetArraySize(list) != count)
        return false;
    for (int i = 0; i < count; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);

        if (!cJSON_IsNumber(item))
            return false;
        to[i] = (float)item->valuedouble;
    }
    return true;
}

int mhcs_maps_add(struct mhcs_maps *maps, const cJSON *json)
{
    const cJSON *site;
    int ret = 0;

    if (cJSON_IsObject(get(json, "model")))
        add_model(maps, get(json, "model"));
    cJSON_ArrayForEach(site, get(json, "sites"))
    {
        const char *name = cJSON_GetStringValue(get(site, "name"));
        float scale[3], base[MHCS_COEFFICIENTS];

        if (!ret && name && get_list(get(site, "scale"), scale, 3) &&
            get_list(get(site, "base"), base, MHCS_COEFFICIENTS))
            ret = add_map(maps, name, scale, base);
    }
    return ret;
}

int mhcs_maps_merge(struct mhcs_maps *maps, const struct mhcs_maps *from)
{
    int ret = 0;

    if (from->known)
        set_model(maps, from->neutral, from->hc_eps, from->iterations);
    maps->unlike |= from->unlike;
    for (size_t i = 0; i < from->count && !ret; i++)
        ret = add_map(maps, from->map[i].site, from->map[i].scale, from->map[i].base);
    return ret;
}

void mhcs_maps_free(struct mhcs_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        free(maps->map[i].site);
    free(maps->map);
    *maps = (struct mhcs_maps){0};
}

bool mhcs_maps_find(const struct mhcs_maps *maps, const char *site,
                    struct mhcs_model_params *ret_params)
{
    *ret_params = (struct mhcs_model_params){
        .scale = {1, 1, 1}, .hc_eps = maps->hc_eps, .iterations = maps->iterations};
    if (!maps->known || maps->unlike)
        return false;
    if (maps->neutral)
        return true;
    for (size_t i = 0; i < maps->count; i++)
        if (!strcmp(maps->map[i].site, site)) {
            memcpy(ret_params->scale, maps->map[i].scale, sizeof(ret_params->scale));
            memcpy(ret_params->base, maps->map[i].base, sizeof(ret_params->base));
            return true;
        }
    return false;
}
