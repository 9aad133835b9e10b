/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime API: stream capture and graphs. */
#include "runtime.h"

CUresult rt_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return cuStreamBeginCapture_v2(rt_stream(stream), (CUstreamCaptureMode)mode);
}

CUresult rt_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t *nodes,
                                          const cudaGraphEdgeData *edges, size_t count,
                                          enum cudaStreamCaptureMode mode)
{
    return cuStreamBeginCaptureToGraph(rt_stream(stream), graph, nodes,
                                       (const CUgraphEdgeData *)edges, count,
                                       (CUstreamCaptureMode)mode);
}

CUresult rt_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret_graph)
{
    return cuStreamEndCapture(rt_stream(stream), ret_graph);
}

CUresult rt_cudaGraphCreate(cudaGraph_t *ret_graph, unsigned flags)
{
    return cuGraphCreate(ret_graph, flags);
}

CUresult rt_cudaGraphDestroy(cudaGraph_t graph)
{
    return cuGraphDestroy(graph);
}

CUresult rt_cudaGraphClone(cudaGraph_t *ret_clone, cudaGraph_t graph)
{
    return cuGraphClone(ret_clone, graph);
}

CUresult rt_cudaGraphNodeFindInClone(cudaGraphNode_t *ret_node, cudaGraphNode_t original,
                                     cudaGraph_t clone)
{
    return cuGraphNodeFindInClone(ret_node, original, clone);
}

CUresult rt_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *ret_type)
{
    return cuGraphNodeGetType(node, (CUgraphNodeType *)ret_type);
}

CUresult rt_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    return cuGraphGetNodes(graph, nodes, count);
}

CUresult rt_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    return cuGraphGetRootNodes(graph, nodes, count);
}

CUresult rt_cudaGraphDestroyNode(cudaGraphNode_t node)
{
    return cuGraphDestroyNode(node);
}

CUresult rt_cudaGraphInstantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                 unsigned long long flags)
{
    return cuGraphInstantiateWithFlags(ret_exec, graph, flags);
}

CUresult rt_cudaGraphInstantiateWithFlags(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return cuGraphInstantiateWithFlags(ret_exec, graph, flags);
}

CUresult rt_cudaGraphInstantiateWithParams(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *params)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS p;
    CUresult r;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    p = (CUDA_GRAPH_INSTANTIATE_PARAMS){.flags = params->flags,
                                        .hUploadStream = rt_stream(params->uploadStream)};
    r = cuGraphInstantiateWithParams(ret_exec, graph, &p);
    params->errNode_out = p.hErrNode_out;
    params->result_out = (cudaGraphInstantiateResult)p.result_out;
    return r;
}

CUresult rt_cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return cuGraphExecDestroy(exec);
}

CUresult rt_cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *ret_flags)
{
    return cuGraphExecGetFlags(exec, (cuuint64_t *)ret_flags);
}

CUresult rt_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    return cuGraphUpload(exec, rt_stream(stream));
}

CUresult rt_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    return cuGraphLaunch(exec, rt_stream(stream));
}

CUresult rt_cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled)
{
    return cuGraphNodeSetEnabled(exec, node, enabled);
}

CUresult rt_cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    unsigned *ret_enabled)
{
    return cuGraphNodeGetEnabled(exec, node, ret_enabled);
}

CUresult rt_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *ret_info)
{
    CUgraphExecUpdateResultInfo info;
    CUresult r = cuGraphExecUpdate_v2(exec, graph, &info);

    if (ret_info)
        *ret_info =
            (cudaGraphExecUpdateResultInfo){.result = (enum cudaGraphExecUpdateResult)info.result,
                                            .errorNode = info.errorNode,
                                            .errorFromNode = info.errorFromNode};
    return r;
}

/* The runtime counts dependencies with edge data from version 13 on. */
#if CUDART_VERSION >= 13000
CUresult rt_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                const cudaGraphEdgeData *edges, size_t count,
                                                unsigned flags)
{
    return cuStreamUpdateCaptureDependencies_v2(rt_stream(stream), nodes,
                                                (const CUgraphEdgeData *)edges, count, flags);
}

CUresult rt_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *edges, size_t *count)
{
    return cuGraphGetEdges_v2(graph, from, to, (CUgraphEdgeData *)edges, count);
}

CUresult rt_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                         cudaGraphEdgeData *edges, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, nodes, (CUgraphEdgeData *)edges, count);
}

CUresult rt_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                           cudaGraphEdgeData *edges, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, nodes, (CUgraphEdgeData *)edges, count);
}

CUresult rt_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                     size_t count)
{
    return cuGraphAddDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, count);
}
#endif
