/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches and host functions, to be queued at once or kept in a graph's node. */
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H

#include "engine.h"

#define SIM_THREADS_PER_BLOCK 1024

/* Checks the launch and copies its parameters. The work may run any number of times. */
CUresult sim_launch_work(const CUlaunchConfig *config, CUfunction function, void **kernel_params,
                         void **extra, struct sim_work *ret_work, CUcontext *ret_context);
/* What the work launches, with pointers into it; false if it is no kernel of a module. */
bool sim_launch_params(const struct sim_work *work, CUDA_KERNEL_NODE_PARAMS *ret_params);
CUresult sim_host_function_work(CUhostFn function, void *data, struct sim_work *ret_work);

#endif
