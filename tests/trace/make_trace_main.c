/* SPDX-License-Identifier: Apache-2.0 */
/* make_trace DIR [KEY=VALUE...]: writes a synthetic trace and prints its path. The keys are the
 * members of struct make_trace_plan; test scripts use it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/trace/make_trace.h"

static bool set(struct make_trace_plan *plan, const char *key, const char *value)
{
#define NUMBER(member, convert)                                                                    \
    if (strcmp(key, #member) == 0) {                                                               \
        plan->member = convert;                                                                    \
        return true;                                                                               \
    }
    NUMBER(seed, strtoull(value, NULL, 10))
    NUMBER(facts, value)
    NUMBER(path, value)
    NUMBER(layers, (uint32_t)atoi(value))
    NUMBER(calls, (uint32_t)atoi(value))
    NUMBER(rows, (uint32_t)atoi(value))
    NUMBER(tokens, atoi(value))
    NUMBER(operands_rel, atof(value))
    NUMBER(checkpoint_rel, atof(value))
    NUMBER(checkpoint, atoi(value) != 0)
    NUMBER(start, atoll(value))
    NUMBER(step, atoll(value))
    NUMBER(dropped, strtoull(value, NULL, 10))
    NUMBER(end, (enum mhcs_trace_end)atoi(value))
#undef NUMBER
    return false;
}

int main(int argc, char **argv)
{
    struct make_trace_plan plan = make_trace_default();
    char path[PATH_MAX];

    for (int i = 2; i < argc; i++) {
        char *const equals = strchr(argv[i], '=');
        if (equals != NULL)
            *equals = '\0';
        if (equals == NULL || !set(&plan, argv[i], equals + 1)) {
            fprintf(stderr, "make_trace: %s: not a known KEY=VALUE\n", argv[i]);
            return 2;
        }
    }
    if (argc < 2) {
        fprintf(stderr, "usage: make_trace DIR [KEY=VALUE...]\n");
        return 2;
    }
    const int error = make_trace(&plan, argv[1], path);
    if (error < 0) {
        fprintf(stderr, "make_trace: %s: %s\n", argv[1], strerror(-error));
        return 1;
    }
    puts(path);
    return 0;
}
