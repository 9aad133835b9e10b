/* SPDX-License-Identifier: Apache-2.0 */
/* Every entry of the driver table, from the table's own list. All arguments are pointers or
 * integers, so one shape of function serves for all. */
#include "fakecuda.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shadow/driver.h"

static atomic_int capture_result, capture_status;
static atomic_int balance;
static atomic_ullong context_id = 1;

static _Thread_local char calls[8192];
static _Thread_local int capture_mode;
static _Thread_local unsigned long long own_context; /* set by the thread itself, or 0 */
static _Thread_local int fail_in, fail_with;

void fakecuda_capturing(int result, int status)
{
    capture_result = result;
    capture_status = status;
}

void fakecuda_fail(int n, int error)
{
    fail_in = n;
    fail_with = error;
}

bool fakecuda_failed(void)
{
    return fail_in == 0;
}

const char *fakecuda_calls(void)
{
    static _Thread_local char copy[sizeof(calls)];

    strcpy(copy, calls);
    calls[0] = '\0';
    return copy;
}

int fakecuda_balance(void)
{
    return balance;
}

int fakecuda_capture_mode(void)
{
    return capture_mode;
}

void fakecuda_context(unsigned long long id)
{
    context_id = id;
}

static bool is(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

static CUresult answer(const char *name, void *a, void *b, void *c)
{
    const unsigned long long id = own_context ? own_context : context_id;

    if (strcmp(name, "cuCtxGetCurrent") == 0) {
        *(void **)a = (void *)(uintptr_t)(id << 12);
    } else if (strcmp(name, "cuCtxSetCurrent") == 0) {
        own_context = (unsigned long long)(uintptr_t)a >> 12;
    } else if (strcmp(name, "cuCtxGetId") == 0) {
        *(unsigned long long *)b = id;
    } else if (strcmp(name, "cuStreamIsCapturing") == 0) {
        *(int *)b = capture_status;
        return (CUresult)capture_result;
    } else if (is(name, "cuThreadExchange")) {
        const int mode = *(int *)a;

        *(int *)a = capture_mode;
        capture_mode = mode;
    } else if (is(name, "cuMemGetInfo")) {
        *(size_t *)a = *(size_t *)b = (size_t)1 << 36;
    } else if (is(name, "cuPointerGetAttributes")) { /* everything is one allocation */
        *(uint64_t *)((void **)c)[0] = 0;
        *(uint64_t *)((void **)c)[1] = UINT64_MAX;
    } else if (is(name, "cuDeviceGetName")) {
        snprintf(a, (size_t)(uintptr_t)b, "fake");
    } else if (is(name, "cuDeviceGetUuid")) {
        memset(a, 0, 16);
    } else if (is(name, "cuCtxGetStreamPriorityRange")) {
        *(int *)a = 0;
        *(int *)b = -5;
    } else if (is(name, "cuDeviceGet") || is(name, "cuCtxGetDevice") || is(name, "cuDriverGet")) {
        *(int *)a = is(name, "cuCtx") ? 0 : 80;
    } else if (is(name, "cuMemHostGetDevicePointer")) {
        *(uint64_t *)a = (uint64_t)(uintptr_t)b;
    } else if (is(name, "cuModuleGetFunction")) {
        *(void **)a = (void *)0x40;
    } else if (is(name, "cuModuleLoad") || is(name, "cuStreamCreate") ||
               is(name, "cuEventCreate") || is(name, "cuMemAlloc")) {
        *(void **)a = (void *)0x2000;
    }
    return CUDA_SUCCESS;
}

/* What a successful call makes or unmakes. */
static int made(const char *name)
{
    if (is(name, "cuModuleLoad") || is(name, "cuStreamCreate") || is(name, "cuEventCreate") ||
        is(name, "cuMemAlloc") || is(name, "cuMemHostRegister")) {
        return 1;
    }
    return -(is(name, "cuModuleUnload") || is(name, "cuStreamDestroy") ||
             is(name, "cuEventDestroy") || is(name, "cuMemFree") ||
             is(name, "cuMemHostUnregister"));
}

static CUresult serve(const char *name, void *a, void *b, void *c)
{
    /* Nothing could be done about a way back that fails. */
    const bool way_back = is(name, "cuThreadExchange") && *(int *)a == 0;
    CUresult result = CUDA_SUCCESS;

    if (strlen(calls) + strlen(name) + 2 < sizeof(calls)) {
        strcat(strcat(calls, name), " ");
    }
    if (fail_in > 0 && --fail_in == 0 && !way_back) {
        result = (CUresult)fail_with;
    } else {
        result = answer(name, a, b, c);
        balance += result == CUDA_SUCCESS ? made(name) : 0;
    }
    return result;
}

#define STRING(text) #text
#define FAKE(need, symbol, name, version)                                                          \
    CUresult fake_##symbol(void *a, void *b, void *c) __asm__(STRING(symbol));                     \
    CUresult fake_##symbol(void *a, void *b, void *c)                                              \
    {                                                                                              \
        return serve(STRING(symbol), a, b, c);                                                     \
    }
MHCS_DRIVER_ENTRIES(FAKE)
