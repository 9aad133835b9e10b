/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime API: adding nodes to a graph, and their parameters. */
#include "runtime.h"

#include <stdint.h>

static CUresult driver_params(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret)
{
    CUfunction function;
    CUresult r = p ? rt_function(p->func, &function) : CUDA_ERROR_INVALID_VALUE;

    if (r == CUDA_SUCCESS)
        *ret = (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                         .gridDimX = p->gridDim.x,
                                         .gridDimY = p->gridDim.y,
                                         .gridDimZ = p->gridDim.z,
                                         .blockDimX = p->blockDim.x,
                                         .blockDimY = p->blockDim.y,
                                         .blockDimZ = p->blockDim.z,
                                         .sharedMemBytes = p->sharedMemBytes,
                                         .kernelParams = p->kernelParams,
                                         .extra = p->extra};
    return r;
}

CUresult rt_cudaGraphAddKernelNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                   const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    CUresult r = driver_params(params, &p);

    return r == CUDA_SUCCESS ? cuGraphAddKernelNode_v2(ret_node, graph, after, count, &p) : r;
}

/* A kernel that the program did not launch by a host function has none to be told with. */
CUresult rt_cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         struct cudaKernelNodeParams *ret_params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    const void *host;
    CUresult r;

    if (!ret_params)
        return CUDA_ERROR_INVALID_VALUE;
    r = cuGraphKernelNodeGetParams_v2(node, &p);
    if (r != CUDA_SUCCESS)
        return r;
    host = rt_host_function(p.func);
    if (!host)
        return (CUresult)cudaErrorInvalidDeviceFunction;
    *ret_params = (struct cudaKernelNodeParams){.func = (void *)(uintptr_t)host,
                                                .gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ},
                                                .blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ},
                                                .sharedMemBytes = p.sharedMemBytes,
                                                .kernelParams = p.kernelParams};
    return CUDA_SUCCESS;
}

CUresult rt_cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    CUresult r = driver_params(params, &p);

    return r == CUDA_SUCCESS ? cuGraphKernelNodeSetParams_v2(node, &p) : r;
}

CUresult rt_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    CUresult r = driver_params(params, &p);

    return r == CUDA_SUCCESS ? cuGraphExecKernelNodeSetParams_v2(exec, node, &p) : r;
}

/* The kind says no more than the addresses do. */
CUresult rt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                     const cudaGraphNode_t *after, size_t count, void *to,
                                     const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                .srcDevice = (uintptr_t)from,
                                .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                .dstDevice = (uintptr_t)to,
                                .WidthInBytes = bytes,
                                .Height = 1,
                                .Depth = 1};

    return cuGraphAddMemcpyNode(ret_node, graph, after, count, &copy, NULL);
}

CUresult rt_cudaGraphAddMemsetNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                   const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemsetParams *params)
{
    CUDA_MEMSET_NODE_PARAMS p;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    p = (CUDA_MEMSET_NODE_PARAMS){.dst = (uintptr_t)params->dst,
                                  .pitch = params->pitch,
                                  .value = params->value,
                                  .elementSize = params->elementSize,
                                  .width = params->width,
                                  .height = params->height};
    return cuGraphAddMemsetNode(ret_node, graph, after, count, &p, NULL);
}

CUresult rt_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *ret_handle,
                                             cudaGraph_t graph, unsigned value, unsigned flags)
{
    return cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)ret_handle, graph, NULL,
                                          value, flags);
}

CUresult rt_cudaGraphAddEmptyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                  const cudaGraphNode_t *after, size_t count)
{
    return cuGraphAddEmptyNode(ret_node, graph, after, count);
}

CUresult rt_cudaGraphAddHostNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                 const cudaGraphNode_t *after, size_t count,
                                 const struct cudaHostNodeParams *params)
{
    CUDA_HOST_NODE_PARAMS p;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    p = (CUDA_HOST_NODE_PARAMS){.fn = params->fn, .userData = params->userData};
    return cuGraphAddHostNode(ret_node, graph, after, count, &p);
}

CUresult rt_cudaGraphAddEventRecordNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                        const cudaGraphNode_t *after, size_t count,
                                        cudaEvent_t event)
{
    return cuGraphAddEventRecordNode(ret_node, graph, after, count, event);
}

CUresult rt_cudaGraphAddEventWaitNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                      const cudaGraphNode_t *after, size_t count, cudaEvent_t event)
{
    return cuGraphAddEventWaitNode(ret_node, graph, after, count, event);
}

CUresult rt_cudaGraphAddChildGraphNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                       const cudaGraphNode_t *after, size_t count,
                                       cudaGraph_t child)
{
    return cuGraphAddChildGraphNode(ret_node, graph, after, count, child);
}

CUresult rt_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *ret_graph)
{
    return cuGraphChildGraphNodeGetGraph(node, ret_graph);
}

#if CUDART_VERSION >= 13000
/* Conditional nodes only: the others have functions of their own. */
CUresult rt_cudaGraphAddNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                             const cudaGraphNode_t *after, const cudaGraphEdgeData *edges,
                             size_t count, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams p;
    CUresult r;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    if (params->type != cudaGraphNodeTypeConditional)
        return CUDA_ERROR_NOT_SUPPORTED;
    p = (CUgraphNodeParams){
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .conditional = {.handle = params->conditional.handle,
                        .type = (CUgraphConditionalNodeType)params->conditional.type,
                        .size = params->conditional.size}};
    r = cuGraphAddNode_v2(ret_node, graph, after, (const CUgraphEdgeData *)edges, count, &p);
    params->conditional.phGraph_out = p.conditional.phGraph_out;
    return r;
}
#endif
