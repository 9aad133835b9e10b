/* SPDX-License-Identifier: Apache-2.0 */
/* A cuBLAS handle of our own, and the reference by it. */
#include "shadow/own_cublas.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/cublas_functions.h"

/* More than the partial sums of a mixing GEMM take; without one of ours cuBLAS would allocate a
 * larger one for itself. */
#define WORKSPACE_BYTES (UINT64_C(4) << 20)
#define ALIGNMENT       256 /* what cublasSetWorkspace asks for */
#define WIDEN_BLOCKS    32

struct mhcs_own_cublas {
    const struct mhcs_cublas *of;
    struct mhcs_cublas_functions functions;
    cublasHandle_t handle;
    char trouble[160]; /* empty: it works */
    bool told;
    struct mhcs_own_cublas *next;
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t mhcs_own_cublas_scratch(const struct mhcs_settings *settings)
{
    return WORKSPACE_BYTES + mhcs_weights_largest(settings) + mhcs_rows_largest(settings);
}

/* ---- handles ---- */

static bool failed(struct mhcs_own_cublas *own, const char *what, cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS) {
        snprintf(own->trouble, sizeof(own->trouble), "%s of a handle of our own fails with %d",
                 what, (int)status);
    }
    return status != CUBLAS_STATUS_SUCCESS;
}

/* The libcublas of a call: the file it came through, or beside a libcublasLt its libcublas. */
static bool name_library(char path[PATH_MAX], const struct mhcs_cublas *cublas)
{
    static const char lt[] = "libcublasLt.so", plain[] = "libcublas.so";
    const char *const slash = strrchr(cublas->path, '/');
    const char *const file = slash ? slash + 1 : cublas->path;
    const bool is_lt = strncmp(file, lt, sizeof(lt) - 1) == 0;
    const int n = snprintf(path, PATH_MAX, "%.*s%s%s", (int)(file - cublas->path), cublas->path,
                           is_lt ? plain : "", is_lt ? file + sizeof(lt) - 1 : file);

    return *file && n > 0 && n < PATH_MAX;
}

static void find_functions(struct mhcs_own_cublas *own)
{
    char path[PATH_MAX];
    const char *missing;
    void *library;

    if (!name_library(path, own->of)) {
        snprintf(own->trouble, sizeof(own->trouble),
                 "the file of the application's cuBLAS is "
                 "not known");
        return;
    }
    /* Never a fresh copy. That it stays is as sure as that it is there: the hook has pinned it. */
    library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        snprintf(own->trouble, sizeof(own->trouble), "%.100s is not loaded", path);
        return;
    }
    missing = mhcs_cublas_functions_find(&own->functions, library);
    if (missing) {
        snprintf(own->trouble, sizeof(own->trouble), "%.100s has no %s", path, missing);
    }
}

static void make_handle(struct mhcs_own_cublas *own, const struct mhcs_engine *engine)
{
    const struct mhcs_cublas_functions *f = &own->functions;

    if (failed(own, "cublasCreate", f->cublasCreate_v2(&own->handle))) {
        own->handle = NULL;
        return;
    }
    /* In this order: setting the stream goes back to a workspace of cuBLAS' own. */
    if (!failed(own, "cublasSetStream",
                f->cublasSetStream_v2(own->handle, (cudaStream_t)engine->spare))) {
        failed(own, "cublasSetWorkspace",
               f->cublasSetWorkspace_v2(own->handle, (void *)(uintptr_t)engine->scratch,
                                        WORKSPACE_BYTES));
    }
}

struct mhcs_own_cublas *mhcs_own_cublas_of(struct mhcs_engine *engine,
                                           const struct mhcs_cublas *cublas)
{
    struct mhcs_own_cublas *own = engine->drain.own_cublas;

    if (!engine->scratch || !cublas) {
        return NULL;
    }
    while (own && own->of != cublas) {
        own = own->next;
    }
    if (own) {
        return own;
    }
    own = calloc(1, sizeof(*own));
    if (!own) {
        return NULL;
    }
    own->of = cublas;
    own->next = engine->drain.own_cublas;
    engine->drain.own_cublas = own;
    find_functions(own);
    if (!*own->trouble) {
        make_handle(own, engine);
    }
    return own;
}

const char *mhcs_own_cublas_trouble(struct mhcs_own_cublas *own)
{
    const bool tell = *own->trouble && !own->told;

    own->told = own->told || tell;
    return tell ? own->trouble : NULL;
}

void mhcs_own_cublas_forget(struct mhcs_engine *engine)
{
    while (engine->drain.own_cublas) {
        struct mhcs_own_cublas *const own = engine->drain.own_cublas;

        engine->drain.own_cublas = own->next;
        free(own);
    }
}

/* ---- the GEMM ---- */

static CUresult widen(const struct mhcs_engine *engine, const struct mhcs_widen_params *params)
{
    struct mhcs_widen_params copy = *params;
    void *arguments[] = {&copy};

    return engine->driver->cuLaunchKernel(engine->widen, WIDEN_BLOCKS, 1, 1, MHCS_WIDEN_THREADS, 1,
                                          1, 0, engine->spare, arguments, NULL);
}

/* *address of a packed operand: as fp32 at `room`, unless it is fp32 already. */
static CUresult as_f32(const struct mhcs_engine *engine, uint64_t *address, uint32_t dtype,
                       uint32_t rows, uint32_t k, uint64_t room)
{
    const struct mhcs_widen_params params = {
        .from = *address, .to = room, .dtype = dtype, .rows = rows, .columns = k, .to_row = k};

    if (dtype == MHCS_F32) {
        return CUDA_SUCCESS;
    }
    *address = room;
    return widen(engine, &params);
}

/* What beta scales, where the result will stand. */
static CUresult bring_old_c(const struct mhcs_engine *engine,
                            const struct mhcs_reference_params *params)
{
    const struct mhcs_widen_params widened = {.from = params->old_c,
                                              .to = params->raw,
                                              .dtype = params->c_dtype,
                                              .rows = params->rows,
                                              .columns = params->coefficients,
                                              .to_row = MHCS_COEFFICIENTS};

    return params->old_c ? widen(engine, &widened) : CUDA_SUCCESS;
}

bool mhcs_own_cublas_gemm(struct mhcs_own_cublas *own, const struct mhcs_engine *engine,
                          const struct mhcs_reference_params *params)
{
    const struct mhcs_cublas_functions *f = &own->functions;
    const uint64_t fn_room = engine->scratch + WORKSPACE_BYTES;
    const uint64_t x_room =
        fn_room + aligned((uint64_t)params->coefficients * params->k * sizeof(float));
    const float *alpha = &params->alpha, *beta = &params->beta;
    const int m = (int)params->coefficients, n = (int)params->rows, k = (int)params->k;
    uint64_t fn = params->fn, x = params->x;

    if (*own->trouble) {
        return false;
    }
    if (params->scalars) {
        alpha = (const float *)(uintptr_t)params->scalars;
        beta = alpha + 1;
    }
    if (as_f32(engine, &fn, params->fn_dtype, params->coefficients, params->k, fn_room) !=
            CUDA_SUCCESS ||
        as_f32(engine, &x, params->x_dtype, params->rows, params->k, x_room) != CUDA_SUCCESS ||
        bring_old_c(engine, params) != CUDA_SUCCESS) {
        snprintf(own->trouble, sizeof(own->trouble), "launching mhcs_widen fails");
        return false;
    }
    /* cuBLAS is column-major: c^T [M][R] = fn x^T. */
    return !failed(own, "cublasSetPointerMode",
                   f->cublasSetPointerMode_v2(own->handle, params->scalars
                                                               ? CUBLAS_POINTER_MODE_DEVICE
                                                               : CUBLAS_POINTER_MODE_HOST)) &&
           !failed(own, "cublasGemmEx",
                   f->cublasGemmEx(own->handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, alpha,
                                   (const void *)(uintptr_t)fn, CUDA_R_32F, k,
                                   (const void *)(uintptr_t)x, CUDA_R_32F, k, beta,
                                   (void *)(uintptr_t)params->raw, CUDA_R_32F, MHCS_COEFFICIENTS,
                                   CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT));
}
