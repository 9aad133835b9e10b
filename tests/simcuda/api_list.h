/* SPDX-License-Identifier: Apache-2.0 */
/* The driver API this library has: the one list of it. From it come the exported functions, their
 * per-thread default stream twins, the prototypes of what is behind them, and cuGetProcAddress's
 * table. A function that isn't here isn't exported: a client that needs it fails at its first call
 * (or at start) with the name of the symbol, and never succeeds by silence.
 *
 * Includers define API(base, suffix, since, needs, twin, parameters, arguments):
 *   base, suffix   the exported name is base##suffix; cuGetProcAddress knows it as base
 *   since          first CUDA version with this ABI: the highest <= the one asked for is taken
 *   needs          FREE: nothing, takes no lock. INIT: cuInit. CTX: a live current context without a
 *                  sticky error; and an error it falls into during the call is returned
 *   twin           NONE, or PTSZ/PTDS: has a _ptsz/_ptds twin whose stream 0 is the thread's own
 */
#ifndef API
#error "define API before including api_list.h"
#endif

/* clang-format off */
API(cuInit, , 2000, FREE, NONE, (unsigned flags), (flags))
API(cuDriverGetVersion, , 2020, FREE, NONE, (int *ret_version), (ret_version))
API(cuGetErrorName, , 6000, FREE, NONE, (CUresult error, const char **ret_name), (error, ret_name))
API(cuGetErrorString, , 6000, FREE, NONE, (CUresult error, const char **ret_text), (error, ret_text))
API(cuGetProcAddress, , 11030, FREE, NONE, (const char *symbol, void **ret_function, int version, cuuint64_t flags), (symbol, ret_function, version, flags))
API(cuGetProcAddress, _v2, 12000, FREE, NONE, (const char *symbol, void **ret_function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *ret_status), (symbol, ret_function, version, flags, ret_status))

API(cuDeviceGet, , 2000, INIT, NONE, (CUdevice *ret_device, int ordinal), (ret_device, ordinal))
API(cuDeviceGetCount, , 2000, INIT, NONE, (int *ret_count), (ret_count))
API(cuDeviceGetName, , 2000, INIT, NONE, (char *name, int size, CUdevice device), (name, size, device))
API(cuDeviceGetUuid, , 9020, INIT, NONE, (CUuuid *ret_uuid, CUdevice device), (ret_uuid, device))
API(cuDeviceGetUuid, _v2, 11040, INIT, NONE, (CUuuid *ret_uuid, CUdevice device), (ret_uuid, device))
API(cuDeviceTotalMem, _v2, 3020, INIT, NONE, (size_t *ret_bytes, CUdevice device), (ret_bytes, device))
API(cuDeviceGetAttribute, , 2000, INIT, NONE, (int *ret_value, CUdevice_attribute attribute, CUdevice device), (ret_value, attribute, device))
API(cuDeviceComputeCapability, , 2000, INIT, NONE, (int *ret_major, int *ret_minor, CUdevice device), (ret_major, ret_minor, device))
API(cuDeviceGetPCIBusId, , 4010, INIT, NONE, (char *id, int size, CUdevice device), (id, size, device))
API(cuDeviceGetByPCIBusId, , 4010, INIT, NONE, (CUdevice *ret_device, const char *id), (ret_device, id))

API(cuDevicePrimaryCtxRetain, , 7000, INIT, NONE, (CUcontext *ret_context, CUdevice device), (ret_context, device))
API(cuDevicePrimaryCtxRelease, , 7000, INIT, NONE, (CUdevice device), (device))
API(cuDevicePrimaryCtxRelease, _v2, 11000, INIT, NONE, (CUdevice device), (device))
API(cuDevicePrimaryCtxReset, , 7000, INIT, NONE, (CUdevice device), (device))
API(cuDevicePrimaryCtxReset, _v2, 11000, INIT, NONE, (CUdevice device), (device))
API(cuDevicePrimaryCtxGetState, , 7000, INIT, NONE, (CUdevice device, unsigned *ret_flags, int *ret_active), (device, ret_flags, ret_active))
API(cuDevicePrimaryCtxSetFlags, , 7000, INIT, NONE, (CUdevice device, unsigned flags), (device, flags))
API(cuDevicePrimaryCtxSetFlags, _v2, 11000, INIT, NONE, (CUdevice device, unsigned flags), (device, flags))
API(cuCtxCreate, _v2, 3020, INIT, NONE, (CUcontext *ret_context, unsigned flags, CUdevice device), (ret_context, flags, device))
API(cuCtxCreate, _v3, 11040, INIT, NONE, (CUcontext *ret_context, CUexecAffinityParam *affinity, int affinities, unsigned flags, CUdevice device), (ret_context, affinity, affinities, flags, device))
API(cuCtxCreate, _v4, 12050, INIT, NONE, (CUcontext *ret_context, CUctxCreateParams *params, unsigned flags, CUdevice device), (ret_context, params, flags, device))
API(cuCtxDestroy, _v2, 4000, INIT, NONE, (CUcontext context), (context))
API(cuCtxSetCurrent, , 4000, INIT, NONE, (CUcontext context), (context))
API(cuCtxGetCurrent, , 4000, INIT, NONE, (CUcontext *ret_context), (ret_context))
API(cuCtxPushCurrent, _v2, 4000, INIT, NONE, (CUcontext context), (context))
API(cuCtxPopCurrent, _v2, 4000, INIT, NONE, (CUcontext *ret_context), (ret_context))
API(cuCtxGetDevice, , 2000, INIT, NONE, (CUdevice *ret_device), (ret_device))
API(cuCtxGetDevice, _v2, 13000, INIT, NONE, (CUdevice *ret_device, CUcontext context), (ret_device, context))
API(cuCtxGetApiVersion, , 3020, INIT, NONE, (CUcontext context, unsigned *ret_version), (context, ret_version))
API(cuCtxGetId, , 12000, INIT, NONE, (CUcontext context, unsigned long long *ret_id), (context, ret_id))
API(cuCtxGetFlags, , 7000, CTX, NONE, (unsigned *ret_flags), (ret_flags))
API(cuCtxSynchronize, , 2000, CTX, NONE, (void), ())
API(cuCtxSynchronize, _v2, 13000, CTX, NONE, (CUcontext context), (context))
API(cuCtxGetStreamPriorityRange, , 5050, CTX, NONE, (int *ret_least, int *ret_greatest), (ret_least, ret_greatest))
API(cuCtxSetLimit, , 3010, CTX, NONE, (CUlimit limit, size_t value), (limit, value))
API(cuCtxGetLimit, , 3010, CTX, NONE, (size_t *ret_value, CUlimit limit), (ret_value, limit))
API(cuThreadExchangeStreamCaptureMode, , 10010, INIT, NONE, (CUstreamCaptureMode *mode), (mode))

API(cuMemGetInfo, _v2, 3020, CTX, NONE, (size_t *ret_free, size_t *ret_total), (ret_free, ret_total))
API(cuMemAlloc, _v2, 3020, CTX, NONE, (CUdeviceptr *ret_address, size_t bytes), (ret_address, bytes))
API(cuMemFree, _v2, 3020, CTX, NONE, (CUdeviceptr address), (address))
API(cuMemGetAddressRange, _v2, 3020, CTX, NONE, (CUdeviceptr *ret_base, size_t *ret_bytes, CUdeviceptr address), (ret_base, ret_bytes, address))
API(cuMemAllocHost, _v2, 3020, CTX, NONE, (void **ret_host, size_t bytes), (ret_host, bytes))
API(cuMemHostAlloc, , 2020, CTX, NONE, (void **ret_host, size_t bytes, unsigned flags), (ret_host, bytes, flags))
API(cuMemFreeHost, , 2000, CTX, NONE, (void *host), (host))
API(cuMemHostGetDevicePointer, _v2, 3020, CTX, NONE, (CUdeviceptr *ret_address, void *host, unsigned flags), (ret_address, host, flags))
API(cuMemHostGetFlags, , 2030, CTX, NONE, (unsigned *ret_flags, void *host), (ret_flags, host))
API(cuMemHostRegister, _v2, 6050, CTX, NONE, (void *host, size_t bytes, unsigned flags), (host, bytes, flags))
API(cuMemHostUnregister, , 4000, CTX, NONE, (void *host), (host))
API(cuMemAllocAsync, , 11020, CTX, PTSZ, (CUdeviceptr *ret_address, size_t bytes, CUstream stream), (ret_address, bytes, stream))
API(cuMemFreeAsync, , 11020, CTX, PTSZ, (CUdeviceptr address, CUstream stream), (address, stream))
API(cuPointerGetAttribute, , 4000, CTX, NONE, (void *ret_value, CUpointer_attribute attribute, CUdeviceptr address), (ret_value, attribute, address))
API(cuPointerGetAttributes, , 7000, CTX, NONE, (unsigned count, CUpointer_attribute *attributes, void **ret_values, CUdeviceptr address), (count, attributes, ret_values, address))

API(cuMemcpy, , 4000, CTX, PTDS, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
API(cuMemcpyAsync, , 4000, CTX, PTSZ, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
API(cuMemcpyHtoD, _v2, 3020, CTX, PTDS, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes))
API(cuMemcpyDtoH, _v2, 3020, CTX, PTDS, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes))
API(cuMemcpyDtoD, _v2, 3020, CTX, PTDS, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
API(cuMemcpyHtoDAsync, _v2, 3020, CTX, PTSZ, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream), (to, from, bytes, stream))
API(cuMemcpyDtoHAsync, _v2, 3020, CTX, PTSZ, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
API(cuMemcpyDtoDAsync, _v2, 3020, CTX, PTSZ, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
API(cuMemcpy2D, _v2, 3020, CTX, PTDS, (const CUDA_MEMCPY2D *copy), (copy))
API(cuMemcpy2DUnaligned, _v2, 3020, CTX, PTDS, (const CUDA_MEMCPY2D *copy), (copy))
API(cuMemcpy2DAsync, _v2, 3020, CTX, PTSZ, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream))
API(cuMemsetD8, _v2, 3020, CTX, PTDS, (CUdeviceptr to, unsigned char value, size_t count), (to, value, count))
API(cuMemsetD16, _v2, 3020, CTX, PTDS, (CUdeviceptr to, unsigned short value, size_t count), (to, value, count))
API(cuMemsetD32, _v2, 3020, CTX, PTDS, (CUdeviceptr to, unsigned value, size_t count), (to, value, count))
API(cuMemsetD8Async, , 3020, CTX, PTSZ, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream), (to, value, count, stream))
API(cuMemsetD16Async, , 3020, CTX, PTSZ, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream), (to, value, count, stream))
API(cuMemsetD32Async, , 3020, CTX, PTSZ, (CUdeviceptr to, unsigned value, size_t count, CUstream stream), (to, value, count, stream))

API(cuStreamCreate, , 2000, CTX, NONE, (CUstream *ret_stream, unsigned flags), (ret_stream, flags))
API(cuStreamCreateWithPriority, , 5050, CTX, NONE, (CUstream *ret_stream, unsigned flags, int priority), (ret_stream, flags, priority))
API(cuStreamDestroy, _v2, 4000, CTX, NONE, (CUstream stream), (stream))
API(cuStreamSynchronize, , 2000, CTX, PTSZ, (CUstream stream), (stream))
API(cuStreamQuery, , 2000, CTX, PTSZ, (CUstream stream), (stream))
API(cuStreamWaitEvent, , 3020, CTX, PTSZ, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))
API(cuStreamGetPriority, , 5050, CTX, PTSZ, (CUstream stream, int *ret_priority), (stream, ret_priority))
API(cuStreamGetFlags, , 5050, CTX, PTSZ, (CUstream stream, unsigned *ret_flags), (stream, ret_flags))
API(cuStreamGetCtx, , 9020, CTX, PTSZ, (CUstream stream, CUcontext *ret_context), (stream, ret_context))
API(cuStreamGetId, , 12000, CTX, PTSZ, (CUstream stream, unsigned long long *ret_id), (stream, ret_id))
API(cuStreamGetDevice, , 12080, CTX, PTSZ, (CUstream stream, CUdevice *ret_device), (stream, ret_device))
API(cuStreamIsCapturing, , 10000, CTX, PTSZ, (CUstream stream, CUstreamCaptureStatus *ret_status), (stream, ret_status))
API(cuStreamGetCaptureInfo, , 10010, CTX, PTSZ, (CUstream stream, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id), (stream, ret_status, ret_id))
API(cuStreamGetCaptureInfo, _v2, 11030, CTX, PTSZ, (CUstream stream, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id, CUgraph *ret_graph, const CUgraphNode **ret_nodes, size_t *ret_count), (stream, ret_status, ret_id, ret_graph, ret_nodes, ret_count))
API(cuStreamGetCaptureInfo, _v3, 12030, CTX, PTSZ, (CUstream stream, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id, CUgraph *ret_graph, const CUgraphNode **ret_nodes, const CUgraphEdgeData **ret_edges, size_t *ret_count), (stream, ret_status, ret_id, ret_graph, ret_nodes, ret_edges, ret_count))
API(cuLaunchHostFunc, , 10000, CTX, PTSZ, (CUstream stream, CUhostFn function, void *data), (stream, function, data))

API(cuEventCreate, , 2000, CTX, NONE, (CUevent *ret_event, unsigned flags), (ret_event, flags))
API(cuEventRecord, , 2000, CTX, PTSZ, (CUevent event, CUstream stream), (event, stream))
API(cuEventRecordWithFlags, , 11010, CTX, PTSZ, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags))
API(cuEventQuery, , 2000, CTX, NONE, (CUevent event), (event))
API(cuEventSynchronize, , 2000, CTX, NONE, (CUevent event), (event))
API(cuEventDestroy, _v2, 4000, CTX, NONE, (CUevent event), (event))
API(cuEventElapsedTime, , 2000, CTX, NONE, (float *ret_ms, CUevent from, CUevent to), (ret_ms, from, to))
API(cuEventElapsedTime, _v2, 12080, CTX, NONE, (float *ret_ms, CUevent from, CUevent to), (ret_ms, from, to))
