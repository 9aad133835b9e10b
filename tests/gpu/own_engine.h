/* SPDX-License-Identifier: Apache-2.0 */
/* An engine of the library in a program of our own: no cuBLAS, no preload, the driver alone. */
#ifndef GPU_OWN_ENGINE_H
#define GPU_OWN_ENGINE_H

#include "shadow/engine.h"

#define OWN_ENGINE_K    16384
#define OWN_ENGINE_ROWS 64 /* at most */

struct own_engine {
    const struct mhcs_driver *driver;
    CUcontext context;
    CUstream stream; /* as an application's */
    struct mhcs_engine engine;
    CUevent begin, end;
};

/* A context, a stream, the driver's table. Ends the program with 77 where there is no GPU. */
void own_engine_open(struct own_engine *own);

/* Arms the engine as a first sampled call does, in the mode that works on the device. */
void own_engine_arm(struct own_engine *own);

/* GPU time from own_engine_begin() to own_engine_end() on a stream, in us. Waits. */
void own_engine_begin(struct own_engine *own, CUstream stream);
double own_engine_end(struct own_engine *own, CUstream stream);

#endif
