/* SPDX-License-Identifier: Apache-2.0 */
/* Another preloaded library, as torch_memory_saver is one: it stands in for the allocator and finds
 * the real one by RTLD_NEXT. Says at exit what came through it. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_uint allocations, frees;

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ret_address, size_t bytes)
{
    allocations++;
    return ((__typeof__(&cuMemAlloc_v2))dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(ret_address, bytes);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    frees++;
    return ((__typeof__(&cuMemFree_v2))dlsym(RTLD_NEXT, "cuMemFree_v2"))(address);
}

static __attribute__((destructor)) void tell(void)
{
    if (allocations > 0) {
        printf("saver: %u allocations, %u frees\n", allocations, frees);
        fflush(stdout);
    }
}
