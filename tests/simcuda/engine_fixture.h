/* SPDX-License-Identifier: Apache-2.0 */
/* A context with two streams and some memory, and a small operation in place of a kernel. */
#ifndef SIM_ENGINE_FIXTURE_H
#define SIM_ENGINE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "simcuda.h"

CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned flags, CUdevice device);

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

#define WORDS 64

struct fixture {
    CUcontext context;
    CUstream a, b; /* non-blocking */
    CUdeviceptr x; /* WORDS words, all 1 */
    uint32_t host[WORDS];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    OK(cuCtxCreate_v2(&f->context, 0, 0));
    OK(cuStreamCreate(&f->a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&f->b, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&f->x, sizeof(f->host)));
    OK(cuMemsetD32(f->x, 1, WORDS));
    OK(cuCtxSynchronize());
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cuCtxDestroy(f->context);
    free(f);
    return 0;
}

/* The stand-in for a kernel: x[i] = x[i] * times + plus. */
struct affine {
    CUdeviceptr x;
    uint32_t times, plus;
};

static int run_affine(void *arg, struct sim_memory *memory, const struct sim_op *op,
                      struct sim_fault *fault)
{
    const struct affine *k = arg;
    const struct sim_where where = {0};
    uint32_t *x = sim_memory_access(memory, op, &where, k->x, 4 * WORDS, 1, SIM_READ, fault);

    if (fault->set || !x)
        return -1;
    sim_memory_access(memory, op, &where, k->x, 4 * WORDS, 1, SIM_WRITE, fault);
    for (int i = 0; i < WORDS; i++)
        x[i] = x[i] * k->times + k->plus;
    return fault->set ? -1 : 0;
}

static inline void affine(CUstream stream, CUdeviceptr x, uint32_t times, uint32_t plus)
{
    struct affine *k = malloc(sizeof(*k));

    *k = (struct affine){x, times, plus};
    /* In an order that runs it at once it may already be at fault. */
    simcuda_enqueue(stream, "affine", run_affine, k);
}

static uint32_t first_word(struct fixture *f)
{
    OK(cuMemcpyDtoH(f->host, f->x, sizeof(f->host)));
    return f->host[0];
}

#endif
