/* SPDX-License-Identifier: Apache-2.0 */
/* The options that every verb has. */
#include "tools/report/report.h"

static const struct argp_option options[] = {
    {"salvage", 's', NULL, 0,
     "after damage look for the next undamaged batch instead of stopping there", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct mhcs_options *common = state->input;

    switch (key) {
    case 's':
        common->salvage = true;
        return 0;
    case ARGP_KEY_ARGS:
        common->paths = state->argv + state->next;
        common->path_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a trace, a directory of traces, or - for standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp mhcs_common_argp = {.options = options, .parser = parse};
