/* SPDX-License-Identifier: Apache-2.0 */
/* Forward passes on streams: upload x, multiply, download C, again and again in the same memory. */
#include "decode.h"

#include "tools/microtest/bell.h"
#include "check.h"

const struct demo_precision *demo_other_precision(void)
{
    return demo_precision_find("bf16-f32");
}

static size_t step_result_bytes(const struct demo_forward *f, size_t tokens)
{
    size_t layers = (size_t)f->model->layers;
    size_t mixing = (2 * layers * DEMO_COEFFICIENTS + DEMO_STREAMS) * sizeof(float);
    size_t others =
        (layers / DEMO_GATE_EVERY + 1) * (DEMO_GATE_ROWS + DEMO_COEFFICIENTS) * sizeof(float);

    return tokens * (mixing + others);
}

static size_t step_calls(const struct demo_forward *f)
{
    size_t layers = (size_t)f->model->layers;

    return 2 * layers + 1 + 2 * (layers / DEMO_GATE_EVERY + 1);
}

size_t demo_weight_bytes(const struct demo_forward *f, int rows)
{
    return (size_t)rows * DEMO_STREAMS * (size_t)f->model->hidden *
           sim_float_size(f->precision->operands);
}

static void lane_open(struct demo_forward *f, struct demo_lane *lane,
                      const struct demo_traffic *traffic)
{
    int decode_rows = traffic->decode_tokens ? demo_decode_rows(f, traffic->decode_tokens) : 0;
    size_t tokens =
        (size_t)(decode_rows > traffic->prefill_tokens ? decode_rows : traffic->prefill_tokens);
    size_t x_bytes = tokens * DEMO_STREAMS * (size_t)f->model->hidden * sizeof(float);

    CHECK_CUDA(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc(&lane->x, x_bytes));
    CHECK_CUDA(cudaMalloc(&lane->c, tokens * DEMO_GATE_ROWS * sizeof(float)));
    CHECK_CUDA(cudaMalloc(&lane->workspace, DEMO_WORKSPACE_BYTES));
    if (f->cast)
        CHECK_CUDA(cudaMalloc(&lane->cast, demo_weight_bytes(f, DEMO_COEFFICIENTS)));
    for (int i = 0; i < DEMO_STAGES; i++) {
        CHECK_CUDA(cudaMallocHost(&lane->stages[i].x, x_bytes));
        CHECK_CUDA(cudaEventCreateWithFlags(&lane->stages[i].copied, cudaEventDisableTiming));
    }
    CHECK_CUDA(cudaMallocHost((void **)&lane->results, step_result_bytes(f, tokens)));
    lane->list = check_alloc(step_calls(f), sizeof lane->list[0]);
    if (traffic->decode_tokens)
        lane->decode = demo_decode_new(f, lane, traffic->decode_tokens);
}

static void lane_close(struct demo_lane *lane)
{
    demo_decode_free(lane->decode);
    CHECK_CUDA(cudaStreamDestroy(lane->stream));
    CHECK_CUDA(cudaFree(lane->x));
    CHECK_CUDA(cudaFree(lane->c));
    CHECK_CUDA(cudaFree(lane->workspace));
    CHECK_CUDA(cudaFree(lane->cast));
    for (int i = 0; i < DEMO_STAGES; i++) {
        CHECK_CUDA(cudaFreeHost(lane->stages[i].x));
        CHECK_CUDA(cudaEventDestroy(lane->stages[i].copied));
    }
    CHECK_CUDA(cudaFreeHost(lane->results));
    free(lane->list);
}

/* A random bf16 weight of the size of a linear layer's. */
static void *other_weight(const struct demo_forward *f, int rows, uint64_t seed)
{
    size_t count = (size_t)rows * (size_t)f->model->hidden;
    uint16_t *weight = check_alloc(count, sizeof *weight);
    void *device;

    for (size_t i = 0; i < count; i++)
        weight[i] = sim_bf16_of((float)bell_next(&seed) * 0x1p-21f);
    CHECK_CUDA(cudaMalloc(&device, count * sizeof *weight));
    CHECK_CUDA(cudaMemcpy(device, weight, count * sizeof *weight, cudaMemcpyHostToDevice));
    free(weight);
    return device;
}

struct demo_forward *demo_forward_new(const struct demo_model *model,
                                      const struct demo_precision *precision,
                                      const struct demo_traffic *traffic, uint64_t seed)
{
    struct demo_forward *f = check_alloc(1, sizeof *f);

    f->model = model;
    f->precision = precision;
    f->cast = traffic->cast;
    f->decode = traffic->decode;
    f->seed = seed;
    f->streams_x = demo_activations_new(DEMO_STREAMS * model->hidden, seed);
    f->hidden_x = demo_activations_new(model->hidden, seed);
    f->gate = other_weight(f, DEMO_GATE_ROWS, mix64(seed));
    f->narrow = other_weight(f, DEMO_COEFFICIENTS, mix64(seed + 1));
    f->lanes = check_alloc((size_t)traffic->streams, sizeof f->lanes[0]);
    f->lane_count = traffic->streams;
    CHECK_CUBLAS(cublasCreate(&f->handle));
    /* Copies from pageable memory may still be under way, and our streams do not wait for them. */
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < f->lane_count; i++)
        lane_open(f, &f->lanes[i], traffic);
    return f;
}

static uint64_t fnv1a(const unsigned char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

void demo_lane_collect(struct demo_forward *f, struct demo_lane *lane)
{
    CHECK_CUDA(cudaStreamSynchronize(lane->stream));
    for (size_t i = 0; i < lane->count; i++) {
        const struct demo_result *r = &lane->list[i];

        f->counts.checksum += mix64(fnv1a(r->at, r->bytes) ^ mix64(r->call));
    }
    lane->count = 0;
    lane->used = 0;
}

/* New x over the old one, which the last GEMM has just read. */
static void upload_x(struct demo_lane *lane, const struct demo_activations *activations,
                     enum sim_float type, int tokens, int k, uint64_t number)
{
    struct demo_stage *stage = &lane->stages[lane->stage++ % DEMO_STAGES];

    CHECK_CUDA(cudaEventSynchronize(stage->copied));
    demo_activations_draw(activations, stage->x, type, tokens, number);
    CHECK_CUDA(cudaMemcpyAsync(lane->x, stage->x, (size_t)tokens * (size_t)k * sim_float_size(type),
                               cudaMemcpyHostToDevice, lane->stream));
    CHECK_CUDA(cudaEventRecord(stage->copied, lane->stream));
}

static void download_c(struct demo_forward *f, struct demo_lane *lane, size_t bytes)
{
    struct demo_result *r = &lane->list[lane->count++];

    *r = (struct demo_result){.call = f->calls++, .at = lane->results + lane->used, .bytes = bytes};
    lane->used += bytes;
    CHECK_CUDA(
        cudaMemcpyAsync((void *)r->at, lane->c, bytes, cudaMemcpyDeviceToHost, lane->stream));
}

static void linear(struct demo_forward *f, struct demo_lane *lane,
                   const struct demo_precision *precision, const void *weight, int rows, int tokens,
                   int k)
{
    const struct demo_linear l = {.precision = precision,
                                  .stream = lane->stream,
                                  .workspace = lane->workspace,
                                  .workspace_bytes = DEMO_WORKSPACE_BYTES,
                                  .rows = rows,
                                  .tokens = tokens,
                                  .k = k,
                                  .weight = weight,
                                  .x = lane->x,
                                  .out = lane->c};

    demo_linear(f->handle, &l);
    download_c(f, lane, (size_t)rows * (size_t)tokens * sim_float_size(precision->out));
}

/* Where the GEMM finds a site's weights. A server that keeps fp32 weights and multiplies in bf16
 * casts them for every call, to memory that the allocator hands out again and again; here they are
 * copied. */
static const void *place_weight(struct demo_forward *f, struct demo_lane *lane, int site, int rows)
{
    const void *weight = f->model->sites[site];

    if (!f->cast)
        return weight;
    CHECK_CUDA(cudaMemcpyAsync(lane->cast, weight, demo_weight_bytes(f, rows),
                               cudaMemcpyDeviceToDevice, lane->stream));
    return lane->cast;
}

static void mixing(struct demo_forward *f, struct demo_lane *lane, int site, int tokens)
{
    bool head = site == 2 * f->model->layers;
    int rows = head ? DEMO_STREAMS : DEMO_COEFFICIENTS;
    int k = DEMO_STREAMS * f->model->hidden;

    upload_x(lane, f->streams_x, f->precision->operands, tokens, k, f->calls);
    linear(f, lane, f->precision, place_weight(f, lane, site, rows), rows, tokens, k);
    if (head)
        f->counts.head++;
    else
        f->counts.mixing++;
}

static void others(struct demo_forward *f, struct demo_lane *lane, int tokens)
{
    int k = f->model->hidden;

    upload_x(lane, f->hidden_x, SIM_BF16, tokens, k, f->calls);
    linear(f, lane, demo_other_precision(), f->gate, DEMO_GATE_ROWS, tokens, k);
    linear(f, lane, demo_other_precision(), f->narrow, DEMO_COEFFICIENTS, tokens, k);
    f->counts.others += 2;
}

static struct demo_lane *next_lane(struct demo_forward *f)
{
    struct demo_lane *lane = &f->lanes[f->steps++ % (uint64_t)f->lane_count];

    demo_lane_collect(f, lane);
    return lane;
}

void demo_forward_prefill(struct demo_forward *f, int tokens)
{
    struct demo_lane *lane = next_lane(f);

    for (int layer = 0; layer < f->model->layers; layer++) {
        mixing(f, lane, 2 * layer, tokens);
        mixing(f, lane, 2 * layer + 1, tokens);
        if (layer % DEMO_GATE_EVERY == 0)
            others(f, lane, tokens);
    }
    mixing(f, lane, 2 * f->model->layers, tokens);
}

void demo_forward_decode(struct demo_forward *f, int tokens)
{
    demo_decode_pass(next_lane(f)->decode, tokens);
}

struct demo_counts demo_forward_finish(struct demo_forward *f)
{
    struct demo_counts counts;

    for (int i = 0; i < f->lane_count; i++) {
        demo_lane_collect(f, &f->lanes[i]);
        lane_close(&f->lanes[i]);
    }
    counts = f->counts;
    CHECK_CUBLAS(cublasDestroy(f->handle));
    CHECK_CUDA(cudaFree(f->gate));
    CHECK_CUDA(cudaFree(f->narrow));
    demo_activations_free(f->streams_x);
    demo_activations_free(f->hidden_x);
    free(f->lanes);
    free(f);
    return counts;
}
