/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fatbin.h"
#include "shadow/own_cublas.h"

#define ALLOCATIONS 64

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction kernel[5];
    CUdeviceptr allocation[ALLOCATIONS];
    int allocations;
} device;

static void check(CUresult rc, const char *call)
{
    const char *name = "?";
    if (rc == CUDA_SUCCESS)
        return;
    cuGetErrorName(rc, &name);
    fprintf(stderr, "%s: %s (%d)\n", call, name, (int)rc);
    exit(1);
}
#define CHECK(call) check(call, #call)

void device_open(void)
{
    static const char *const names[] = {"mhcs_snapshot", "mhcs_reference", "mhcs_compare",
                                        "mhcs_fingerprint", "mhcs_widen"};
    CUdevice ordinal;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&ordinal, 0));
    CHECK(cuDevicePrimaryCtxRetain(&device.context, ordinal));
    CHECK(cuCtxSetCurrent(device.context));
    CHECK(cuModuleLoadData(&device.module, mhcs_kernels_fatbin));
    for (int i = 0; i < 5; i++)
        CHECK(cuModuleGetFunction(&device.kernel[i], device.module, names[i]));
}

void device_close(void)
{
    CUdevice ordinal;
    device_reset();
    CHECK(cuModuleUnload(device.module));
    CHECK(cuCtxGetDevice(&ordinal));
    CHECK(cuDevicePrimaryCtxRelease(ordinal));
}

uint64_t device_new(size_t bytes, size_t offset)
{
    if (device.allocations == ALLOCATIONS)
        abort();
    CUdeviceptr *const p = &device.allocation[device.allocations++];
    CHECK(cuMemAlloc(p, bytes + offset));
    return *p + offset;
}

uint64_t device_upload(const void *from, size_t bytes)
{
    const uint64_t to = device_new(bytes, 0);
    device_write(to, from, bytes);
    return to;
}

void device_write(uint64_t to, const void *from, size_t bytes)
{
    CHECK(cuMemcpyHtoD(to, from, bytes));
}

void device_download(void *to, uint64_t from, size_t bytes)
{
    CHECK(cuMemcpyDtoH(to, from, bytes));
}

void device_reset(void)
{
    while (device.allocations > 0)
        CHECK(cuMemFree(device.allocation[--device.allocations]));
}

void device_launch(enum device_kernel kernel, uint32_t blocks, void *params)
{
    static const unsigned threads[] = {MHCS_SNAPSHOT_THREADS, MHCS_REFERENCE_THREADS,
                                       MHCS_COMPARE_THREADS, MHCS_FINGERPRINT_THREADS,
                                       MHCS_WIDEN_THREADS};
    CHECK(cuLaunchKernel(device.kernel[kernel], blocks, 1, 1, threads[kernel], 1, 1, 0, NULL,
                         (void *[]){params}, NULL));
    CHECK(cuCtxSynchronize());
}

/* A case on the device, and the addresses of what the kernels write. */
struct uploaded {
    uint64_t fn, x, c, old_c, checkpoint;
    size_t coefficients_bytes; /* of [R][24] floats */
};

static struct uploaded upload(const struct kernel_case *c)
{
    const size_t m = c->coefficients, k = c->k, rows = c->rows;
    const size_t c_bytes = rows * m * mhcs_dtype_size(c->c_dtype);
    return (struct uploaded){
        .fn = device_upload(c->fn_bytes, m * k * mhcs_dtype_size(c->fn_dtype)),
        .x = device_upload(c->x_bytes, rows * k * mhcs_dtype_size(c->x_dtype)),
        .c = device_upload(c->c_bytes, c_bytes),
        .old_c = c->old_c_bytes ? device_upload(c->old_c_bytes, c_bytes) : 0,
        .checkpoint = c->checkpoint ? device_upload(c->checkpoint, m * k * sizeof(float)) : 0,
        .coefficients_bytes = rows * MHCS_COEFFICIENTS * sizeof(float)};
}

/* The GEMM of `p` by the engine's code, in an engine that has no more than it needs. */
static void run_cublas(const struct mhcs_reference_params *p)
{
    static const struct mhcs_cublas cublas = {"libcublas.so.13", 130100};
    static const struct mhcs_settings largest = {.rows = MHCS_ROWS_MAX};
    static struct mhcs_engine engine;
    struct mhcs_own_cublas *own;

    if (!engine.scratch) {
        CHECK(cuMemAlloc(&engine.scratch, mhcs_own_cublas_scratch(&largest)));
        engine.widen = device.kernel[DEVICE_WIDEN];
        if (mhcs_driver(&engine.driver) < 0 || !dlopen(cublas.path, RTLD_LAZY))
            exit(1);
    }
    own = mhcs_own_cublas_of(&engine, &cublas);
    if (!own || !mhcs_own_cublas_gemm(own, &engine, p)) {
        fprintf(stderr, "cuBLAS: %s\n", own ? mhcs_own_cublas_trouble(own) : "no memory");
        exit(1);
    }
    CHECK(cuCtxSynchronize());
}

static struct mhcs_reference_params run_reference(const struct kernel_case *c,
                                                  const struct uploaded *at, bool checkpoint,
                                                  bool by_cublas)
{
    struct mhcs_reference_params p = {.fn = checkpoint ? at->checkpoint : at->fn,
                                      .x = at->x,
                                      .old_c = at->old_c,
                                      .alpha = c->alpha,
                                      .beta = c->beta,
                                      .fn_dtype = checkpoint ? MHCS_F32 : c->fn_dtype,
                                      .x_dtype = c->x_dtype,
                                      .c_dtype = c->c_dtype,
                                      .coefficients = c->coefficients,
                                      .k = c->k,
                                      .rows = c->rows,
                                      .raw = device_new(at->coefficients_bytes, 0),
                                      .abs_dot = device_new(at->coefficients_bytes, 0),
                                      .square_sum = device_new(c->rows * sizeof(float), 0)};
    struct mhcs_reference_params rest = p;
    if (by_cublas) {
        run_cublas(&p);
        rest.raw = 0;
    }
    device_launch(DEVICE_REFERENCE, c->rows, &rest);
    return p;
}

void device_reference(const struct kernel_case *c, bool checkpoint, const struct reference_out *out)
{
    const struct uploaded at = upload(c);
    const struct mhcs_reference_params p = run_reference(c, &at, checkpoint, false);
    for (uint32_t r = 0; r < c->rows; r++) {
        const size_t row = (size_t)r * MHCS_COEFFICIENTS, bytes = c->coefficients * sizeof(float);
        device_download(out->raw + row, p.raw + row * sizeof(float), bytes);
        device_download(out->abs_dot + row, p.abs_dot + row * sizeof(float), bytes);
    }
    device_download(out->square_sum, p.square_sum, c->rows * sizeof(float));
    device_reset();
}

/* Results land in pinned host memory mapped into the device, as in the engine. */
void device_compare(const struct kernel_case *c, bool by_cublas, struct mhcs_row_result *results,
                    float *y)
{
    const struct uploaded at = upload(c);
    const struct mhcs_reference_params operands = run_reference(c, &at, false, by_cublas);
    const struct mhcs_reference_params checkpoint =
        at.checkpoint ? run_reference(c, &at, true, by_cublas) : (struct mhcs_reference_params){0};
    const size_t y_bytes = sizeof(float) * MHCS_PATHS * c->rows * (c->k / 4);
    void *pinned;
    CUdeviceptr pinned_address;
    CHECK(cuMemHostAlloc(&pinned, c->rows * sizeof(*results), CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&pinned_address, pinned, 0));

    struct mhcs_compare_params p = {.x = at.x,
                                    .c = at.c,
                                    .operands = operands.raw,
                                    .checkpoint = checkpoint.raw,
                                    .abs_dot = operands.abs_dot,
                                    .checkpoint_abs_dot = checkpoint.abs_dot,
                                    .square_sum = operands.square_sum,
                                    .results = pinned_address,
                                    .y = y ? device_new(y_bytes, 0) : 0,
                                    .model = c->model,
                                    .x_dtype = c->x_dtype,
                                    .c_dtype = c->c_dtype,
                                    .coefficients = c->coefficients,
                                    .k = c->k,
                                    .rows = c->rows};
    device_launch(DEVICE_COMPARE, c->rows, &p);
    memcpy(results, pinned, c->rows * sizeof(*results));
    if (y)
        device_download(y, p.y, y_bytes);
    CHECK(cuMemFreeHost(pinned));
    device_reset();
}
