/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches and host functions, to be queued at once or kept in a graph's node. */
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H

#include "engine.h"

#define SIM_THREADS_PER_BLOCK 1024

/* What CUDA_KERNEL_NODE_PARAMS in all its versions has in common with CUlaunchConfig, and what
 * these versions have in common, to initialise one from the other. */
#define SIM_LAUNCH_SHAPE(p)                                                                        \
    .gridDimX = (p)->gridDimX, .gridDimY = (p)->gridDimY, .gridDimZ = (p)->gridDimZ,               \
    .blockDimX = (p)->blockDimX, .blockDimY = (p)->blockDimY, .blockDimZ = (p)->blockDimZ,         \
    .sharedMemBytes = (p)->sharedMemBytes
#define SIM_KERNEL_PARAMS(p)                                                                       \
    .func = (p)->func, SIM_LAUNCH_SHAPE(p), .kernelParams = (p)->kernelParams, .extra = (p)->extra

/* Checks the launch and copies its parameters. The work may run any number of times. */
CUresult sim_launch_work(const CUlaunchConfig *config, CUfunction function, void **kernel_params,
                         void **extra, struct sim_work *ret_work, CUcontext *ret_context);
/* What the work launches, with pointers into it; false if it is no kernel of a module. */
bool sim_launch_params(const struct sim_work *work, CUDA_KERNEL_NODE_PARAMS *ret_params);
CUresult sim_host_function_work(CUhostFn function, void *data, struct sim_work *ret_work);

#endif
