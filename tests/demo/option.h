/* SPDX-License-Identifier: Apache-2.0 */
/* A number on the command line, for argp parsers. */
#ifndef DEMO_OPTION_H
#define DEMO_OPTION_H

#include <argp.h>
#include <errno.h>
#include <stdlib.h>

/* Ends the program with a usage error if `text` is not a number from `low` to `high`. */
static inline long option_number(const struct argp_state *state, const char *text, long low,
                                 long high)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < low || value > high)
        argp_error(state, "%s is not a number from %ld to %ld", text, low, high);
    return value;
}

#endif
