/* SPDX-License-Identifier: Apache-2.0 */
/* The operation touches, through the checks of memory.h, exactly the bytes that BLAS defines: the
 * columns without the gaps up to the leading dimension, no operand if alpha or k is 0, and C only
 * as a result if beta is 0.
 */
#include "cublas_op.h"

#include "defect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOST_ROW 5 /* of WEIGHTS_MEMORY */

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

/* The addresses of one entry. */
struct entry {
    uint64_t a, b, c, d;
};

static bool find(const struct running *r, const struct sim_cublas_op *op, uint64_t base,
                 int64_t stride, enum sim_float type, int64_t i, uint64_t *address)
{
    const void *from;

    if (!op->pointers) {
        *address = base + (uint64_t)(i * stride) * sim_float_size(type);
        return true;
    }
    from = touch(r, base + (uint64_t)i * sizeof *address, sizeof *address, SIM_READ);
    if (from != NULL)
        memcpy(address, from, sizeof *address);
    return from != NULL;
}

static bool find_entry(const struct running *r, const struct sim_cublas_op *op, int64_t i,
                       struct entry *entry)
{
    const struct sim_gemm *g = &op->gemm;

    return find(r, op, op->a, op->stride_a, g->a.type, i, &entry->a) &&
           find(r, op, op->b, op->stride_b, g->b.type, i, &entry->b) &&
           find(r, op, op->c, op->stride_c, g->c_type, i, &entry->c) &&
           find(r, op, op->d, op->stride_d, g->c_type, i, &entry->d);
}

/* D begins as a copy of C. */
static bool bring_c(const struct running *r, struct sim_gemm *g, const struct matrix *c,
                    const struct matrix *d)
{
    const uint64_t size = sim_float_size(c->type);
    const unsigned char *from = touch_matrix(r, c, SIM_READ);
    unsigned char *to;

    if (from == NULL)
        return false;
    to = g->c = touch_matrix(r, d, SIM_WRITE);
    if (to == NULL || to == from)
        return to != NULL;
    for (int64_t i = 0; i < c->columns; i++)
        memcpy(to + (uint64_t)(i * d->ld) * size, from + (uint64_t)(i * c->ld) * size,
               (uint64_t)c->rows * size);
    return true;
}

static bool touch_all(const struct running *r, const struct sim_cublas_op *op,
                      const struct entry *entry, struct sim_gemm *g)
{
    struct matrix c = {entry->c, g->c_type, g->m, g->n, op->ldc};
    struct matrix d = {entry->d, g->c_type, g->m, g->n, g->ldc};

    if (g->k > 0 && g->alpha != 0 &&
        (!touch_operand(r, &g->a, entry->a, g->m, g->k) ||
         !touch_operand(r, &g->b, entry->b, g->k, g->n)))
        return false;
    if (g->beta != 0)
        return bring_c(r, g, &c, &d);
    g->c = touch_matrix(r, &d, SIM_WRITE);
    return g->c != NULL;
}

/* Row `lost` of op(A) reads as the one before from now on, whoever reads it. */
static bool lose_row(const struct running *r, const struct sim_gemm *g, uint64_t address, int lost)
{
    const struct sim_gemm_operand *a = &g->a;
    const uint64_t bytes = (uint64_t)g->k * sim_float_size(a->type);
    const uint64_t distance = (uint64_t)a->ld * sim_float_size(a->type);
    unsigned char *at;

    if (!a->transposed || g->m <= lost)
        return true;
    at = touch(r, address + (uint64_t)(lost - 1) * distance, distance + bytes, SIM_WRITE);
    if (at != NULL)
        memcpy(at + distance, at, bytes);
    return at != NULL;
}

static int run_entry(const struct running *r, const struct sim_cublas_op *op, int64_t i)
{
    struct sim_gemm g = op->gemm;
    struct entry entry;

    if (!find_entry(r, op, i, &entry) ||
        (g.defect == SIM_WEIGHTS_MEMORY && !lose_row(r, &g, entry.a, LOST_ROW)) ||
        !touch_all(r, op, &entry, &g))
        return -1;
    if (sim_gemm_run(&g) != 0) {
        r->fault->set = true;
        r->fault->code = CUDA_ERROR_OUT_OF_MEMORY;
        snprintf(r->fault->text, sizeof r->fault->text, "%s: no host memory to compute in",
                 r->op->what);
        return -1;
    }
    return 0;
}

static int run(void *arg, struct sim_memory *memory, const struct sim_op *op,
               struct sim_fault *fault)
{
    struct running r = {.memory = memory, .op = op, .fault = fault};
    struct sim_cublas_op *batch = arg;
    int ret = 0;

    if (!load_scalar(&r, batch->alpha, batch->scalar_type, &batch->gemm.alpha) ||
        !load_scalar(&r, batch->beta, batch->scalar_type, &batch->gemm.beta))
        return -1;
    for (int64_t i = 0; i < batch->count && ret == 0; i++)
        ret = run_entry(&r, batch, i);
    return ret;
}

CUresult sim_cublas_op_enqueue(const struct sim_cublas_op *op, CUstream stream,
                               const char *function)
{
    const char *name = getenv("SIMCUDA_DEFECT");
    enum sim_defect defect = sim_defect_find(name);
    struct sim_cublas_op *copy;

    if (defect == SIM_DEFECT_COUNT) {
        fprintf(stderr, "simcuda: SIMCUDA_DEFECT=%s is not one of the defects in defect.h\n", name);
        return CUDA_ERROR_INVALID_VALUE;
    }
    copy = malloc(sizeof *copy);
    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *op;
    sim_defect_plant(defect, &copy->gemm);
    return simcuda_enqueue(stream, function, run, copy);
}
