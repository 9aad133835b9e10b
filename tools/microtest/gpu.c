/* SPDX-License-Identifier: Apache-2.0 */
/* Opens driver and cuBLAS by the shadow's own tables, and runs one GEMM at a time. */
#include "tools/microtest/gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/cublas_functions.h"
#include "shadow/driver.h"
#include "shadow/log.h"
#include "shadow/model/round.h"

/* What a program of its own needs besides what the shadow does. */
#define OWN_ENTRIES(X)                                                                             \
    X(cuInit, "cuInit", 2000)                                                                      \
    X(cuDeviceGet, "cuDeviceGet", 2000)                                                            \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000)                                  \
    X(cuCtxSynchronize, "cuCtxSynchronize", 2000)

struct mhcs_gpu {
    const struct mhcs_driver *driver;
    struct {
#define FIELD(symbol, name, version) __typeof__(&symbol) symbol;
        OWN_ENTRIES(FIELD)
#undef FIELD
    } own;
    struct mhcs_cublas_functions cublas;
    cublasHandle_t handle;
    CUdeviceptr memory; /* operands and result of one GEMM */
    size_t memory_bytes;
    void *encoded; /* the same on the host */
    char name[128], text[1024];
};

/* How each arithmetic is asked of cuBLAS. */
static const struct {
    cudaDataType operands, result;
    cublasComputeType_t compute;
    unsigned math;
} calls[MHCS_ARITHMETIC_COUNT] = {
    [MHCS_ARITHMETIC_BF16] = {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
                              CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION},
    [MHCS_ARITHMETIC_BF16_SPLIT] = {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
                                    CUBLAS_DEFAULT_MATH},
    [MHCS_ARITHMETIC_F16] = {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F,
                             CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION},
    [MHCS_ARITHMETIC_TF32] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
                              CUBLAS_DEFAULT_MATH},
    [MHCS_ARITHMETIC_F32] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_DEFAULT_MATH},
};

static int __attribute__((format(printf, 3, 4)))
fail(char *error, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, MHCS_MODEL_ERROR, format, args);
    va_end(args);
    return code;
}

static int fail_cuda(const struct mhcs_gpu *gpu, char *error, const char *what, CUresult result)
{
    return fail(error, -EIO, "%s: %s (%d); the CPU does without a GPU: --device cpu", what,
                mhcs_driver_error(gpu->driver, result), (int)result);
}

/* ---- opening ---- */

static int open_driver(struct mhcs_gpu *gpu, char *error)
{
    static const char remedy[] =
        "install NVIDIA's driver, or leave out --device gpu: the CPU is enough";
    const struct {
        const char *symbol, *name;
        int version;
        size_t offset;
    } entries[] = {
#define ENTRY(symbol, name, version)                                                               \
    {#symbol, name, version, offsetof(struct mhcs_gpu, own.symbol)},
        OWN_ENTRIES(ENTRY)
#undef ENTRY
    };

    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
        return fail(error, -ENODEV, "no CUDA driver here (%s): %s", dlerror(), remedy);
    mhcs_log_configure(MHCS_LOG_OFF, NULL); /* it would speak of sampling */
    if (mhcs_driver(&gpu->driver) < 0)
        return fail(error, -ENODEV, "the CUDA driver is too old: update it");
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *const function =
            mhcs_driver_find(entries[i].symbol, entries[i].name, entries[i].version);

        if (!function)
            return fail(error, -ENODEV, "the CUDA driver has no %s: update it", entries[i].symbol);
        memcpy((char *)gpu + entries[i].offset, &function, sizeof(function));
    }
    return 0;
}

static int open_device(struct mhcs_gpu *gpu, char *error)
{
    CUcontext context;
    CUdevice device;
    CUresult result = gpu->own.cuInit(0);

    if (result == CUDA_SUCCESS)
        result = gpu->own.cuDeviceGet(&device, 0);
    if (result != CUDA_SUCCESS)
        return fail(error, -ENODEV,
                    "no GPU to be used: %s (%d); see whether nvidia-smi lists one and "
                    "CUDA_VISIBLE_DEVICES lets it through, or leave out --device gpu",
                    mhcs_driver_error(gpu->driver, result), (int)result);
    result = gpu->own.cuDevicePrimaryCtxRetain(&context, device);
    if (result == CUDA_SUCCESS)
        result = gpu->driver->cuCtxSetCurrent(context);
    if (result == CUDA_SUCCESS)
        result = gpu->driver->cuDeviceGetName(gpu->name, sizeof(gpu->name), device);
    return result == CUDA_SUCCESS ? 0 : fail_cuda(gpu, error, "using the GPU", result);
}

static int open_cublas(struct mhcs_gpu *gpu, char *error)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    const char *missing;
    Dl_info info = {0};
    void *library = NULL;
    int version = 0;
    cublasStatus_t status;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(error, -ENODEV,
                    "no cuBLAS here (%s): install it with CUDA, or name its folder in "
                    "LD_LIBRARY_PATH; --device cpu does without",
                    dlerror());
    missing = mhcs_cublas_functions_find(&gpu->cublas, library);
    if (missing)
        return fail(error, -ENODEV, "cuBLAS has no %s: 12 or later is needed", missing);
    status = gpu->cublas.cublasCreate_v2(&gpu->handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        gpu->handle = NULL;
        return fail(error, -EIO, "cublasCreate fails with %d: is GPU memory left?", (int)status);
    }
    gpu->cublas.cublasGetVersion_v2(gpu->handle, &version);
    dladdr(dlsym(library, "cublasGemmEx"), &info);
    snprintf(gpu->text, sizeof(gpu->text), "%s, cuBLAS %d.%d.%d %s", gpu->name, version / 10000,
             version / 100 % 100, version % 100, info.dli_fname ? info.dli_fname : "");
    return 0;
}

int mhcs_gpu_open(struct mhcs_gpu **ret_gpu, char error[MHCS_MODEL_ERROR])
{
    struct mhcs_gpu *gpu = calloc(1, sizeof(*gpu));
    int ret;

    if (!gpu)
        return fail(error, -ENOMEM, "out of memory");
    ret = open_driver(gpu, error);
    if (!ret)
        ret = open_device(gpu, error);
    if (!ret)
        ret = open_cublas(gpu, error);
    if (ret) {
        mhcs_gpu_close(gpu);
        gpu = NULL;
    }
    *ret_gpu = gpu;
    return ret;
}

void mhcs_gpu_close(struct mhcs_gpu *gpu)
{
    if (!gpu)
        return;
    if (gpu->handle)
        gpu->cublas.cublasDestroy_v2(gpu->handle);
    if (gpu->memory)
        gpu->driver->cuMemFree_v2(gpu->memory);
    free(gpu->encoded);
    free(gpu);
}

const char *mhcs_gpu_text(const struct mhcs_gpu *gpu)
{
    return gpu->text;
}

bool mhcs_gpu_is_simulated(const struct mhcs_gpu *gpu)
{
    return strstr(gpu->name, "simcuda") != NULL;
}

/* ---- multiplying ---- */

static int make_room(struct mhcs_gpu *gpu, size_t bytes, char *error)
{
    CUresult result;

    if (bytes <= gpu->memory_bytes)
        return 0;
    if (gpu->memory)
        gpu->driver->cuMemFree_v2(gpu->memory);
    free(gpu->encoded);
    gpu->memory = 0;
    gpu->memory_bytes = 0;
    gpu->encoded = malloc(bytes);
    if (!gpu->encoded)
        return fail(error, -ENOMEM, "out of memory");
    result = gpu->driver->cuMemAlloc_v2(&gpu->memory, bytes);
    if (result != CUDA_SUCCESS) {
        gpu->memory = 0;
        return fail_cuda(gpu, error, "taking GPU memory", result);
    }
    gpu->memory_bytes = bytes;
    return 0;
}

enum mhcs_operand_form mhcs_gpu_operands(enum mhcs_arithmetic_kind kind)
{
    return calls[kind].operands == CUDA_R_32F ? MHCS_AS_F32 : mhcs_arithmetic[kind].operands;
}

static void encode(cudaDataType type, const float *from, void *to, size_t count)
{
    uint16_t *const half = to;

    if (type == CUDA_R_32F) {
        memcpy(to, from, count * sizeof(*from));
        return;
    }
    for (size_t i = 0; i < count; i++)
        half[i] = type == CUDA_R_16BF ? mhcs_bf16_encode(from[i]) : mhcs_f16_encode(from[i]);
}

static void decode(cudaDataType type, const void *from, float *to, size_t count)
{
    const uint32_t dtype = type == CUDA_R_32F    ? MHCS_F32
                           : type == CUDA_R_16BF ? MHCS_BF16
                                                 : MHCS_F16;

    for (size_t i = 0; i < count; i++)
        to[i] = mhcs_element(from, dtype, i);
}

int mhcs_gpu_gemm(struct mhcs_gpu *gpu, enum mhcs_arithmetic_kind kind, const float *x,
                  const float *fn, float *c, uint32_t rows, uint32_t coefficients, uint32_t k,
                  char error[MHCS_MODEL_ERROR])
{
    static const float one = 1, zero = 0;
    const size_t x_count = (size_t)rows * k, fn_count = (size_t)coefficients * k;
    const size_t c_count = (size_t)rows * coefficients,
                 size = calls[kind].operands == CUDA_R_32F ? 4 : 2;
    const size_t x_at = 0, fn_at = x_count * 4, c_at = fn_at + fn_count * 4;
    const struct mhcs_cublas_functions *f = &gpu->cublas;
    char *host;
    cublasStatus_t status;
    CUresult result;
    int ret = make_room(gpu, c_at + c_count * 4, error);

    if (ret)
        return ret;
    host = gpu->encoded;
    encode(calls[kind].operands, x, host + x_at, x_count);
    encode(calls[kind].operands, fn, host + fn_at, fn_count);
    result =
        gpu->driver->cuMemcpyHtoDAsync_v2(gpu->memory + x_at, host + x_at, x_count * size, NULL);
    if (result == CUDA_SUCCESS)
        result = gpu->driver->cuMemcpyHtoDAsync_v2(gpu->memory + fn_at, host + fn_at,
                                                   fn_count * size, NULL);
    if (result != CUDA_SUCCESS)
        return fail_cuda(gpu, error, "copying to the GPU", result);
    status = f->cublasSetMathMode(gpu->handle, (cublasMath_t)calls[kind].math);
    if (status == CUBLAS_STATUS_SUCCESS) /* column-major: c^T = fn x^T */
        status = f->cublasGemmEx(
            gpu->handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)coefficients, (int)rows, (int)k, &one,
            (void *)(uintptr_t)(gpu->memory + fn_at), calls[kind].operands, (int)k,
            (void *)(uintptr_t)(gpu->memory + x_at), calls[kind].operands, (int)k, &zero,
            (void *)(uintptr_t)(gpu->memory + c_at), calls[kind].result, (int)coefficients,
            calls[kind].compute, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS)
        return fail(error, -EIO, "cublasGemmEx in %s fails with %d", mhcs_arithmetic[kind].name,
                    (int)status);
    result =
        gpu->driver->cuMemcpyDtoHAsync_v2(host + c_at, gpu->memory + c_at, c_count * size, NULL);
    if (result == CUDA_SUCCESS)
        result = gpu->own.cuCtxSynchronize();
    if (result != CUDA_SUCCESS)
        return fail_cuda(gpu, error, "multiplying on the GPU", result);
    decode(calls[kind].result, host + c_at, c, c_count);
    return 0;
}
