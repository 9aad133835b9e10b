/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* fatbinary_section.h: what nvcc puts around a fatbin that is linked into a program. */
struct fatbin_wrapper {
    uint32_t magic, version;
    const void *data;
};
#define FATBIN_WRAPPER_MAGIC 0x466243b1u

/* Functions that are gone. Who asks next gets the handle of the last one again, at once: a driver
 * may do so, and whoever knows a function by its handle alone must notice here. */
static CUfunction spent;

static const void *unwrapped(const void *image)
{
    uint32_t magic;

    memcpy(&magic, image, sizeof(magic));
    return magic == FATBIN_WRAPPER_MAGIC ? ((const struct fatbin_wrapper *)image)->data : image;
}

/* The code that was loaded last: every context of a program loads the same. It has no variables,
 * which would be each module's own. */
static struct {
    char *text;
    struct sim_code *code;
} kept;

static void keep(struct sim_code *code, char *text)
{
    if (kept.code)
        sim_code_unref(kept.code);
    free(kept.text);
    kept.text = text;
    kept.code = code;
    code->refs++;
}

CUresult sim_code_load(const char *caller, const void *image, struct sim_code **ret_code)
{
    const uint32_t arch = (uint32_t)(10 * sim.cc_major + sim.cc_minor);
    struct sim_code *code;
    char err[512] = "";
    char *text;
    int r;

    if (!image)
        return CUDA_ERROR_INVALID_VALUE;
    text = fatbin_ptx(unwrapped(image), arch, err, sizeof(err));
    if (!text) {
        sim_say("%s: %s", caller, err);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (kept.code && strcmp(text, kept.text) == 0) {
        free(text);
        kept.code->refs++;
        *ret_code = kept.code;
        return CUDA_SUCCESS;
    }
    code = calloc(1, sizeof(*code));
    if (!code) {
        free(text);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r = ptx_module_load(&code->ptx, text, err, sizeof(err));
    if (r != 0) {
        sim_say("%s: PTX %s", caller, err);
        free(text);
        free(code);
        return CUDA_ERROR_INVALID_PTX;
    }
    code->refs = 1;
    if (ptx_module_has_variables(code->ptx))
        free(text);
    else
        keep(code, text);
    *ret_code = code;
    return CUDA_SUCCESS;
}

void sim_code_unref(struct sim_code *code)
{
    if (--code->refs > 0)
        return;
    ptx_module_free(code->ptx);
    free(code);
}

CUresult sim_module_new(struct sim_code *code, CUlibrary library, CUmodule *ret_module)
{
    CUmodule module = calloc(1, sizeof(*module));

    if (!module || !sim_handle_add(SIM_MODULE, module)) {
        free(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    module->code = code;
    module->context = sim_context_current();
    module->library = library;
    code->refs++;
    *ret_module = module;
    return CUDA_SUCCESS;
}

void sim_module_free(CUmodule module)
{
    CUfunction f;

    while ((f = module->functions)) {
        module->functions = f->next;
        sim_handle_remove(SIM_FUNCTION, f);
        f->next = spent;
        spent = f;
    }
    sim_handle_remove(SIM_MODULE, module);
    sim_code_unref(module->code);
    free(module);
}

void sim_modules_close(CUcontext context)
{
    size_t cursor = 0;
    CUmodule module;

    while ((module = sim_table_next(&sim.handles[SIM_MODULE], &cursor)))
        if (module->context == context)
            sim_module_free(module);
}

CUresult sim_library_module(CUlibrary library, CUmodule *ret_module)
{
    size_t cursor = 0;
    CUmodule module;

    while ((module = sim_table_next(&sim.handles[SIM_MODULE], &cursor))) {
        if (module->library == library && module->context == sim_context_current()) {
            *ret_module = module;
            return CUDA_SUCCESS;
        }
    }
    return sim_module_new(library->code, library, ret_module);
}

void sim_library_free(CUlibrary library)
{
    size_t cursor = 0;
    CUmodule module;
    CUkernel k;

    while ((module = sim_table_next(&sim.handles[SIM_MODULE], &cursor)))
        if (module->library == library)
            sim_module_free(module);
    while ((k = library->kernels)) {
        library->kernels = k->next;
        sim_handle_remove(SIM_KERNEL, k);
        free(k);
    }
    sim_handle_remove(SIM_LIBRARY, library);
    sim_code_unref(library->code);
    free(library);
}

CUresult sim_module_function(CUmodule module, const char *name, CUfunction *ret_function)
{
    const struct ptx_kernel *kernel = ptx_module_kernel(module->code->ptx, name);
    CUfunction f = module->functions;
    char what[256];

    if (!kernel)
        return CUDA_ERROR_NOT_FOUND;
    while (f && f->kernel != kernel)
        f = f->next;
    if (!f) {
        f = spent ? spent : calloc(1, sizeof(*f));
        if (!f)
            return CUDA_ERROR_OUT_OF_MEMORY;
        spent = f->next;
        snprintf(what, sizeof(what), "kernel %s", name);
        *f = (struct CUfunc_st){.module = module,
                                .next = module->functions,
                                .kernel = kernel,
                                .what = sim_intern(what),
                                .max_dynamic_shared =
                                    SIM_SHARED_DEFAULT - (int)ptx_kernel_shared_bytes(kernel)};
        if (!f->what || !sim_handle_add(SIM_FUNCTION, f)) {
            free(f);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        module->functions = f;
    }
    *ret_function = f;
    return CUDA_SUCCESS;
}

CUresult sim_function_resolve(CUfunction handle, CUfunction *ret_function)
{
    const CUkernel kernel = (CUkernel)handle;
    CUmodule module;
    CUresult r;

    if (sim_handle_is(SIM_FUNCTION, handle)) {
        *ret_function = handle;
        return CUDA_SUCCESS;
    }
    if (!sim_handle_is(SIM_KERNEL, kernel))
        return CUDA_ERROR_INVALID_HANDLE;
    r = sim_library_module(kernel->library, &module);
    return r == CUDA_SUCCESS
               ? sim_module_function(module, ptx_kernel_name(kernel->kernel), ret_function)
               : r;
}
