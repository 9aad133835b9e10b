/* SPDX-License-Identifier: Apache-2.0 */
#include "own_engine.h"

#include "measure.h"
#include "shadow/log.h"

static int missing_functions(const struct mhcs_driver *driver)
{
    int missing = 0;

#define LOOK(need, symbol, name, version)                                                          \
    if (!driver->symbol) {                                                                         \
        printf("fact missing %s\n", #symbol);                                                      \
        missing++;                                                                                 \
    }
    MHCS_DRIVER_ENTRIES(LOOK)
#undef LOOK
    return missing;
}

void own_engine_open(struct own_engine *own)
{
    char name[128];
    int count = 0, version, major, minor;

    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
        puts("no GPU");
        exit(77);
    }
    MUST(cuDevicePrimaryCtxRetain(&own->context, 0));
    MUST(cuCtxSetCurrent(own->context));
    MUST(cuStreamCreate(&own->stream, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&own->begin, 0));
    MUST(cuEventCreate(&own->end, 0));
    MUST(cuDriverGetVersion(&version));
    MUST(cuDeviceGetName(name, sizeof(name), 0));
    MUST(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    MUST(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    printf("fact gpu %s, compute capability %d.%d, %d in all\n", name, major, minor, count);
    printf("fact driver CUDA %d.%d\n", version / 1000, version / 10 % 100);
    mhcs_log_configure(MHCS_LOG_INFO, NULL);
    MUST(mhcs_driver(&own->driver));
    measure_figure("functions.missing", missing_functions(own->driver), "");
}

void own_engine_arm(struct own_engine *own)
{
    static struct mhcs_settings settings = {
        .enabled = true,
        .sample = 1,
        .rows = OWN_ENGINE_ROWS,
        .shapes = {{MHCS_COEFFICIENTS, OWN_ENGINE_K}, {MHCS_COEFFICIENTS_HEAD, OWN_ENGINE_K}},
        .shape_count = 2,
        .mem_mb = 64,
    };
    struct mhcs_engine *const engine = &own->engine;
    const double begin = measure_now();

    mhcs_engine_arm(engine, own->driver, own->context, &settings);
    measure_figure("arm", (measure_now() - begin) / 1e6, "ms");
    MUST(mhcs_engine_state(engine) == MHCS_ENGINE_ARMED ? 0 : -1);
    MUST(engine->mode == MHCS_MODE_KERNEL ? 0 : -1); /* why not, it has logged */
    MUST(cuCtxSynchronize());
    measure_figure("arm.with.rehearsal", (measure_now() - begin) / 1e6, "ms");
}

void own_engine_begin(struct own_engine *own, CUstream stream)
{
    MUST(cuEventRecord(own->begin, stream));
}

/* By the name that every driver has; cuda.h would link the newest. */
double own_engine_end(struct own_engine *own, CUstream stream)
{
    static CUresult (*elapsed)(float *, CUevent, CUevent);
    float ms;

    if (!elapsed) {
        elapsed =
            (__typeof__(elapsed))mhcs_driver_find("cuEventElapsedTime", "cuEventElapsedTime", 2000);
    }
    MUST(cuEventRecord(own->end, stream));
    MUST(cuEventSynchronize(own->end));
    MUST(elapsed(&ms, own->begin, own->end));
    return (double)ms * 1e3;
}
