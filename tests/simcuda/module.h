/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded code: a module belongs to a context, a library to none and makes its modules as contexts
 * ask for them. Both hold the same parsed PTX, and so does a launch that is still queued.
 */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "engine.h"
#include "ptx.h"

struct sim_code {
    struct ptx_module *ptx;
    unsigned refs;
};

struct CUmod_st {
    struct sim_code *code;
    CUcontext context;
    CUlibrary library; /* NULL: loaded by itself */
    CUfunction functions;
};

struct CUfunc_st {
    CUmodule module;
    CUfunction next; /* in the module */
    const struct ptx_kernel *kernel;
    const char *what; /* "kernel NAME", for reports */
    int max_dynamic_shared;
};

struct CUlib_st {
    struct sim_code *code;
    CUkernel kernels;
};

struct CUkern_st {
    CUlibrary library;
    CUkernel next; /* in the library */
    const struct ptx_kernel *kernel;
};

/* Finds, parses and checks the PTX for this device; a failure is said with its reason. `image` is a
 * fatbin, the wrapper that nvcc puts around one, or PTX text. */
CUresult sim_code_load(const char *caller, const void *image, struct sim_code **ret_code);
void sim_code_unref(struct sim_code *code);

CUresult sim_module_new(struct sim_code *code, CUlibrary library, CUmodule *ret_module);
void sim_module_free(CUmodule module);
/* The library's module in the current context, made if need be. */
CUresult sim_library_module(CUlibrary library, CUmodule *ret_module);
void sim_library_free(CUlibrary library);
CUresult sim_module_function(CUmodule module, const char *name, CUfunction *ret_function);
/* A CUfunction, or a CUkernel in its place, as the driver allows. */
CUresult sim_function_resolve(CUfunction handle, CUfunction *ret_function);

#endif
