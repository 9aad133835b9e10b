/* SPDX-License-Identifier: Apache-2.0 */
/* What a CUDA driver makes of the library, without any cuBLAS: whether it has the functions, takes
 * the kernels and arms an engine; what the calls cost that are made for a sample, in host time; and
 * what nodes cost that stand in a graph, enabled or not.
 *
 * With CUDA_FORCE_PTX_JIT=1 it is the fatbin's PTX that the driver has to take.
 */
#include <stdbool.h>

#include "kernels/fatbin.h"
#include "measure.h"
#include "own_engine.h"

#define CALLS    100 /* a round: fewer than a driver queues before a launch waits */
#define NODES    86  /* as a decode step of DeepSeek-V4-Flash has mixing GEMMs */
#define LAUNCHES 10

/* Median ns of a statement; the device finishes in between. */
#define COST(name, statement)                                                                      \
    do {                                                                                           \
        double rounds[MEASURE_ROUNDS];                                                             \
                                                                                                   \
        for (int r = 0; r < measure_rounds(); r++) {                                               \
            const double begin = measure_now();                                                    \
                                                                                                   \
            for (int i = 0; i < CALLS; i++) {                                                      \
                statement;                                                                         \
            }                                                                                      \
            rounds[r] = (measure_now() - begin) / CALLS;                                           \
            MUST(cuCtxSynchronize());                                                              \
        }                                                                                          \
        measure_figure("call." name, measure_median(rounds), "ns");                                \
    } while (0)

/* ---- the kernels ---- */

static int attribute(CUfunction function, CUfunction_attribute which)
{
    int value;

    MUST(cuFuncGetAttribute(&value, which, function));
    return value;
}

static void load_module(void)
{
    static const char *const names[] = {MHCS_SNAPSHOT_NAME, "mhcs_reference", "mhcs_compare",
                                        "mhcs_fingerprint", "mhcs_widen"};
    const double begin = measure_now();
    CUfunction function;
    CUmodule module;

    MUST(cuModuleLoadData(&module, mhcs_kernels_fatbin));
    measure_figure("module.load", (measure_now() - begin) / 1e6, "ms");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        MUST(cuModuleGetFunction(&function, module, names[i]));
        printf("fact kernel.%s machine code for %d, from PTX for %d, %d registers, %d bytes "
               "local, %d shared\n",
               names[i], attribute(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
               attribute(function, CU_FUNC_ATTRIBUTE_PTX_VERSION),
               attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
               attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
               attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    }
    measure_figure("module.with.functions", (measure_now() - begin) / 1e6, "ms");
    MUST(cuModuleUnload(module));
}

/* ---- calls ---- */

/* A snapshot that copies nothing. */
static void launch_empty(const struct own_engine *own)
{
    struct mhcs_snapshot_params params = {0};
    void *arguments[] = {&params};

    MUST(own->driver->cuLaunchKernel(own->engine.snapshot, 1, 1, 1, 32, 1, 1, 0, own->stream,
                                     arguments, NULL));
}

static void pointer_attributes(const struct mhcs_driver *driver, CUdeviceptr address)
{
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    CUdeviceptr start = 0;
    size_t size = 0;
    void *values[] = {&start, &size};

    MUST(driver->cuPointerGetAttributes(2, attributes, values, address));
}

/* Small ones besides, as a server's allocator has them. */
static CUdeviceptr allocate_many(size_t largest)
{
    CUdeviceptr address;

    for (int i = 0; i < 1000; i++) {
        MUST(cuMemAlloc(&address, 4096));
    }
    MUST(cuMemAlloc(&address, largest));
    return address;
}

static void cost_of_calls(const struct own_engine *own)
{
    const struct mhcs_driver *const driver = own->driver;
    const size_t largest = (size_t)32 << 20;
    const CUdeviceptr block = allocate_many(largest);
    CUstreamCaptureStatus status;
    unsigned long long id;
    CUcontext current;
    CUevent event;

    MUST(driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    COST("cuCtxGetCurrent", MUST(driver->cuCtxGetCurrent(&current)));
    if (driver->cuCtxGetId) {
        COST("cuCtxGetId", MUST(driver->cuCtxGetId(NULL, &id)));
    }
    COST("cuStreamIsCapturing", MUST(driver->cuStreamIsCapturing(own->stream, &status)));
    if (driver->cuPointerGetAttributes) {
        COST("cuPointerGetAttributes", pointer_attributes(driver, block));
        COST("cuPointerGetAttributes.within", pointer_attributes(driver, block + largest / 2));
    }
    COST("cuLaunchKernel", launch_empty(own));
    COST("cuEventRecord", MUST(driver->cuEventRecord(event, own->stream)));
    COST("cuEventQuery", driver->cuEventQuery(event));
}

/* ---- nodes of a graph ---- */

static CUgraphExec new_graph(const struct own_engine *own, int nodes, CUgraph *ret_graph)
{
    CUgraphExec exec;

    MUST(cuStreamBeginCapture(own->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < nodes; i++) {
        launch_empty(own);
    }
    MUST(cuStreamEndCapture(own->stream, ret_graph));
    MUST(cuGraphInstantiateWithFlags(&exec, *ret_graph, 0));
    return exec;
}

/* Host and GPU time of a launch. */
static void cost_of_launch(struct own_engine *own, const char *what, CUgraphExec exec)
{
    double host[MEASURE_ROUNDS], gpu[MEASURE_ROUNDS];
    char name[64];

    for (int r = -3; r < measure_rounds(); r++) { /* the first ones warm up */
        double begin, time, us;

        own_engine_begin(own, own->stream);
        begin = measure_now();
        for (int i = 0; i < LAUNCHES; i++) {
            MUST(cuGraphLaunch(exec, own->stream));
        }
        time = measure_now() - begin;
        us = own_engine_end(own, own->stream);
        if (r >= 0) {
            host[r] = time / LAUNCHES / 1e3;
            gpu[r] = us / LAUNCHES;
        }
    }
    snprintf(name, sizeof(name), "graph.%s.host", what);
    measure_figure(name, measure_median(host), "us/launch");
    snprintf(name, sizeof(name), "graph.%s.gpu", what);
    measure_figure(name, measure_median(gpu), "us/launch");
}

static void set_every_second(const struct own_engine *own, CUgraphExec exec,
                             const CUgraphNode *nodes, unsigned enabled)
{
    for (int i = 1; i < 2 * NODES; i += 2) {
        MUST(own->driver->cuGraphNodeSetEnabled(exec, nodes[i], enabled));
    }
}

/* Returns whether shadow/find.c would know its nodes. */
static bool cost_of_nodes(struct own_engine *own)
{
    const struct mhcs_driver *const driver = own->driver;
    struct mhcs_snapshot_params params = {0};
    void *arguments[] = {&params};
    CUDA_KERNEL_NODE_PARAMS found = {0}, wanted = {.func = own->engine.snapshot,
                                                   .gridDimX = 1,
                                                   .gridDimY = 1,
                                                   .gridDimZ = 1,
                                                   .blockDimX = 32,
                                                   .blockDimY = 1,
                                                   .blockDimZ = 1,
                                                   .kernelParams = arguments};
    CUgraphNode nodes[2 * NODES];
    size_t count = 2 * NODES;
    CUgraph alone, both;
    bool good;
    const CUgraphExec plain = new_graph(own, NODES, &alone),
                      exec = new_graph(own, 2 * NODES, &both);

    MUST(cuGraphGetNodes(both, nodes, &count));
    MUST(driver->cuGraphKernelNodeGetParams_v2(nodes[0], &found));
    good = found.func == own->engine.snapshot;
    printf("%s the kernel of a node is known again\n", good ? "ok      " : "NOT OK  ");
    cost_of_launch(own, "86-nodes", plain);
    cost_of_launch(own, "172-nodes", exec);
    set_every_second(own, exec, nodes, 0);
    cost_of_launch(own, "86-and-86-disabled", exec);
    COST("cuGraphNodeSetEnabled", MUST(driver->cuGraphNodeSetEnabled(exec, nodes[1], i % 2 == 0)));
    COST("cuGraphExecKernelNodeSetParams",
         MUST(driver->cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &wanted)));
    set_every_second(own, exec, nodes, 1);
    cost_of_launch(own, "172-enabled-again", exec);
    return good;
}

int main(void)
{
    static struct own_engine own;

    own_engine_open(&own);
    load_module();
    own_engine_arm(&own);
    cost_of_calls(&own);
    return cost_of_nodes(&own) ? 0 : 1;
}
