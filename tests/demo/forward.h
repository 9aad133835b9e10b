/* SPDX-License-Identifier: Apache-2.0 */
/* The cuBLAS calls of forward passes, in the order and with the memory habits of a PyTorch server.
 *
 * One handle, `streams` streams that take passes in turn. On its stream, a prefill pass copies each
 * layer's x from pinned memory to the same device buffer, multiplies into the same C, and copies C
 * back: as with a caching allocator, x and C of a call are overwritten right behind it in stream
 * order. How decode passes go is told in decode.h.
 */
#ifndef DEMO_FORWARD_H
#define DEMO_FORWARD_H

#include <stdbool.h>

#include "model.h"

struct demo_forward;

struct demo_counts {
    uint64_t mixing, head; /* what mhcshadow is for */
    uint64_t others;       /* router gates and the like, which it must leave alone */
    uint64_t checksum;     /* of every C; independent of the order in which streams ran */
};

enum demo_decode_how {
    DEMO_EAGER,  /* call by call */
    DEMO_PADDED, /* the same, over as many rows as a graph has */
    DEMO_GRAPHS, /* in CUDA graphs: decode.h */
};

struct demo_traffic {
    int streams, prefill_tokens, decode_tokens; /* at most */
    enum demo_decode_how decode;
    bool cast; /* weights come to a temporary buffer for every call */
};

struct demo_forward *demo_forward_new(const struct demo_model *model,
                                      const struct demo_precision *precision,
                                      const struct demo_traffic *traffic, uint64_t seed);

/* Queues one forward pass over `tokens`, at most the traffic's. May wait for an older one. */
void demo_forward_prefill(struct demo_forward *f, int tokens);
void demo_forward_decode(struct demo_forward *f, int tokens);

/* Waits for all passes and frees everything. */
struct demo_counts demo_forward_finish(struct demo_forward *f);

#endif
