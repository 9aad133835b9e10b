/* SPDX-License-Identifier: Apache-2.0 */
/* Decode passes: the same calls again and again, made one by one or captured once and replayed. */
#include "decode.h"

#include <string.h>

#include "check.h"

#define SHIFT                                                                                      \
    8 /* channels by which a site's x lies apart from the one before: 16 bytes of bf16             \
       */

static const int sizes[] = {64, 56, 48, 40, 32, 24, 16, 8, 4, 2, 1};
#define SIZES (sizeof sizes / sizeof sizes[0])

/* Memory that every call of a stream uses anew. */
struct pool {
    void *x, *c, *workspace;
};

struct demo_decode {
    struct demo_forward *f;
    struct demo_lane *lane;
    struct demo_activations *activations;
    int rows_max;
    unsigned char *input,
        *hidden;           /* device: the rows of all sites' x in one another, and of a gate's */
    unsigned char *staged; /* pinned: the same, on their way */
    unsigned char *out;    /* device: every C of a pass, one behind the other */
    struct pool main, side;
    cudaStream_t fork;
    cudaEvent_t forked, joined;
    cudaGraphExec_t graphs[SIZES]; /* NULL: not in graphs, or larger than any pass */
};

/* One GEMM of a pass. */
struct call {
    const struct demo_precision *precision;
    const void *weight;
    const unsigned char *x;
    size_t x_pitch;
    int rows, k;
};

static int k_of(const struct demo_forward *f)
{
    return DEMO_STREAMS * f->model->hidden;
}

/* The row that all sites cut their x from. */
static int input_channels(const struct demo_forward *f)
{
    return k_of(f) + 2 * SHIFT * f->model->layers;
}

static size_t input_pitch(const struct demo_decode *d)
{
    return (size_t)input_channels(d->f) * sim_float_size(d->f->precision->operands);
}

static size_t hidden_pitch(const struct demo_decode *d)
{
    return (size_t)d->f->model->hidden * sizeof(uint16_t);
}

static size_t result_bytes(const struct call *call, int n)
{
    return (size_t)call->rows * (size_t)n * sim_float_size(call->precision->out);
}

static struct call mixing_call(const struct demo_decode *d, int site)
{
    const struct demo_forward *f = d->f;
    const size_t size = sim_float_size(f->precision->operands);

    return (struct call){.precision = f->precision,
                         .weight = f->model->sites[site],
                         .x = d->input + (size_t)(site * SHIFT) * size,
                         .x_pitch = input_pitch(d),
                         .rows = site == 2 * f->model->layers ? DEMO_STREAMS : DEMO_COEFFICIENTS,
                         .k = k_of(f)};
}

static struct call other_call(const struct demo_decode *d, const void *weight, int rows)
{
    return (struct call){.precision = demo_other_precision(),
                         .weight = weight,
                         .x = d->hidden,
                         .x_pitch = hidden_pitch(d),
                         .rows = rows,
                         .k = d->f->model->hidden};
}

/* Calls `visit` for each GEMM of a pass in turn; `beside`: it runs on the forked stream. */
static void each_call(const struct demo_decode *d,
                      void (*visit)(void *arg, const struct call *call, bool beside), void *arg)
{
    for (int layer = 0; layer < d->f->model->layers; layer++) {
        const struct call attn = mixing_call(d, 2 * layer), ffn = mixing_call(d, 2 * layer + 1);
        const struct call gate = other_call(d, d->f->gate, DEMO_GATE_ROWS);
        const struct call narrow = other_call(d, d->f->narrow, DEMO_COEFFICIENTS);

        visit(arg, &attn, false);
        if (layer % DEMO_GATE_EVERY == 0) {
            visit(arg, &gate, true);
            visit(arg, &narrow, true);
        }
        visit(arg, &ffn, false);
    }
    const struct call head = mixing_call(d, 2 * d->f->model->layers);
    visit(arg, &head, false);
}

/* Over the calls of a pass of n rows. */
struct walk {
    struct demo_decode *d;
    int n, tokens;
    size_t used; /* bytes of results so far */
    bool beside; /* the stream has been forked and not joined */
};

static void fork_stream(struct demo_decode *d)
{
    CHECK_CUDA(cudaEventRecord(d->forked, d->lane->stream));
    CHECK_CUDA(cudaStreamWaitEvent(d->fork, d->forked, 0));
}

static void join_stream(struct demo_decode *d)
{
    CHECK_CUDA(cudaEventRecord(d->joined, d->fork));
    CHECK_CUDA(cudaStreamWaitEvent(d->lane->stream, d->joined, 0));
}

static const void *place_weight(const struct demo_decode *d, const struct call *call, bool beside)
{
    if (beside || !d->lane->cast)
        return call->weight;
    CHECK_CUDA(cudaMemcpyAsync(d->lane->cast, call->weight, demo_weight_bytes(d->f, call->rows),
                               cudaMemcpyDeviceToDevice, d->lane->stream));
    return d->lane->cast;
}

static void queue_call(void *arg, const struct call *call, bool beside)
{
    struct walk *w = arg;
    struct demo_decode *d = w->d;
    const struct pool *pool = beside ? &d->side : &d->main;
    const cudaStream_t stream = beside ? d->fork : d->lane->stream;
    const size_t x_bytes = (size_t)call->k * sim_float_size(call->precision->operands);
    const size_t c_bytes = result_bytes(call, w->n);

    if (beside && !w->beside)
        fork_stream(d);
    CHECK_CUDA(cudaMemcpy2DAsync(pool->x, x_bytes, call->x, call->x_pitch, x_bytes, (size_t)w->n,
                                 cudaMemcpyDeviceToDevice, stream));
    demo_linear(d->f->handle, &(const struct demo_linear){.precision = call->precision,
                                                          .stream = stream,
                                                          .workspace = pool->workspace,
                                                          .workspace_bytes = DEMO_WORKSPACE_BYTES,
                                                          .rows = call->rows,
                                                          .tokens = w->n,
                                                          .k = call->k,
                                                          .weight = place_weight(d, call, beside),
                                                          .x = pool->x,
                                                          .out = pool->c});
    CHECK_CUDA(
        cudaMemcpyAsync(d->out + w->used, pool->c, c_bytes, cudaMemcpyDeviceToDevice, stream));
    w->used += c_bytes;
    if (!beside && w->beside)
        join_stream(d);
    w->beside = beside;
}

static void queue_calls(struct demo_decode *d, int n)
{
    struct walk w = {.d = d, .n = n};

    each_call(d, queue_call, &w);
}

static cudaGraphExec_t capture(struct demo_decode *d, int n)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    queue_calls(d, n); /* what is made at the first call must be there before the capture */
    CHECK_CUDA(cudaStreamSynchronize(d->lane->stream));
    CHECK_CUDA(cudaStreamBeginCapture(d->lane->stream, cudaStreamCaptureModeGlobal));
    queue_calls(d, n);
    CHECK_CUDA(cudaStreamEndCapture(d->lane->stream, &graph));
    CHECK_CUDA(
        cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CHECK_CUDA(cudaGraphDestroy(graph));
    return exec;
}

static size_t size_for(int tokens)
{
    size_t i = SIZES - 1;

    while (sizes[i] < tokens)
        i--;
    return i;
}

int demo_decode_rows(const struct demo_forward *f, int tokens)
{
    return f->decode == DEMO_EAGER ? tokens : sizes[size_for(tokens)];
}

static void pool_open(struct pool *pool, size_t x_bytes, size_t c_bytes)
{
    CHECK_CUDA(cudaMalloc(&pool->x, x_bytes));
    CHECK_CUDA(cudaMalloc(&pool->c, c_bytes));
    CHECK_CUDA(cudaMalloc(&pool->workspace, DEMO_WORKSPACE_BYTES));
}

static void pool_close(struct pool *pool)
{
    CHECK_CUDA(cudaFree(pool->x));
    CHECK_CUDA(cudaFree(pool->c));
    CHECK_CUDA(cudaFree(pool->workspace));
}

/* What stands in the rows behind the tokens changes from pass to pass. */
enum rest { ZERO, REPEATED, LEFT };

static void bring(struct demo_decode *d, unsigned char *to, unsigned char *staged, size_t pitch,
                  int tokens, int n, enum rest rest)
{
    const size_t bytes = (size_t)tokens * pitch, all = (size_t)n * pitch;

    for (int row = tokens; row < n && rest == REPEATED; row++)
        memcpy(staged + (size_t)row * pitch, staged, pitch);
    CHECK_CUDA(cudaMemcpyAsync(to, staged, rest == REPEATED ? all : bytes, cudaMemcpyHostToDevice,
                               d->lane->stream));
    if (rest == ZERO && all > bytes)
        CHECK_CUDA(cudaMemsetAsync(to + bytes, 0, all - bytes, d->lane->stream));
}

static void bring_rows(struct demo_decode *d, int tokens, int n, enum rest rest)
{
    unsigned char *hidden = d->staged + (size_t)d->rows_max * input_pitch(d);

    demo_activations_draw(d->activations, d->staged, d->f->precision->operands, tokens,
                          d->f->calls);
    demo_activations_draw(d->f->hidden_x, hidden, SIM_BF16, tokens, d->f->calls);
    bring(d, d->input, d->staged, input_pitch(d), tokens, n, rest);
    bring(d, d->hidden, hidden, hidden_pitch(d), tokens, n, rest);
}

static void count_call(void *arg, const struct call *call, bool beside)
{
    struct walk *w = arg;

    w->used += result_bytes(call, w->n);
}

struct demo_decode *demo_decode_new(struct demo_forward *f, struct demo_lane *lane, int tokens_max)
{
    struct demo_decode *d = check_alloc(1, sizeof *d);
    const size_t rows = (size_t)demo_decode_rows(f, tokens_max);
    struct walk all = {.d = d, .n = (int)rows};

    d->f = f;
    d->lane = lane;
    d->rows_max = (int)rows;
    d->activations = demo_activations_new(input_channels(f), f->seed);
    CHECK_CUDA(cudaMalloc((void **)&d->input, rows * input_pitch(d)));
    CHECK_CUDA(cudaMalloc((void **)&d->hidden, rows * hidden_pitch(d)));
    CHECK_CUDA(cudaMallocHost((void **)&d->staged, rows * (input_pitch(d) + hidden_pitch(d))));
    each_call(d, count_call, &all);
    CHECK_CUDA(cudaMalloc((void **)&d->out, all.used));
    pool_open(&d->main, rows * (size_t)k_of(f) * sizeof(float),
              rows * DEMO_COEFFICIENTS * sizeof(float));
    pool_open(&d->side, rows * hidden_pitch(d), rows * DEMO_GATE_ROWS * sizeof(float));
    CHECK_CUDA(cudaStreamCreateWithFlags(&d->fork, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&d->forked, cudaEventDisableTiming));
    CHECK_CUDA(cudaEventCreateWithFlags(&d->joined, cudaEventDisableTiming));
    bring_rows(d, (int)rows, (int)rows, LEFT);
    for (size_t i = 0; i < SIZES && f->decode == DEMO_GRAPHS; i++)
        if (sizes[i] <= (int)rows)
            d->graphs[i] = capture(d, sizes[i]);
    return d;
}

void demo_decode_free(struct demo_decode *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < SIZES; i++)
        if (d->graphs[i] != NULL)
            CHECK_CUDA(cudaGraphExecDestroy(d->graphs[i]));
    CHECK_CUDA(cudaStreamDestroy(d->fork));
    CHECK_CUDA(cudaEventDestroy(d->forked));
    CHECK_CUDA(cudaEventDestroy(d->joined));
    CHECK_CUDA(cudaFree(d->input));
    CHECK_CUDA(cudaFree(d->hidden));
    CHECK_CUDA(cudaFree(d->out));
    CHECK_CUDA(cudaFreeHost(d->staged));
    pool_close(&d->main);
    pool_close(&d->side);
    demo_activations_free(d->activations);
    free(d);
}

static void list_call(void *arg, const struct call *call, bool beside)
{
    struct walk *w = arg;
    struct demo_lane *lane = w->d->lane;

    /* The columns of the rest come last, and don't count: what they hold depends on the lane. */
    lane->list[lane->count++] = (struct demo_result){.call = w->d->f->calls++,
                                                     .at = lane->results + w->used,
                                                     .bytes = result_bytes(call, w->tokens)};
    w->used += result_bytes(call, w->n);
    if (beside)
        w->d->f->counts.others++;
    else if (call->rows == DEMO_STREAMS)
        w->d->f->counts.head++;
    else
        w->d->f->counts.mixing++;
}

void demo_decode_pass(struct demo_decode *d, int tokens)
{
    struct demo_forward *f = d->f;
    const int n = demo_decode_rows(f, tokens);
    const enum rest rest = (enum rest)(f->steps % 3);
    struct walk w = {.d = d, .n = n, .tokens = tokens};

    bring_rows(d, tokens, n, rest);
    if (f->decode == DEMO_GRAPHS)
        CHECK_CUDA(cudaGraphLaunch(d->graphs[size_for(tokens)], d->lane->stream));
    else
        queue_calls(d, n);
    each_call(d, list_call, &w);
    CHECK_CUDA(
        cudaMemcpyAsync(d->lane->results, d->out, w.used, cudaMemcpyDeviceToHost, d->lane->stream));
}
