/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver as a table of pointers. Nothing of CUDA is linked: the library is preloaded into
 * processes that have none, and must use the one driver that the application uses.
 */
#ifndef MHCS_DRIVER_H
#define MHCS_DRIVER_H

#include <cuda.h>

/* X(need, symbol, base name, CUDA version of that ABI). MUST: without it nothing works; MAY: the
 * pointer is NULL on a driver that lacks it. */
#define MHCS_DRIVER_ENTRIES(X)                                                                     \
    X(MUST, cuDriverGetVersion, "cuDriverGetVersion", 2020)                                        \
    X(MAY, cuGetErrorName, "cuGetErrorName", 6000)                                                 \
    X(MUST, cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000)                                    \
    X(MUST, cuDeviceGetName, "cuDeviceGetName", 2000)                                              \
    X(MAY, cuDeviceGetUuid_v2, "cuDeviceGetUuid", 11040)                                           \
    X(MUST, cuCtxGetCurrent, "cuCtxGetCurrent", 4000)                                              \
    X(MUST, cuCtxSetCurrent, "cuCtxSetCurrent", 4000)                                              \
    X(MUST, cuCtxGetDevice, "cuCtxGetDevice", 2000)                                                \
    X(MAY, cuCtxGetId, "cuCtxGetId", 12000)                                                        \
    X(MUST, cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", 5050)                      \
    X(MUST, cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 10010)         \
    X(MUST, cuStreamIsCapturing, "cuStreamIsCapturing", 10000)                                     \
    X(MAY, cuStreamGetCaptureInfo_v3, "cuStreamGetCaptureInfo", 12030)                             \
    X(MUST, cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 5050)                        \
    X(MUST, cuStreamDestroy_v2, "cuStreamDestroy", 4000)                                           \
    X(MUST, cuStreamWaitEvent, "cuStreamWaitEvent", 3020)                                          \
    X(MUST, cuEventCreate, "cuEventCreate", 2000)                                                  \
    X(MUST, cuEventDestroy_v2, "cuEventDestroy", 4000)                                             \
    X(MUST, cuEventRecord, "cuEventRecord", 2000)                                                  \
    X(MUST, cuEventQuery, "cuEventQuery", 2000)                                                    \
    X(MUST, cuMemGetInfo_v2, "cuMemGetInfo", 3020)                                                 \
    X(MUST, cuMemAlloc_v2, "cuMemAlloc", 3020)                                                     \
    X(MUST, cuMemFree_v2, "cuMemFree", 3020)                                                       \
    X(MUST, cuMemHostRegister_v2, "cuMemHostRegister", 6050)                                       \
    X(MUST, cuMemHostUnregister, "cuMemHostUnregister", 4000)                                      \
    X(MUST, cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer", 3020)                       \
    X(MUST, cuMemsetD8Async, "cuMemsetD8Async", 3020)                                              \
    X(MUST, cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020)                                       \
    X(MUST, cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020)                                       \
    X(MUST, cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020)                                           \
    X(MAY, cuPointerGetAttributes, "cuPointerGetAttributes", 7000)                                 \
    X(MUST, cuModuleLoadData, "cuModuleLoadData", 2000)                                            \
    X(MUST, cuModuleGetFunction, "cuModuleGetFunction", 2000)                                      \
    X(MUST, cuModuleUnload, "cuModuleUnload", 2000)                                                \
    X(MAY, cuFuncGetName, "cuFuncGetName", 12030)                                                  \
    X(MUST, cuLaunchKernel, "cuLaunchKernel", 4000)                                                \
    X(MAY, cuGraphGetNodes, "cuGraphGetNodes", 10000)                                              \
    X(MAY, cuGraphNodeGetType, "cuGraphNodeGetType", 10000)                                        \
    X(MAY, cuGraphKernelNodeGetParams_v2, "cuGraphKernelNodeGetParams", 12000)                     \
    X(MAY, cuGraphChildGraphNodeGetGraph, "cuGraphChildGraphNodeGetGraph", 10000)                  \
    X(MAY, cuGraphExecGetFlags, "cuGraphExecGetFlags", 12000)                                      \
    X(MAY, cuGraphExecKernelNodeSetParams_v2, "cuGraphExecKernelNodeSetParams", 12000)             \
    X(MAY, cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled", 11060)

struct mhcs_driver {
#define MHCS_DRIVER_FIELD(need, symbol, name, version) __typeof__(&symbol) symbol;
    MHCS_DRIVER_ENTRIES(MHCS_DRIVER_FIELD)
#undef MHCS_DRIVER_FIELD
};

/* The table, filled at the first call from the libcuda.so.1 that the process has loaded. 0;
 * -EAGAIN: another thread is filling it just now; -ENODEV: not loaded, or an entry is missing
 * (logged once). */
int mhcs_driver(const struct mhcs_driver **ret_driver);

/* A function that the table lacks, found as its entries are; NULL: none. For programs that are not
 * a guest of the application. */
void *mhcs_driver_find(const char *symbol, const char *name, int version);

/* In a forked child: where the parent used the driver it can't be used any more, and may wait for
 * ever for a lock that a thread of the parent holds. */
void mhcs_driver_forget(void);

/* "CUDA_ERROR_OUT_OF_MEMORY", or "CUDA error" where the driver has no name for it. */
const char *mhcs_driver_error(const struct mhcs_driver *driver, CUresult result);

#endif
