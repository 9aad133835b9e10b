/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated libcudart.so.13: a thin layer over the driver API of libcuda.so.1. Handles of
 * streams and events, error codes, flags and attribute numbers are the driver's own.
 */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include <stdbool.h>

#define __CUDA_API_VERSION_INTERNAL /* the driver's twins and real names */
#include <cuda.h>
#include <cuda_runtime_api.h>

#define API(name, needs, twin, parameters, arguments) CUresult rt_##name parameters;
#include "runtime_list.h"
#undef API

struct rt_thread {
    int device;              /* of cudaSetDevice */
    bool per_thread_default; /* stream 0 of this call is the thread's own */
    cudaError_t last;        /* for cudaGetLastError */
};

extern _Thread_local struct rt_thread rt_thread;

/* Makes sure that cuInit was called. */
CUresult rt_init(void);
/* ... and that the thread has a current context: the one it has, else its device's primary one. */
CUresult rt_context(void);
/* The kernel that this host function stands for in the program's code. */
CUresult rt_function(const void *host, CUfunction *ret_function);
/* The host function of a kernel; NULL: it is none of the program's own. */
const void *rt_host_function(CUfunction function);
/* The stream as the driver should see it in this call. */
CUstream rt_stream(cudaStream_t stream);

#endif
