/* SPDX-License-Identifier: Apache-2.0 */
/* GPU time of what a sample makes the device do, by the library's own code and alone on the device:
 * the snapshot on the application's stream, reference and fingerprint, and the comparator on the
 * spare one. A call of 256 tokens, bf16, K = 16384.
 *
 *     kernel_times ROWS...     token rows of the sample, 1 to 64
 */
#include "measure.h"
#include "own_engine.h"
#include "shadow/pipeline.h"
#include "shadow/snapshot.h"

#define TOKENS   256
#define LAUNCHES 20
#define PARTS    (MHCS_PART_FN | MHCS_PART_X | MHCS_PART_C)

static CUdeviceptr zeros(size_t bytes)
{
    CUdeviceptr address;

    MUST(cuMemAlloc(&address, bytes));
    MUST(cuMemsetD8(address, 0, bytes));
    return address;
}

/* Random enough: 0x3f80 and around are bf16 numbers near 1. */
static CUdeviceptr numbers(size_t count)
{
    uint16_t *const host = malloc(count * sizeof(*host));
    const CUdeviceptr address = zeros(count * sizeof(*host));

    MUST(host ? 0 : -1);
    for (size_t i = 0; i < count; i++) {
        host[i] = (uint16_t)(0x3f00 + mhcs_mix64(i) % 0x100);
    }
    MUST(cuMemcpyHtoD(address, host, count * sizeof(*host)));
    free(host);
    return address;
}

static struct mhcs_gemm new_gemm(CUstream stream)
{
    return (struct mhcs_gemm){
        .fn = {.base = numbers((size_t)MHCS_COEFFICIENTS * OWN_ENGINE_K),
               .row = OWN_ENGINE_K,
               .col = 1,
               .dtype = MHCS_BF16},
        .x = {.base = numbers((size_t)TOKENS * OWN_ENGINE_K),
              .row = OWN_ENGINE_K,
              .col = 1,
              .dtype = MHCS_BF16},
        .c = {.base = numbers((size_t)TOKENS * MHCS_COEFFICIENTS),
              .row = MHCS_COEFFICIENTS,
              .col = 1,
              .dtype = MHCS_BF16},
        .tokens = TOKENS,
        .k = OWN_ENGINE_K,
        .coefficients = MHCS_COEFFICIENTS,
        .stream = stream,
    };
}

enum work { SNAPSHOT, REFERENCE, COMPARE, WORKS };

static CUresult launch(const struct mhcs_engine *engine, struct mhcs_slot *slot, enum work work)
{
    switch (work) {
    case SNAPSHOT:
        return mhcs_snapshot(engine, slot, PARTS);
    case REFERENCE:
        return mhcs_pipeline_reference(engine, slot);
    default:
        return mhcs_pipeline_compare(engine, slot, &mhcs_model_unknown);
    }
}

static void cost_of_sample(struct own_engine *own, const struct mhcs_gemm *gemm, uint32_t rows)
{
    static const char *const names[] = {"snapshot", "reference-and-fingerprint", "comparator"};
    struct mhcs_engine *const engine = &own->engine;
    struct mhcs_slot *const slot = &engine->slots[0];
    double times[MEASURE_ROUNDS];
    char name[64];

    slot->call = (struct mhcs_slot_call){.gemm = *gemm, .rows = rows, .alpha = 1};
    mhcs_layout_set(&slot->call.layout, gemm, rows);
    for (enum work work = SNAPSHOT; work < WORKS; work++) {
        const CUstream stream = work == SNAPSHOT ? own->stream : engine->spare;

        for (int r = 0; r < measure_rounds(); r++) {
            own_engine_begin(own, stream);
            for (int i = 0; i < LAUNCHES; i++) {
                MUST(launch(engine, slot, work));
            }
            times[r] = own_engine_end(own, stream) / LAUNCHES;
        }
        snprintf(name, sizeof(name), "%u-rows.%s", rows, names[work]);
        measure_figure(name, measure_median(times), "us");
    }
}

int main(int argc, char **argv)
{
    static struct own_engine own;
    struct mhcs_gemm gemm;

    own_engine_open(&own);
    own_engine_arm(&own);
    gemm = new_gemm(own.stream);
    for (int i = 1; i < argc; i++) {
        const int rows = atoi(argv[i]);

        MUST(rows >= 1 && rows <= OWN_ENGINE_ROWS ? 0 : -1);
        cost_of_sample(&own, &gemm, (uint32_t)rows);
    }
    return 0;
}
