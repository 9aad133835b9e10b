/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: modules, libraries and the functions in them. */
#include "api.h"
#include "module.h"

#include <stdlib.h>

static CUresult load_module(const char *caller, CUmodule *ret_module, const void *image)
{
    struct sim_code *code;
    CUresult r;

    if (!ret_module)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_code_load(caller, image, &code);
    if (r != CUDA_SUCCESS)
        return r;
    r = sim_module_new(code, NULL, ret_module);
    sim_code_unref(code);
    return r;
}

CUresult impl_cuModuleLoadData(CUmodule *ret_module, const void *image)
{
    return load_module("cuModuleLoadData", ret_module, image);
}

/* The options steer a compiler that isn't here. */
CUresult impl_cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned count,
                                 CUjit_option *options, void **values)
{
    return load_module("cuModuleLoadDataEx", ret_module, image);
}

CUresult impl_cuModuleLoadFatBinary(CUmodule *ret_module, const void *fatbin)
{
    return load_module("cuModuleLoadFatBinary", ret_module, fatbin);
}

CUresult impl_cuModuleUnload(CUmodule module)
{
    if (!sim_handle_is(SIM_MODULE, module) || module->library)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_module_free(module);
    return CUDA_SUCCESS;
}

CUresult impl_cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
    if (!ret_function || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_handle_is(SIM_MODULE, module))
        return CUDA_ERROR_INVALID_HANDLE;
    return sim_module_function(module, name, ret_function);
}

/* The interpreter refuses PTX with global variables, so no module has any. */
CUresult impl_cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_bytes, CUmodule module,
                                   const char *name)
{
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_handle_is(SIM_MODULE, module) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuLibraryLoadData(CUlibrary *ret_library, const void *image, CUjit_option *options,
                                void **values, unsigned count, CUlibraryOption *library_options,
                                void **library_values, unsigned library_count)
{
    struct sim_code *code;
    CUlibrary library;
    CUresult r;

    if (!ret_library)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_code_load("cuLibraryLoadData", image, &code);
    if (r != CUDA_SUCCESS)
        return r;
    library = calloc(1, sizeof(*library));
    if (!library || !sim_handle_add(SIM_LIBRARY, library)) {
        free(library);
        sim_code_unref(code);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    library->code = code;
    *ret_library = library;
    return CUDA_SUCCESS;
}

CUresult impl_cuLibraryUnload(CUlibrary library)
{
    if (!sim_handle_is(SIM_LIBRARY, library))
        return CUDA_ERROR_INVALID_HANDLE;
    sim_library_free(library);
    return CUDA_SUCCESS;
}

CUresult impl_cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
    const struct ptx_kernel *kernel;
    CUkernel k;

    if (!ret_kernel || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_handle_is(SIM_LIBRARY, library))
        return CUDA_ERROR_INVALID_HANDLE;
    kernel = ptx_module_kernel(library->code->ptx, name);
    if (!kernel)
        return CUDA_ERROR_NOT_FOUND;
    for (k = library->kernels; k && k->kernel != kernel;)
        k = k->next;
    if (!k) {
        k = calloc(1, sizeof(*k));
        if (!k || !sim_handle_add(SIM_KERNEL, k)) {
            free(k);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *k = (struct CUkern_st){.library = library, .next = library->kernels, .kernel = kernel};
        library->kernels = k;
    }
    *ret_kernel = k;
    return CUDA_SUCCESS;
}

CUresult impl_cuLibraryGetModule(CUmodule *ret_module, CUlibrary library)
{
    if (!ret_module)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_handle_is(SIM_LIBRARY, library))
        return CUDA_ERROR_INVALID_HANDLE;
    return sim_library_module(library, ret_module);
}

CUresult impl_cuKernelGetFunction(CUfunction *ret_function, CUkernel kernel)
{
    if (!ret_function)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_handle_is(SIM_KERNEL, kernel)
               ? sim_function_resolve((CUfunction)kernel, ret_function)
               : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuFuncGetModule(CUmodule *ret_module, CUfunction function)
{
    CUresult r = sim_function_resolve(function, &function);

    if (r == CUDA_SUCCESS && !ret_module)
        return CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *ret_module = function->module;
    return r;
}

CUresult impl_cuFuncGetName(const char **ret_name, CUfunction function)
{
    CUresult r = sim_function_resolve(function, &function);

    if (r == CUDA_SUCCESS && !ret_name)
        return CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *ret_name = ptx_kernel_name(function->kernel);
    return r;
}
