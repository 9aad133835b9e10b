/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rules; rules.h has the grammar. */
#include "tools/report/rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Where the reader is, for its messages. */
struct place {
    const char *name;
    unsigned line;
    FILE *errors;
};

__attribute__((format(printf, 2, 3))) static int complain(const struct place *place,
                                                          const char *format, ...)
{
    va_list arguments;

    fprintf(place->errors, "%s:%u: ", place->name, place->line);
    va_start(arguments, format);
    vfprintf(place->errors, format, arguments);
    va_end(arguments);
    fputc('\n', place->errors);
    return -EINVAL;
}

/* ---- one limit ---- */

static void strip(char **text)
{
    char *end;

    *text += strspn(*text, " \t\r\n");
    end = *text + strlen(*text);
    while (end > *text && strchr(" \t\r\n", end[-1]))
        *--end = '\0';
}

/* Takes a leading "operands." or "checkpoint." off. */
static enum mhcs_path take_reference(char **name)
{
    static const struct {
        const char *prefix;
        enum mhcs_path reference;
    } known[] = {{"operands.", MHCS_OPERANDS}, {"checkpoint.", MHCS_CHECKPOINT}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strncmp(*name, known[i].prefix, strlen(known[i].prefix))) {
            *name += strlen(known[i].prefix);
            return known[i].reference;
        }
    return MHCS_PRODUCTION;
}

static int complain_of_figure(const struct place *place, const char *name)
{
    fprintf(place->errors, "%s:%u: no figure is called \"%s\"; there are", place->name, place->line,
            name);
    for (int i = 0; i < MHCS_FIGURES_COUNT; i++)
        fprintf(place->errors, "%s %s", i ? "," : "", mhcs_figure_name((enum mhcs_figure)i));
    fputc('\n', place->errors);
    return -EINVAL;
}

static int read_bound(const struct place *place, const char *text, double *ret_bound)
{
    char *end;

    *ret_bound = strtod(text, &end);
    if (end == text || *end || !isfinite(*ret_bound) || *ret_bound < 0)
        return complain(place, "\"%s\" is not a number of 0 or more", text);
    return 0;
}

static int read_limit(const struct place *place, char *text, struct mhcs_limit *limit)
{
    char *sign = strpbrk(text, "<>="), *name = text, *bound;
    int figure;

    strip(&text);
    if (!*text)
        return complain(place, "a limit is missing before or behind a comma");
    if (!sign)
        return complain(place, "\"%s\" is no limit: write FIGURE <= NUMBER, or skip", text);
    bound = sign + strspn(sign, "<>=");
    if (bound - sign != 2 || sign[0] == '=' || sign[1] != '=')
        return complain(place, "\"%.*s\": a limit has <= (rows: >=)", (int)(bound - sign), sign);
    const bool least = *sign == '>';
    *sign = '\0';
    strip(&name);
    strip(&bound);
    limit->reference = take_reference(&name);
    figure = mhcs_figure_find(name);
    if (figure < 0)
        return complain_of_figure(place, name);
    limit->figure = (enum mhcs_figure)figure;
    if (least != (limit->figure == MHCS_FIGURE_ROWS))
        return complain(place, "%s takes %s, not %s", name,
                        least ? "<=" : ">=", least ? ">=" : "<=");
    return read_bound(place, bound, &limit->bound);
}

/* ---- one rule ---- */

static int read_phase(const struct place *place, const char *text, int *ret_phase)
{
    *ret_phase = -1;
    if (!strcmp(text, "*"))
        return 0;
    for (int p = 0; p < MHCS_PHASES; p++)
        if (!strcmp(text, mhcs_phase_name((enum mhcs_phase)p))) {
            *ret_phase = p;
            return 0;
        }
    return complain(place, "\"%s\" is no phase: write prefill, decode or *", text);
}

static bool limits_figure(const struct mhcs_rule *rule, enum mhcs_figure figure)
{
    for (size_t i = 0; i < rule->limits; i++)
        if (rule->limit[i].figure == figure)
            return true;
    return false;
}

/* What holds unless the rule says otherwise; there is room left for both. */
static void add_silent_limits(struct mhcs_rule *rule)
{
    if (!limits_figure(rule, MHCS_FIGURE_NONFINITE))
        rule->limit[rule->limits++] = (struct mhcs_limit){.figure = MHCS_FIGURE_NONFINITE};
    if (!limits_figure(rule, MHCS_FIGURE_ROWS))
        rule->limit[rule->limits++] =
            (struct mhcs_limit){.figure = MHCS_FIGURE_ROWS, .bound = MHCS_MIN_ROWS};
}

static int read_limits(const struct place *place, char *text, struct mhcs_rule *rule)
{
    char *item;
    int ret = 0;

    strip(&text);
    if (!*text)
        return complain(place, "the rule has no limit: write FIGURE <= NUMBER, or skip");
    rule->skip = !strcmp(text, "skip");
    while (!rule->skip && !ret && (item = strsep(&text, ","))) {
        if (rule->limits == MHCS_RULE_LIMITS_MAX - 2)
            return complain(place, "more than %d limits in one rule", MHCS_RULE_LIMITS_MAX - 2);
        ret = read_limit(place, item, &rule->limit[rule->limits++]);
    }
    if (!ret && !rule->skip)
        add_silent_limits(rule);
    return ret;
}

/* A line that is not empty. */
static int read_rule(const struct place *place, char *text, struct mhcs_rule *rule)
{
    char *site = strsep(&text, " \t"), *phase;
    int ret;

    if (text)
        text += strspn(text, " \t");
    phase = strsep(&text, " \t");
    if (!phase || !*phase)
        return complain(place, "a rule is SITE PHASE LIMITS; there is no phase");
    ret = read_phase(place, phase, &rule->phase);
    if (!ret)
        ret = read_limits(place, text ? text : phase + strlen(phase), rule);
    if (ret)
        return ret;
    rule->line = place->line;
    rule->site = strdup(site);
    return rule->site ? 0 : -ENOMEM;
}

static int add_rule(struct mhcs_rules *rules, const struct mhcs_rule *rule)
{
    struct mhcs_rule *grown = reallocarray(rules->rule, rules->count + 1, sizeof(*grown));

    if (!grown) {
        free(rule->site);
        return -ENOMEM;
    }
    rules->rule = grown;
    rules->rule[rules->count++] = *rule;
    return 0;
}

/* ---- all rules ---- */

int mhcs_rules_read(struct mhcs_rules *ret_rules, FILE *in, const char *name, FILE *errors)
{
    struct place place = {.name = name, .errors = errors};
    char *line = NULL, *text;
    size_t room = 0;
    int ret = 0, error;

    *ret_rules = (struct mhcs_rules){0};
    while (ret != -ENOMEM && getline(&line, &room, in) >= 0) {
        struct mhcs_rule rule = {0};

        place.line++;
        line[strcspn(line, "#")] = '\0';
        text = line;
        strip(&text);
        if (!*text)
            continue;
        error = read_rule(&place, text, &rule);
        if (!error)
            error = add_rule(ret_rules, &rule);
        ret = error ? error : ret;
    }
    free(line);
    if (ferror(in))
        return errno ? -errno : -EIO;
    if (!ret && ret_rules->count == 0) {
        fprintf(errors, "%s: no rule in it; the least is \"* * R <= 4\"\n", name);
        ret = -EINVAL;
    }
    return ret;
}

void mhcs_rules_free(struct mhcs_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        free(rules->rule[i].site);
    free(rules->rule);
    *rules = (struct mhcs_rules){0};
}

int mhcs_rules_of_ratio(struct mhcs_rules *ret_rules, double ratio)
{
    struct mhcs_rule rule = {
        .site = strdup("*"),
        .phase = -1,
        .limit = {{.figure = MHCS_FIGURE_RATIO, .bound = ratio}},
        .limits = 1,
    };

    *ret_rules = (struct mhcs_rules){0};
    if (!rule.site)
        return -ENOMEM;
    add_silent_limits(&rule);
    return add_rule(ret_rules, &rule);
}

struct mhcs_rule *mhcs_rules_find(const struct mhcs_rules *rules, const char *site,
                                  enum mhcs_phase phase)
{
    for (size_t i = 0; i < rules->count; i++) {
        struct mhcs_rule *rule = &rules->rule[i];

        if ((rule->phase < 0 || rule->phase == (int)phase) && !fnmatch(rule->site, site, 0))
            return rule;
    }
    return NULL;
}
