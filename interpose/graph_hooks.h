/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of hooked functions of the CUDA runtime: what begins, ends and replays graphs. A
 * graph's mixing GEMMs are called once, while it is captured; what its replays do can be learnt
 * from these alone.
 *
 *     HOOK(name, family, stream)
 *
 * stream: what stream 0 means to it. Unlike hooks.h this list knows no cuBLAS: a process that makes
 * no mixing GEMM passes through here by a load, a compare and a jump.
 *
 *     MHCS_GRAPH_FAMILY_<family>(P, SEP)   P(type, name) for each parameter, SEP() between them
 *
 * Two functions changed their parameters with CUDA 12 and kept their names. What is passed on is
 * the longer list of the two: all of it stands in registers, and a callee ignores what it does not
 * take.
 */
#ifndef MHCS_GRAPH_HOOKS_H
#define MHCS_GRAPH_HOOKS_H

#include <driver_types.h>

/* clang-format off */
#define MHCS_GRAPH_HOOKS(HOOK)                                                                     \
    HOOK(cudaStreamBeginCapture, BEGIN, LEGACY)                                                    \
    HOOK(cudaStreamBeginCapture_ptsz, BEGIN, PER_THREAD)                                           \
    HOOK(cudaStreamEndCapture, END, LEGACY)                                                        \
    HOOK(cudaStreamEndCapture_ptsz, END, PER_THREAD)                                               \
    HOOK(cudaGraphInstantiate, INSTANTIATE, LEGACY)                                                \
    HOOK(cudaGraphInstantiateWithFlags, INSTANTIATE, LEGACY)                                       \
    HOOK(cudaGraphInstantiateWithParams, INSTANTIATE, LEGACY)                                      \
    HOOK(cudaGraphInstantiateWithParams_ptsz, INSTANTIATE, PER_THREAD)                             \
    HOOK(cudaGraphExecUpdate, UPDATE, LEGACY)                                                      \
    HOOK(cudaGraphLaunch, LAUNCH, LEGACY)                                                          \
    HOOK(cudaGraphLaunch_ptsz, LAUNCH, PER_THREAD)                                                 \
    HOOK(cudaGraphExecDestroy, EXEC_DESTROY, LEGACY)                                               \
    HOOK(cudaGraphDestroy, DESTROY, LEGACY)

#define MHCS_GRAPH_FAMILY_BEGIN(P, SEP)                                                            \
    P(cudaStream_t, stream) SEP() P(enum cudaStreamCaptureMode, mode)
#define MHCS_GRAPH_FAMILY_END(P, SEP)                                                              \
    P(cudaStream_t, stream) SEP() P(cudaGraph_t *, ret_graph)
/* CUDA 11: an error node, a log and its size; since 12: flags, or a struct of parameters. */
#define MHCS_GRAPH_FAMILY_INSTANTIATE(P, SEP)                                                      \
    P(cudaGraphExec_t *, ret_exec) SEP() P(cudaGraph_t, graph) SEP()                               \
    P(void *, third) SEP() P(void *, fourth) SEP() P(void *, fifth)
/* CUDA 11: an error node and a result; since 12: a struct of both. */
#define MHCS_GRAPH_FAMILY_UPDATE(P, SEP)                                                           \
    P(cudaGraphExec_t, exec) SEP() P(cudaGraph_t, graph) SEP()                                     \
    P(void *, third) SEP() P(void *, fourth)
#define MHCS_GRAPH_FAMILY_LAUNCH(P, SEP)                                                           \
    P(cudaGraphExec_t, exec) SEP() P(cudaStream_t, stream)
#define MHCS_GRAPH_FAMILY_EXEC_DESTROY(P, SEP) P(cudaGraphExec_t, exec)
#define MHCS_GRAPH_FAMILY_DESTROY(P, SEP)      P(cudaGraph_t, graph)
/* clang-format on */

#define MHCS_GRAPH_COMMA()             ,
#define MHCS_GRAPH_DECLARE(type, name) type name
#define MHCS_GRAPH_NAME(type, name)    name

#define MHCS_GRAPH_PARAMS(family) MHCS_GRAPH_FAMILY_##family(MHCS_GRAPH_DECLARE, MHCS_GRAPH_COMMA)
#define MHCS_GRAPH_ARGS(family)   MHCS_GRAPH_FAMILY_##family(MHCS_GRAPH_NAME, MHCS_GRAPH_COMMA)

enum mhcs_graph_hook {
#define HOOK(name, family, stream) MHCS_GRAPH_HOOK_##name,
    MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK
        MHCS_GRAPH_HOOK_COUNT
};

/* By family, since hooks of one family share their type. */
typedef cudaError_t mhcs_graph_type_BEGIN(MHCS_GRAPH_PARAMS(BEGIN));
typedef cudaError_t mhcs_graph_type_END(MHCS_GRAPH_PARAMS(END));
typedef cudaError_t mhcs_graph_type_INSTANTIATE(MHCS_GRAPH_PARAMS(INSTANTIATE));
typedef cudaError_t mhcs_graph_type_UPDATE(MHCS_GRAPH_PARAMS(UPDATE));
typedef cudaError_t mhcs_graph_type_LAUNCH(MHCS_GRAPH_PARAMS(LAUNCH));
typedef cudaError_t mhcs_graph_type_EXEC_DESTROY(MHCS_GRAPH_PARAMS(EXEC_DESTROY));
typedef cudaError_t mhcs_graph_type_DESTROY(MHCS_GRAPH_PARAMS(DESTROY));

#endif
