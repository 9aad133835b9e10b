/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: stream capture. */
#include "api.h"
#include "capture.h"

#include <stdlib.h>

static bool mode_is_known(CUstreamCaptureMode mode)
{
    return (int)mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult impl_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    const CUstreamCaptureMode old = sim_thread.capture_mode;

    if (!mode || !mode_is_known(*mode))
        return CUDA_ERROR_INVALID_VALUE;
    sim_thread.capture_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    const struct sim_nodes none = {0};
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r != CUDA_SUCCESS)
        return r;
    return mode_is_known(mode) ? sim_capture_begin(stream, NULL, &none, mode)
                               : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle, const CUgraphNode *nodes,
                                          const CUgraphEdgeData *edges, size_t count,
                                          CUstreamCaptureMode mode)
{
    static const char call[] = "cuStreamBeginCaptureToGraph";
    struct sim_graph *graph = sim_graph_of(call, handle);
    struct sim_nodes after = {0};
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r != CUDA_SUCCESS)
        return r;
    if (!graph || !mode_is_known(mode))
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_nodes_of(call, graph, nodes, edges, count, &after);
    if (r == CUDA_SUCCESS)
        r = sim_capture_begin(stream, graph, &after, mode);
    sim_nodes_clear(&after);
    return r;
}

CUresult impl_cuStreamEndCapture(CUstream stream, CUgraph *ret_graph)
{
    struct sim_graph *graph;
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r != CUDA_SUCCESS)
        return r;
    if (!ret_graph)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_capture_end(stream, &graph);
    *ret_graph = graph ? graph->handle : NULL;
    return r;
}

CUresult impl_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *ret_status)
{
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r != CUDA_SUCCESS)
        return r;
    if (!ret_status)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream == stream->context->legacy && sim_capture_blocks_legacy(stream->context))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *ret_status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                  : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

/* The tips as an array that lives until the next call on the stream. */
static bool tell(CUstream stream)
{
    CUgraphNode *told = realloc(stream->told, (stream->tips.count + 1) * sizeof(told[0]));

    if (!told)
        return false;
    stream->told = told;
    for (uint32_t i = 0; i < stream->tips.count; i++)
        told[i] = stream->tips.at[i]->handle;
    return true;
}

CUresult impl_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *ret_status,
                                        cuuint64_t *ret_id, CUgraph *ret_graph,
                                        const CUgraphNode **ret_nodes,
                                        const CUgraphEdgeData **ret_edges, size_t *ret_count)
{
    CUresult r = impl_cuStreamIsCapturing(stream, ret_status);

    if (r != CUDA_SUCCESS || *ret_status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return r;
    sim_stream_resolve(stream, &stream);
    if (ret_edges && !ret_nodes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!tell(stream))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (ret_id)
        *ret_id = stream->capture->id;
    if (ret_graph)
        *ret_graph = stream->capture->graph->handle;
    if (ret_nodes)
        *ret_nodes = stream->told;
    if (ret_edges)
        *ret_edges = NULL; /* no edge has data */
    if (ret_count)
        *ret_count = stream->tips.count;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *ret_status,
                                        cuuint64_t *ret_id, CUgraph *ret_graph,
                                        const CUgraphNode **ret_nodes, size_t *ret_count)
{
    return impl_cuStreamGetCaptureInfo_v3(stream, ret_status, ret_id, ret_graph, ret_nodes, NULL,
                                          ret_count);
}

CUresult impl_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *ret_status,
                                     cuuint64_t *ret_id)
{
    return impl_cuStreamGetCaptureInfo_v3(stream, ret_status, ret_id, NULL, NULL, NULL, NULL);
}

CUresult impl_cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *nodes,
                                                   const CUgraphEdgeData *edges, size_t count,
                                                   unsigned flags)
{
    static const char call[] = "cuStreamUpdateCaptureDependencies";
    struct sim_nodes tips = {0};
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r == CUDA_SUCCESS && !stream->capture)
        r = CUDA_ERROR_ILLEGAL_STATE;
    if (r == CUDA_SUCCESS)
        r = sim_capture_permits_use(call, stream);
    if (r != CUDA_SUCCESS)
        return r;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES && !sim_nodes_join(&tips, &stream->tips))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS)
        r = sim_nodes_of(call, stream->capture->graph, nodes, edges, count, &tips);
    if (r != CUDA_SUCCESS) {
        sim_nodes_clear(&tips);
        return r;
    }
    sim_nodes_clear(&stream->tips);
    stream->tips = tips;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count,
                                                unsigned flags)
{
    return impl_cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}
