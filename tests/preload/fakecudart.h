/* SPDX-License-Identifier: Apache-2.0 */
/* A libcudart with the hooked functions alone. They write down what they were given, and answer as
 * they are told. Streams, graphs and executable graphs are what a test wants them to be: struct
 * fake_graphs, where the shadow's double is to see them. */
#ifndef FAKECUDART_H
#define FAKECUDART_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "interpose/graph_hooks.h"

#define FAKE_RUNTIME_WORDS 5 /* of the longest parameter list */

struct fake_runtime {
    /* What the library answers. */
    cudaError_t answer;
    int set_errno; /* 0: leaves it alone */

    /* What it saw. */
    unsigned calls;
    int major;
    const char *function;
    int errno_at_entry;
    uintptr_t words[FAKE_RUNTIME_WORDS];
};

/* What the double sees of graphs. */
struct fake_graphs {
    bool keep; /* mhcs_graph_keep() answers true */

    unsigned begins, began, ended, instantiated, updated, exec_destroyed, before, after;
    bool launched;
    void *stream, *exec;
    int (*destroy)(void *graph);
};

/* The double's place for what comes with stream 0. */
static inline struct fake_graphs *fake_graphs_of(void *stream)
{
    static struct fake_graphs of_zero;

    return (uintptr_t)stream > 2 ? stream : &of_zero;
}

/* Of the fake library itself. */
struct fake_runtime *fakecudart(void);

/* Of runtime_caller.c, linked into programs and plugins: calls a hooked function by its number. */
typedef cudaError_t fake_runtime_caller(enum mhcs_graph_hook hook,
                                        const uintptr_t words[FAKE_RUNTIME_WORDS]);
fake_runtime_caller runtime_call;
/* The library that the caller is linked with. */
struct fake_runtime *runtime_state(void);

#endif
