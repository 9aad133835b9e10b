/* SPDX-License-Identifier: Apache-2.0 */
/* The one option parser: what all verbs take, with a verb's own options beside it. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/parallel.h"
#include "tools/report/report.h"
#include "tools/report/term.h"

enum { KEY_ASCII = 0x100, KEY_COLOUR, KEY_WIDTH, KEY_THREADS };

/* Behind the verb's own ones in --help: group 10. */
static const struct argp_option common_options[] = {
    {0, 0, 0, 0, "All verbs:", 10},
    {"salvage", 's', NULL, 0,
     "after damage look for the next undamaged batch instead of stopping there", 0},
    {"threads", KEY_THREADS, "N", 0,
     "threads that read (all cores); the output does not depend on it", 0},
    {"color", KEY_COLOUR, "WHEN", 0, "auto (on a terminal, without NO_COLOR), always or never", 0},
    {"ascii", KEY_ASCII, NULL, 0, "no other characters, whatever the locale", 0},
    {"width", KEY_WIDTH, "N", 0, "columns of the output (the terminal's, else 100)", 0},
    {0},
};

struct parsing {
    struct mhcs_options *options;
    struct mhcs_term_options term;
    const struct argp own_argp;
    struct argp_child children[2];
    void *own;
};

unsigned long mhcs_options_number(const struct argp_state *state, const char *option,
                                  const char *text, unsigned long low, unsigned long high)
{
    unsigned long number;
    char *end;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < low || number > high)
        argp_error(state, "--%s %s: not a number from %lu to %lu", option, text, low, high);
    return number;
}

enum mhcs_path mhcs_options_reference(const struct argp_state *state, const char *text)
{
    MHCS_FOR_EACH_REFERENCE(r)
        if (!strcmp(text, mhcs_reference_name(r)))
            return r;
    argp_error(state, "--against %s: not operands or checkpoint", text);
    return MHCS_OPERANDS;
}

static enum mhcs_when parse_when(const struct argp_state *state, const char *text)
{
    static const char *const words[] = {
        [MHCS_AUTO] = "auto", [MHCS_ALWAYS] = "always", [MHCS_NEVER] = "never"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcmp(text, words[i]))
            return (enum mhcs_when)i;
    argp_error(state, "--color %s: not auto, always or never", text);
    return MHCS_AUTO;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct mhcs_options *options = parsing->options;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = parsing->own;
        return 0;
    case 's':
        options->salvage = true;
        return 0;
    case KEY_THREADS:
        options->threads =
            (unsigned)mhcs_options_number(state, "threads", argument, 1, MHCS_THREADS_MAX);
        return 0;
    case KEY_ASCII:
        parsing->term.ascii = true;
        return 0;
    case KEY_COLOUR:
        parsing->term.colour = parse_when(state, argument);
        return 0;
    case KEY_WIDTH:
        parsing->term.width = (unsigned)mhcs_options_number(
            state, "width", argument, MHCS_TERM_WIDTH_MIN, MHCS_TERM_WIDTH_MAX);
        return 0;
    case ARGP_KEY_ARGS:
        options->paths = state->argv + state->next;
        options->path_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a trace, a directory of traces, or - for standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* NULL: no memory, and --help is shorter for it. */
static char *make_doc(const struct mhcs_verb *verb, const char *name)
{
    char *doc;

    return asprintf(&doc, "%c%s.\v%s%s%s\n\n%s\n\nExample:\n  %s %s",
                    toupper((unsigned char)*verb->about), verb->about + 1,
                    verb->notes ? verb->notes : "", verb->notes ? "\n\n" : "", MHCS_HELP_TRACES,
                    verb->exits ? verb->exits : MHCS_HELP_EXIT, name, verb->example) < 0
               ? NULL
               : doc;
}

void mhcs_options_parse(const struct mhcs_verb *verb, int argc, char **argv,
                        struct mhcs_options *ret_options, void *own)
{
    struct parsing parsing = {
        .options = ret_options,
        .own_argp = {.options = verb->options, .parser = verb->parse},
        .children = {{&parsing.own_argp, 0, NULL, 0}},
        .own = own,
    };
    char *doc = make_doc(verb, argv[0]);
    const struct argp argp = {
        .options = common_options,
        .parser = parse,
        .args_doc = verb->arguments ? verb->arguments : "TRACE...",
        .doc = doc,
        .children = parsing.children,
    };

    *ret_options = (struct mhcs_options){.threads = mhcs_parallel_cores()};
    argp_parse(&argp, argc, argv, 0, NULL, &parsing);
    mhcs_term_setup(&parsing.term);
    free(doc);
}
