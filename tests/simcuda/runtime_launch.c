/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime API: kernels of the program itself. What nvcc generates registers each fatbin before
 * main(), with the host function that stands for each kernel; a fatbin becomes a library of the
 * driver when one of its kernels is first asked for.
 */
#include "runtime.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

struct function {
    struct function *next;
    const void *host;
    const char *name;
};

struct fatbin {
    struct fatbin *next;
    const void *image; /* nvcc's wrapper */
    struct function *functions;
    CUlibrary library;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fatbin *fatbins; /* guarded by the lock */

/* nvcc's calls of these have no header that C can read. */
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *thread, void *block, void *block_dim,
                            void *grid_dim, int *warp);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream stream);
cudaError_t __cudaPopCallConfiguration(dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared,
                                       void *ret_stream);

/* Out of memory before main() can't be told to anyone: the first launch fails. */
EXPORTED void **__cudaRegisterFatBinary(void *image)
{
    struct fatbin *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->image = image;
    pthread_mutex_lock(&lock);
    f->next = fatbins;
    fatbins = f;
    pthread_mutex_unlock(&lock);
    return (void **)f;
}

EXPORTED void __cudaRegisterFatBinaryEnd(void **handle)
{
}

EXPORTED void __cudaUnregisterFatBinary(void **handle)
{
    struct fatbin *f = (struct fatbin *)handle, **link = &fatbins;
    struct function *function;

    if (!f)
        return;
    pthread_mutex_lock(&lock);
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    pthread_mutex_unlock(&lock);
    if (f->library)
        cuLibraryUnload(f->library);
    while ((function = f->functions)) {
        f->functions = function->next;
        free(function);
    }
    free(f);
}

EXPORTED void __cudaRegisterFunction(void **handle, const char *host, char *device,
                                     const char *name, int thread_limit, void *thread, void *block,
                                     void *block_dim, void *grid_dim, int *warp)
{
    struct fatbin *f = (struct fatbin *)handle;
    struct function *function = f ? calloc(1, sizeof(*function)) : NULL;

    if (!function)
        return;
    *function = (struct function){.next = f->functions, .host = host, .name = name};
    pthread_mutex_lock(&lock);
    f->functions = function;
    pthread_mutex_unlock(&lock);
}

static CUresult kernel_of(const void *host, CUkernel *ret_kernel)
{
    CUresult r = (CUresult)cudaErrorInvalidDeviceFunction;

    pthread_mutex_lock(&lock);
    for (struct fatbin *f = fatbins; f; f = f->next) {
        for (struct function *function = f->functions; function; function = function->next) {
            if (function->host != host)
                continue;
            r = f->library ? CUDA_SUCCESS
                           : cuLibraryLoadData(&f->library, f->image, NULL, NULL, 0, NULL, NULL, 0);
            if (r == CUDA_SUCCESS)
                r = cuLibraryGetKernel(ret_kernel, f->library, function->name);
            goto out;
        }
    }
out:
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult rt_function(const void *host, CUfunction *ret_function)
{
    CUkernel kernel;
    CUresult r = kernel_of(host, &kernel);

    return r == CUDA_SUCCESS ? cuKernelGetFunction(ret_function, kernel) : r;
}

const void *rt_host_function(CUfunction wanted)
{
    const void *host = NULL;

    pthread_mutex_lock(&lock);
    for (struct fatbin *f = fatbins; f && !host; f = f->next) {
        for (struct function *function = f->functions; function && !host;
             function = function->next) {
            CUfunction found;
            CUkernel kernel;

            if (f->library &&
                cuLibraryGetKernel(&kernel, f->library, function->name) == CUDA_SUCCESS &&
                cuKernelGetFunction(&found, kernel) == CUDA_SUCCESS && found == wanted)
                host = function->host;
        }
    }
    pthread_mutex_unlock(&lock);
    return host;
}

/* Between <<<...>>> and the stub that launches. A launch may stand in an argument of another. */
static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    CUstream stream;
} pushed[8];
static _Thread_local unsigned depth;

EXPORTED unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream stream)
{
    if (depth == sizeof(pushed) / sizeof(pushed[0]))
        return 1; /* the stub is then not called */
    pushed[depth].grid = grid;
    pushed[depth].block = block;
    pushed[depth].shared = shared;
    pushed[depth].stream = stream;
    depth++;
    return 0;
}

EXPORTED cudaError_t __cudaPopCallConfiguration(dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared,
                                                void *ret_stream)
{
    if (depth == 0)
        return cudaErrorMissingConfiguration;
    depth--;
    *ret_grid = pushed[depth].grid;
    *ret_block = pushed[depth].block;
    *ret_shared = pushed[depth].shared;
    *(CUstream *)ret_stream = pushed[depth].stream;
    return cudaSuccess;
}

CUresult rt___cudaGetKernel(cudaKernel_t *ret_kernel, const void *host)
{
    return kernel_of(host, (CUkernel *)ret_kernel);
}

static bool is_empty(dim3 shape)
{
    return shape.x == 0 || shape.y == 0 || shape.z == 0;
}

CUresult rt___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared, cudaStream_t stream)
{
    if (!kernel)
        return (CUresult)cudaErrorInvalidDeviceFunction;
    if (shared > UINT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    /* The driver calls these shapes an invalid value, the runtime has a name for them. */
    if (is_empty(grid) || is_empty(block) || (uint64_t)block.x * block.y * block.z > 1024)
        return (CUresult)cudaErrorInvalidConfiguration;
    return cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                          (unsigned)shared, rt_stream(stream), args, NULL);
}

CUresult rt_cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
    CUkernel kernel;
    CUresult r = kernel_of(host, &kernel);

    return r == CUDA_SUCCESS
               ? rt___cudaLaunchKernel((cudaKernel_t)kernel, grid, block, args, shared, stream)
               : r;
}

CUresult rt_cudaFuncGetAttributes(struct cudaFuncAttributes *ret_attributes, const void *host)
{
    CUfunction function;
    int value;
    CUresult r = rt_function(host, &function);

    if (r != CUDA_SUCCESS)
        return r;
    if (!ret_attributes)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_attributes = (struct cudaFuncAttributes){0};
#define GET(field, name)                                                                           \
    cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_##name, function);                                \
    ret_attributes->field = (__typeof__(ret_attributes->field))value
    GET(sharedSizeBytes, SHARED_SIZE_BYTES);
    GET(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
    GET(numRegs, NUM_REGS);
    GET(ptxVersion, PTX_VERSION);
    GET(binaryVersion, BINARY_VERSION);
    GET(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES);
#undef GET
    return CUDA_SUCCESS;
}

CUresult rt_cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value)
{
    CUfunction function;
    CUresult r = rt_function(host, &function);

    return r == CUDA_SUCCESS ? cuFuncSetAttribute(function, (CUfunction_attribute)attribute, value)
                             : r;
}

CUresult rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *host,
                                                          int threads, size_t shared)
{
    CUfunction function;
    CUresult r = rt_function(host, &function);

    return r == CUDA_SUCCESS
               ? cuOccupancyMaxActiveBlocksPerMultiprocessor(ret_blocks, function, threads, shared)
               : r;
}

CUresult rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks,
                                                                   const void *host, int threads,
                                                                   size_t shared, unsigned flags)
{
    return rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(ret_blocks, host, threads, shared);
}
