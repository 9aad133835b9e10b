/* SPDX-License-Identifier: Apache-2.0 */
/* Reads config.json. */
#include "shadow/model/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shadow/model/pull.h"

#define KEY_BYTES 256 /* longer keys are as malformed as a missing brace */

static const struct field {
    size_t offset;
    double usual;
    const char *names[2];
} fields[] = {
#define FIELD(member, usual, name, other)                                                          \
    {offsetof(struct mhcs_config, member), usual, {name, other}},
    MHCS_CONFIG_FIELDS(FIELD)
#undef FIELD
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

struct reader {
    struct mhcs_pull pull;
    struct mhcs_config *config;
    bool found[FIELDS];
    char bad[KEY_BYTES + 64]; /* what is wrong with a field */
};

static double *value_of(struct mhcs_config *config, size_t i)
{
    return (double *)(void *)((char *)config + fields[i].offset);
}

/* Puts what DeepSeek-V4 has where nothing was found, and names it. */
static void complete(struct mhcs_config *config, const bool found[FIELDS])
{
    size_t used = 0;

    for (size_t i = 0; i < FIELDS; i++) {
        if (found[i])
            continue;
        *value_of(config, i) = fields[i].usual;
        used += (size_t)snprintf(config->missing + used, sizeof(config->missing) - used, "%s%s",
                                 used ? ", " : "", fields[i].names[0]);
    }
}

void mhcs_config_default(struct mhcs_config *ret_config)
{
    static const bool nothing[FIELDS];

    *ret_config = (struct mhcs_config){0};
    complete(ret_config, nothing);
}

static const struct field *find_field(const char *key)
{
    for (size_t i = 0; i < FIELDS; i++)
        for (int n = 0; n < 2; n++)
            if (*fields[i].names[n] && strcmp(fields[i].names[n], key) == 0)
                return &fields[i];
    return NULL;
}

/* Counts are positive and whole, epsilons from 0 to below 1. */
static bool is_possible(const struct field *field, double value)
{
    const bool epsilon = field->usual > 0 && field->usual < 1;

    return epsilon ? value >= 0 && value < 1
                   : value >= 1 && value <= 1 << 20 && value == (double)(int)value;
}

/* `found` is of one object: text_config and the one around it may both have a field. */
static bool read_field(struct reader *reader, const struct field *field, const char *key,
                       bool found[FIELDS])
{
    const size_t i = (size_t)(field - fields);
    double value;

    if (mhcs_pull_kind(&reader->pull) == 'n') { /* null is as good as absent */
        mhcs_pull_skip(&reader->pull);
        return true;
    }
    if (!mhcs_pull_number(&reader->pull, &value))
        return false;
    if (found[i] || !is_possible(field, value)) {
        snprintf(reader->bad, sizeof(reader->bad), found[i] ? "%s: given twice" : "%s: %g can't be",
                 key, value);
        return false;
    }
    found[i] = true;
    *value_of(reader->config, i) = value;
    return true;
}

/* Members of text_config, where the multimodal models keep their language model's. */
static bool read_text_config(struct reader *reader, bool inside[FIELDS])
{
    char key[KEY_BYTES];

    if (!mhcs_pull_object(&reader->pull))
        return false;
    while (mhcs_pull_key(&reader->pull, key, sizeof(key))) {
        const struct field *field = find_field(key);

        if (!field)
            mhcs_pull_skip(&reader->pull);
        else if (!read_field(reader, field, key, inside))
            return false;
    }
    return !reader->pull.error;
}

/* The outer object's fields count only where text_config, wherever it stands, has none. */
static bool read_outer(struct reader *reader)
{
    struct mhcs_config outer = {0}, *const result = reader->config;
    bool inside[FIELDS] = {false}, around[FIELDS] = {false};
    char key[KEY_BYTES];
    bool good = mhcs_pull_object(&reader->pull);

    while (good && mhcs_pull_key(&reader->pull, key, sizeof(key))) {
        const struct field *field = find_field(key);

        if (strcmp(key, "text_config") == 0 && mhcs_pull_kind(&reader->pull) == '{') {
            good = read_text_config(reader, inside);
        } else if (strcmp(key, "model_type") == 0 && mhcs_pull_kind(&reader->pull) == '"') {
            good = mhcs_pull_string(&reader->pull, result->model_type, sizeof(result->model_type));
        } else if (field) {
            reader->config = &outer;
            good = read_field(reader, field, key, around);
            reader->config = result;
        } else {
            mhcs_pull_skip(&reader->pull);
        }
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (around[i] && !inside[i])
            *value_of(result, i) = *value_of(&outer, i);
        reader->found[i] = inside[i] || around[i];
    }
    return good && mhcs_pull_end(&reader->pull);
}

int mhcs_config_parse(struct mhcs_config *ret_config, const char *text, size_t size, char *error,
                      size_t error_size)
{
    struct reader reader = {.config = ret_config};

    *ret_config = (struct mhcs_config){0};
    mhcs_pull_begin(&reader.pull, text, size);
    if (!read_outer(&reader)) {
        if (*reader.bad)
            snprintf(error, error_size, "%s", reader.bad);
        else
            snprintf(error, error_size, "not JSON: %s (byte %zu)", reader.pull.error,
                     reader.pull.error_at);
        return -EINVAL;
    }
    complete(ret_config, reader.found);
    return 0;
}
