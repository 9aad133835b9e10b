/* SPDX-License-Identifier: Apache-2.0 */
/* What prefill (forward.c) and decode passes (decode.c) share. One thread queues them all. */
#ifndef DEMO_PASS_H
#define DEMO_PASS_H

#include "activations.h"
#include "forward.h"

#define DEMO_WORKSPACE_BYTES (4096 * 1024 * 2 + 16 * 1024 * 8) /* PyTorch's default */
#define DEMO_STAGES          2                                 /* pinned buffers for x per stream */
#define DEMO_GATE_ROWS       256                               /* experts */
#define DEMO_GATE_EVERY      16 /* layers: enough to be seen, few enough to stay fast */

/* A result on its way back. */
struct demo_result {
    uint64_t call; /* number over the whole run */
    const unsigned char *at;
    size_t bytes;
};

/* A stream and what only its steps use. */
struct demo_lane {
    cudaStream_t stream;
    void *x, *c, *workspace; /* device, used anew by every call */
    void *cast;              /* the same, for weights; NULL: they are used where they lie */
    struct demo_stage {
        void *x; /* pinned */
        cudaEvent_t copied;
    } stages[DEMO_STAGES];
    unsigned stage;
    unsigned char *results; /* pinned, of one step */
    size_t used;
    struct demo_result *list;
    size_t count;
    struct demo_decode *decode;
};

struct demo_forward {
    const struct demo_model *model;
    const struct demo_precision *precision;
    cublasHandle_t handle;
    struct demo_activations *streams_x, *hidden_x; /* K = 4 * hidden, and K = hidden */
    void *gate, *narrow; /* device, bf16: [256][hidden], and [24][hidden] with m of a mixing GEMM */
    struct demo_lane *lanes;
    int lane_count;
    bool cast;
    enum demo_decode_how decode;
    uint64_t seed, steps, calls;
    struct demo_counts counts;
};

/* A router's gate and others of its kind: bf16 in, fp32 out, k = hidden. */
const struct demo_precision *demo_other_precision(void);
size_t demo_weight_bytes(const struct demo_forward *f, int rows);

/* Waits for the lane's pass and adds its results to the checksum. */
void demo_lane_collect(struct demo_forward *f, struct demo_lane *lane);

#endif
