/* SPDX-License-Identifier: Apache-2.0 */
/* The exported symbols of the CUDA runtime, generated from graph_hooks.h. Each asks one relaxed
 * load whether there is anything to do, and if not is gone from the stack before the real function
 * runs.
 */
#include <cuda_runtime_api.h>
#include <errno.h>

#include "interpose/gate.h"
#include "interpose/graph_hooks.h"
#include "interpose/real.h"
#include "shadow/graph.h"

#define EXPORT __attribute__((visibility("default")))

/* What stream 0 is to a function, as the driver names it; driver_types.h has these two as
 * cudaStreamLegacy and cudaStreamPerThread of the runtime. */
#define STREAM_LEGACY     ((uintptr_t)1)
#define STREAM_PER_THREAD ((uintptr_t)2)

static void *driver_stream(cudaStream_t stream, uintptr_t zero)
{
    return stream ? (void *)stream : (void *)zero;
}

/* The application's errno is not ours to change. */
#define QUIETLY(statement)                                                                         \
    do {                                                                                           \
        const int saved_errno = errno;                                                             \
                                                                                                   \
        statement;                                                                                 \
        errno = saved_errno;                                                                       \
    } while (0)

static inline cudaError_t pass_BEGIN(mhcs_graph_type_BEGIN *real, uintptr_t zero,
                                     MHCS_GRAPH_PARAMS(BEGIN))
{
    cudaError_t status;

    if (!mhcs_gate_wants_graphs()) {
        return real(stream, mode);
    }
    QUIETLY(mhcs_capture_begins());
    status = real(stream, mode);
    if (status == cudaSuccess) {
        QUIETLY(mhcs_capture_began(driver_stream(stream, zero)));
    }
    return status;
}

static inline cudaError_t pass_END(mhcs_graph_type_END *real, uintptr_t zero,
                                   MHCS_GRAPH_PARAMS(END))
{
    cudaError_t status;
    uint64_t id;

    if (!mhcs_capture_under_way()) {
        return real(stream, ret_graph);
    }
    QUIETLY(id = mhcs_capture_id(driver_stream(stream, zero)));
    status = real(stream, ret_graph);
    QUIETLY(mhcs_capture_ended(driver_stream(stream, zero), id));
    return status;
}

static inline bool nodes_are_about(void)
{
    return atomic_load_explicit(&mhcs_graph_nodes, memory_order_relaxed) > 0;
}

static inline bool graphs_are_followed(void)
{
    return atomic_load_explicit(&mhcs_graphs_followed, memory_order_relaxed) > 0;
}

static inline cudaError_t pass_INSTANTIATE(mhcs_graph_type_INSTANTIATE *real, uintptr_t zero,
                                           MHCS_GRAPH_PARAMS(INSTANTIATE))
{
    cudaError_t status;

    if (!nodes_are_about()) {
        return real(ret_exec, graph, third, fourth, fifth);
    }
    status = real(ret_exec, graph, third, fourth, fifth);
    if (status == cudaSuccess) {
        QUIETLY(mhcs_graph_instantiated(*ret_exec, graph));
    }
    return status;
}

static inline cudaError_t pass_UPDATE(mhcs_graph_type_UPDATE *real, uintptr_t zero,
                                      MHCS_GRAPH_PARAMS(UPDATE))
{
    cudaError_t status;

    if (!graphs_are_followed()) {
        return real(exec, graph, third, fourth);
    }
    status = real(exec, graph, third, fourth);
    if (status == cudaSuccess) {
        QUIETLY(mhcs_graph_updated(exec, graph));
    }
    return status;
}

static inline cudaError_t pass_LAUNCH(mhcs_graph_type_LAUNCH *real, uintptr_t zero,
                                      MHCS_GRAPH_PARAMS(LAUNCH))
{
    struct mhcs_replay replay;
    cudaError_t status;

    if (!graphs_are_followed()) {
        return real(exec, stream);
    }
    QUIETLY(mhcs_replay_before(&replay, exec, driver_stream(stream, zero)));
    status = real(exec, stream);
    QUIETLY(mhcs_replay_after(&replay, status == cudaSuccess));
    return status;
}

static inline cudaError_t pass_EXEC_DESTROY(mhcs_graph_type_EXEC_DESTROY *real, uintptr_t zero,
                                            MHCS_GRAPH_PARAMS(EXEC_DESTROY))
{
    struct mhcs_graph_left left;
    cudaError_t status;

    if (!graphs_are_followed()) {
        return real(exec);
    }
    QUIETLY(left = mhcs_graph_exec_destroyed(exec));
    status = real(exec);
    if (left.graph) {
        QUIETLY(left.destroy(left.graph));
    }
    return status;
}

static inline cudaError_t pass_DESTROY(mhcs_graph_type_DESTROY *real, uintptr_t zero,
                                       MHCS_GRAPH_PARAMS(DESTROY))
{
    bool kept;

    if (!graphs_are_followed()) {
        return real(graph);
    }
    QUIETLY(kept = mhcs_graph_keep(graph, (mhcs_graph_destroy *)(void *)real));
    return kept ? cudaSuccess : real(graph);
}

/* The toolkit declares some of them with fewer parameters (graph_hooks.h), so they are exported
 * from functions of other names. */
#define STRING(name) #name
#define HOOK(name, family, stream0)                                                                \
    EXPORT mhcs_graph_type_##family mhcs_hooked_##name __asm__(STRING(name));                      \
    EXPORT cudaError_t mhcs_hooked_##name(MHCS_GRAPH_PARAMS(family))                               \
    {                                                                                              \
        const struct mhcs_target target =                                                          \
            mhcs_real_graph(MHCS_GRAPH_HOOK_##name, __builtin_return_address(0));                  \
                                                                                                   \
        return pass_##family((mhcs_graph_type_##family *)target.function, STREAM_##stream0,        \
                             MHCS_GRAPH_ARGS(family));                                             \
    }
MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK

#define SAME(name, family)                                                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), mhcs_graph_type_##family),       \
                   #name " differs from the toolkit's header")
SAME(cudaStreamBeginCapture, BEGIN);
SAME(cudaStreamEndCapture, END);
SAME(cudaGraphLaunch, LAUNCH);
SAME(cudaGraphExecDestroy, EXEC_DESTROY);
SAME(cudaGraphDestroy, DESTROY);
