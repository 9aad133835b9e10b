/* SPDX-License-Identifier: Apache-2.0 */
/* The operation touches, through the checks of memory.h, exactly the bytes that BLAS defines: the
 * columns without the gaps up to the leading dimension, no operand if alpha or k is 0, and C only
 * as a result if beta is 0.
 */
#include "cublas_op.h"

#include <stdio.h>
#include <stdlib.h>

struct matrix {
    uint64_t address;
    enum sim_float type;
    int64_t rows, columns, ld;
};

struct running {
    struct sim_memory *memory;
    const struct sim_op *op;
    struct sim_fault *fault;
};

static const struct sim_where nowhere; /* reports name the operation only */

/* NULL after any fault: a race or an unset operand ends the operation too. */
static void *touch(const struct running *r, uint64_t address, uint64_t bytes,
                   enum sim_access access)
{
    void *at = sim_memory_access(r->memory, r->op, &nowhere, address, bytes, 1, access, r->fault);

    return r->fault->set ? NULL : at;
}

/* Returns the simulator's pointer to the first element. Distances within an allocation are the
 * same there, and a matrix that leaves its allocation is a fault. */
static void *touch_matrix(const struct running *r, const struct matrix *x, enum sim_access access)
{
    uint64_t size = sim_float_size(x->type), column = (uint64_t)x->rows * size;
    uint64_t distance = (uint64_t)x->ld * size;
    void *first = NULL;

    if (x->address % size != 0) {
        r->fault->set = true;
        r->fault->code = CUDA_ERROR_MISALIGNED_ADDRESS;
        snprintf(r->fault->text, sizeof r->fault->text,
                 "%s: a matrix of %d-byte elements at 0x%llx is misaligned", r->op->what, (int)size,
                 (unsigned long long)x->address);
        return NULL;
    }
    if (x->ld == x->rows)
        return touch(r, x->address, column * (uint64_t)x->columns, access);
    for (int64_t i = 0; i < x->columns; i++) {
        void *at = touch(r, x->address + (uint64_t)i * distance, column, access);

        if (at == NULL)
            return NULL;
        if (i == 0)
            first = at;
    }
    return first;
}

static bool load_scalar(const struct running *r, uint64_t address, enum sim_float type, float *to)
{
    const void *from;

    if (address == 0)
        return true;
    from = touch(r, address, sim_float_size(type), SIM_READ);
    if (from != NULL)
        *to = sim_float_load(type, from);
    return from != NULL;
}

static bool touch_operand(const struct running *r, struct sim_gemm_operand *x, uint64_t address,
                          int64_t rows, int64_t columns)
{
    struct matrix stored = {.address = address,
                            .type = x->type,
                            .rows = x->transposed ? columns : rows,
                            .columns = x->transposed ? rows : columns,
                            .ld = x->ld};

    x->data = touch_matrix(r, &stored, SIM_READ);
    return x->data != NULL;
}

static bool touch_all(const struct running *r, struct sim_cublas_op *op)
{
    struct sim_gemm *g = &op->gemm;
    struct matrix c = {op->c, g->c_type, g->m, g->n, g->ldc};

    if (!load_scalar(r, op->alpha, op->scalar_type, &g->alpha) ||
        !load_scalar(r, op->beta, op->scalar_type, &g->beta))
        return false;
    if (g->k > 0 && g->alpha != 0 &&
        (!touch_operand(r, &g->a, op->a, g->m, g->k) ||
         !touch_operand(r, &g->b, op->b, g->k, g->n)))
        return false;
    if (g->beta != 0 && touch_matrix(r, &c, SIM_READ) == NULL)
        return false;
    g->c = touch_matrix(r, &c, SIM_WRITE);
    return g->c != NULL;
}

static int run(void *arg, struct sim_memory *memory, const struct sim_op *op,
               struct sim_fault *fault)
{
    struct running r = {.memory = memory, .op = op, .fault = fault};
    struct sim_cublas_op *gemm = arg;

    if (!touch_all(&r, gemm))
        return -1;
    if (sim_gemm_run(&gemm->gemm) != 0) {
        fault->set = true;
        fault->code = CUDA_ERROR_OUT_OF_MEMORY;
        snprintf(fault->text, sizeof fault->text, "%s: no host memory to compute in", op->what);
        return -1;
    }
    return 0;
}

CUresult sim_cublas_op_enqueue(const struct sim_cublas_op *op, CUstream stream,
                               const char *function)
{
    struct sim_cublas_op *copy = malloc(sizeof *copy);

    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *op;
    return simcuda_enqueue(stream, function, run, copy);
}
