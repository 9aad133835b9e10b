/* SPDX-License-Identifier: Apache-2.0 */
/* Arms an engine: everything that allocates or may wait happens here, once, on the application
 * thread of the first due call of a context.
 *
 * The steps down, each said once: no module -> copies; no memory to spare -> slots in pinned host
 * memory. Anything else that fails leaves the engine disarmed.
 */
#include "shadow/engine.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kernels/fatbin.h"
#include "shadow/log.h"
#include "shadow/own_cublas.h"
#include "shadow/pipeline.h"
#include "shadow/snapshot.h"

#define KB 1024
#define MB (UINT64_C(1) << 20)

/* The arena of the host modes is pinned memory, of which a server has little to give. */
#define HOST_ARENA_MB 16

/* What the rehearsal works on, in the arena behind the chunks: one fp32 row of K = 256. */
#define REHEARSAL_BYTES UINT64_C(65536)
#define REHEARSAL_K     256

static void __attribute__((format(printf, 3, 4)))
step_down(struct mhcs_engine *e, enum mhcs_mode mode, const char *format, ...)
{
    struct mhcs_fallback *fallback = &e->fallbacks[e->fallback_count++];
    va_list args;

    e->mode = mode;
    fallback->mode = mode;
    va_start(args, format);
    vsnprintf(fallback->why, sizeof(fallback->why), format, args);
    va_end(args);
    mhcs_log(MHCS_LOG_WARN, "device %d: %s; %s", e->device, fallback->why, mhcs_mode_meaning(mode));
}

static bool failed(struct mhcs_engine *e, const char *what, CUresult result)
{
    if (result != CUDA_SUCCESS) {
        e->disarm_what = what;
        e->disarm_result = result;
        mhcs_log(MHCS_LOG_ERROR, "device %d: %s failed with %s (%d); this context is not sampled",
                 e->device, what, mhcs_driver_error(e->driver, result), (int)result);
    }
    return result != CUDA_SUCCESS;
}

/* cuModuleGetFunction also loads the kernel's code under lazy loading, which otherwise happens at
 * the first launch and must not happen while some stream is being captured. */
static void load_module(struct mhcs_engine *e)
{
    const struct {
        const char *name;
        CUfunction *function;
    } kernels[] = {{MHCS_SNAPSHOT_NAME, &e->snapshot},
                   {"mhcs_reference", &e->reference},
                   {"mhcs_compare", &e->compare},
                   {"mhcs_fingerprint", &e->fingerprint},
                   {"mhcs_widen", &e->widen}};
    CUresult result = e->driver->cuModuleLoadData(&e->module, mhcs_kernels_fatbin);

    if (result != CUDA_SUCCESS) {
        e->module = NULL;
    }
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && result == CUDA_SUCCESS; i++) {
        result = e->driver->cuModuleGetFunction(kernels[i].function, e->module, kernels[i].name);
    }
    if (result != CUDA_SUCCESS) {
        step_down(e, MHCS_MODE_COPY, "the driver refuses the kernels with %s (%d)",
                  mhcs_driver_error(e->driver, result), (int)result);
    }
}

static void set_chunks(struct mhcs_engine *e, uint64_t arena_bytes)
{
    e->chunk_bytes = arena_bytes / MHCS_CHUNKS / 256 * 256;
}

/* Cuts the arena into chunks, and `besides`. False: there is no room for a sample. */
static bool divide(struct mhcs_engine *e, uint64_t arena_bytes, uint64_t besides)
{
    if (arena_bytes <= besides) {
        return false;
    }
    set_chunks(e, arena_bytes - besides);
    return e->largest <= e->chunk_bytes * MHCS_CHUNKS;
}

static void take_arena(struct mhcs_engine *e, const struct mhcs_settings *settings)
{
    const uint64_t want = settings->mem_mb * MB;
    const uint64_t weights = *settings->model ? mhcs_weights_largest(settings) : 0;
    const bool cublas = settings->reference == MHCS_REFERENCE_CUBLAS;
    uint64_t scratch = cublas ? mhcs_own_cublas_scratch(settings) : 0;
    size_t available = 0, total;
    CUresult result;

    if (scratch > 0 && !divide(e, want, REHEARSAL_BYTES + weights + scratch)) {
        step_down(e, MHCS_MODE_KERNEL,
                  "%llu KB for cuBLAS and a sample of %llu KB do not fit MHCSHADOW_MEM_MB=%u",
                  (unsigned long long)scratch / KB, (unsigned long long)e->largest / KB,
                  settings->mem_mb);
        scratch = 0;
    }
    if (!divide(e, want, REHEARSAL_BYTES + weights + scratch)) {
        step_down(e, MHCS_MODE_HOST, "a sample of %llu KB does not fit MHCSHADOW_MEM_MB=%u",
                  (unsigned long long)e->largest / KB, settings->mem_mb);
        return;
    }
    result = e->driver->cuMemGetInfo_v2(&available, &total);
    if (result != CUDA_SUCCESS || available < want + settings->headroom_mb * MB) {
        step_down(e, MHCS_MODE_HOST,
                  "%.0f MB of GPU memory are free, fewer than MHCSHADOW_MEM_MB=%u and "
                  "MHCSHADOW_HEADROOM_MB=%u",
                  (double)available / MB, settings->mem_mb, settings->headroom_mb);
        return;
    }
    result = e->driver->cuMemAlloc_v2(&e->arena, want);
    if (result != CUDA_SUCCESS) {
        e->arena = 0;
        step_down(e, MHCS_MODE_HOST, "cuMemAlloc of MHCSHADOW_MEM_MB=%u fails with %s",
                  settings->mem_mb, mhcs_driver_error(e->driver, result));
        return;
    }
    e->weights_bytes = weights;
    e->weights_address = e->arena + MHCS_CHUNKS * e->chunk_bytes + REHEARSAL_BYTES;
    e->scratch = scratch > 0 ? e->weights_address + weights : 0;
}

/* Room for two of the largest calls at least. */
static void choose_host_arena(struct mhcs_engine *e, const struct mhcs_settings *settings)
{
    const uint64_t mb = settings->mem_mb < HOST_ARENA_MB ? settings->mem_mb : HOST_ARENA_MB;
    const uint64_t least = 2 * e->largest + 256 * MHCS_CHUNKS;

    set_chunks(e, mb * MB > least ? mb * MB : least);
}

/* Host memory that the device writes to. Ours, and only registered with the driver: memory that the
 * driver allocates goes with its context (cudaDeviceReset), under the eyes of the drain thread. Not
 * for forked children: a copy-on-write there would leave the device with the other page. */
static CUresult take_host_memory(struct mhcs_engine *e, uint64_t bytes)
{
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUresult result;

    if (memory == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    madvise(memory, bytes, MADV_DONTFORK);
    result = e->driver->cuMemHostRegister_v2(
        memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS) {
        munmap(memory, bytes);
        return result;
    }
    e->pinned = memory;
    e->pinned_bytes = bytes;
    return CUDA_SUCCESS;
}

/* As cuMemAlloc aligns: enough for any access of the kernels. */
static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* One pinned block: results of every slot, then either the staging buffers or the arena. */
static CUresult take_pinned(struct mhcs_engine *e, const struct mhcs_settings *settings)
{
    const uint64_t result_bytes = aligned(settings->rows * sizeof(struct mhcs_row_result));
    const uint64_t print_bytes = MHCS_COEFFICIENTS * sizeof(struct mhcs_fingerprint_row);
    const uint64_t stride = aligned(result_bytes + print_bytes);
    const uint64_t behind = MHCS_CHUNKS * stride;
    const bool on_device = e->mode == MHCS_MODE_KERNEL;
    CUdeviceptr address;
    CUresult result;

    result = take_host_memory(
        e, behind + (on_device ? e->largest + e->weights_bytes : MHCS_CHUNKS * e->chunk_bytes));
    if (result == CUDA_SUCCESS) {
        result = e->driver->cuMemHostGetDevicePointer_v2(&address, e->pinned, 0);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    for (uint32_t i = 0; i < MHCS_CHUNKS; i++) {
        struct mhcs_slot *slot = &e->slots[i];
        const uint64_t at = i * stride, chunk = i * e->chunk_bytes;

        slot->results = (struct mhcs_row_result *)(void *)(e->pinned + at);
        slot->results_address = address + at;
        slot->fingerprints = (struct mhcs_fingerprint_row *)(void *)(e->pinned + at + result_bytes);
        slot->fingerprints_address = address + at + result_bytes;
        slot->host = on_device ? NULL : e->pinned + behind + chunk;
        slot->address = on_device ? e->arena + chunk : address + behind + chunk;
    }
    e->staging = on_device ? e->pinned + behind : NULL;
    e->weights = e->weights_bytes > 0 ? e->staging + e->largest : NULL;
    return CUDA_SUCCESS;
}

static CUresult make_streams(struct mhcs_engine *e)
{
    const struct mhcs_driver *driver = e->driver;
    int least = 0, greatest = 0;
    CUresult result;

    /* Non-blocking, or the legacy default stream would wait for us. */
    result = driver->cuCtxGetStreamPriorityRange(&least, &greatest);
    if (result == CUDA_SUCCESS) {
        result = driver->cuStreamCreateWithPriority(&e->spare, CU_STREAM_NON_BLOCKING, least);
    }
    for (uint32_t i = 0; i < MHCS_CHUNKS && result == CUDA_SUCCESS; i++) {
        result = driver->cuEventCreate(&e->slots[i].ready, CU_EVENT_DISABLE_TIMING);
        if (result == CUDA_SUCCESS) {
            result = driver->cuEventCreate(&e->slots[i].done, CU_EVENT_DISABLE_TIMING);
        }
    }
    return result;
}

/* Runs every kernel once, on zeros behind the chunks, through the code that samples use: what
 * the driver still has to set up for a first launch is set up now, and a launch that it refuses
 * shows now. Nothing waits for it; later work of the spare stream comes behind it. */
static CUresult rehearse(const struct mhcs_engine *e)
{
    const struct mhcs_driver *driver = e->driver;
    const uint64_t address = e->arena + MHCS_CHUNKS * e->chunk_bytes;
    struct mhcs_slot slot = e->slots[0];
    const struct mhcs_gemm gemm = {
        .fn = {.base = address, .row = REHEARSAL_K, .col = 1},
        .x = {.base = address, .row = REHEARSAL_K, .col = 1},
        .c = {.base = address, .row = MHCS_COEFFICIENTS, .col = 1},
        .tokens = 1,
        .k = REHEARSAL_K,
        .coefficients = MHCS_COEFFICIENTS,
        .stream = e->spare,
    };
    CUresult result;

    slot.call = (struct mhcs_slot_call){.gemm = gemm, .rows = 1, .alpha = 1};
    mhcs_layout_set(&slot.call.layout, &gemm, 1);
    if (e->mode != MHCS_MODE_KERNEL) {
        return e->mode == MHCS_MODE_HOST ? mhcs_snapshot(e, &slot, 0) : CUDA_SUCCESS;
    }
    assert(slot.call.layout.bytes <= REHEARSAL_BYTES);
    slot.address = address;
    result = driver->cuMemsetD8Async(address, 0, REHEARSAL_BYTES, e->spare);
    if (result == CUDA_SUCCESS) {
        result = mhcs_snapshot(e, &slot, 0);
    }
    if (result == CUDA_SUCCESS) {
        result = mhcs_pipeline_reference(e, &slot);
    }
    return result == CUDA_SUCCESS ? mhcs_pipeline_compare(e, &slot, &mhcs_model_unknown) : result;
}

static bool prepare(struct mhcs_engine *e, const struct mhcs_settings *settings)
{
    const struct mhcs_driver *driver = e->driver;

    if (failed(e, "cuDeviceGetAttribute",
               driver->cuDeviceGetAttribute(&e->sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                            e->device))) {
        return false;
    }
    e->largest = mhcs_layout_largest(settings);
    e->mode = settings->reference == MHCS_REFERENCE_HOST ? MHCS_MODE_HOST : MHCS_MODE_KERNEL;
    load_module(e);
    if (e->mode == MHCS_MODE_KERNEL) {
        take_arena(e, settings);
    }
    if (e->mode != MHCS_MODE_KERNEL) {
        choose_host_arena(e, settings);
    }
    e->slots = calloc(MHCS_CHUNKS, sizeof(e->slots[0]));
    if (!e->slots) {
        return !failed(e, "calloc", CUDA_ERROR_OUT_OF_MEMORY);
    }
    return !failed(e, "pinned memory", take_pinned(e, settings)) &&
           !failed(e, "a stream or event", make_streams(e)) &&
           !failed(e, "the first launch of the kernels", rehearse(e));
}

/* Of an engine that never ran. Unloading the module waits for a rehearsal that may be running. */
static void release(struct mhcs_engine *e)
{
    const struct mhcs_driver *driver = e->driver;

    if (e->module) {
        driver->cuModuleUnload(e->module);
    }
    for (uint32_t i = 0; e->slots && i < MHCS_CHUNKS; i++) {
        if (e->slots[i].ready) {
            driver->cuEventDestroy_v2(e->slots[i].ready);
        }
        if (e->slots[i].done) {
            driver->cuEventDestroy_v2(e->slots[i].done);
        }
    }
    if (e->spare) {
        driver->cuStreamDestroy_v2(e->spare);
    }
    if (e->pinned) {
        driver->cuMemHostUnregister(e->pinned);
        munmap(e->pinned, e->pinned_bytes);
        e->pinned = NULL;
    }
    if (e->arena) {
        driver->cuMemFree_v2(e->arena);
    }
    free(e->slots);
    e->slots = NULL;
}

void mhcs_engine_arm(struct mhcs_engine *engine, const struct mhcs_driver *driver,
                     CUcontext context, const struct mhcs_settings *settings)
{
    /* Another thread may be capturing in the global mode, where allocations of any thread that has
     * not said RELAXED fail and break the capture. */
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool ready;

    engine->driver = driver;
    engine->context = context;
    engine->drain.staged = -1;
    engine->drain.uploading = -1;
    if (failed(engine, "cuCtxGetDevice", driver->cuCtxGetDevice(&engine->device)) ||
        failed(engine, "cuThreadExchangeStreamCaptureMode",
               driver->cuThreadExchangeStreamCaptureMode(&mode))) {
        goto out;
    }
    ready = prepare(engine, settings);
    if (!ready) {
        release(engine);
    }
    driver->cuThreadExchangeStreamCaptureMode(&mode);
    if (!ready) {
        goto out;
    }
    mhcs_slot_pool_fill(&engine->pool);
    mhcs_log(MHCS_LOG_INFO, "device %d: armed, mode %s, %d chunks of %llu KB", engine->device,
             mhcs_mode_name(engine->mode), MHCS_CHUNKS,
             (unsigned long long)engine->chunk_bytes / KB);
    atomic_store_explicit(&engine->state, MHCS_ENGINE_ARMED, memory_order_release);
    return;
out:
    atomic_store_explicit(&engine->state, MHCS_ENGINE_DISARMED, memory_order_release);
}
