/* SPDX-License-Identifier: Apache-2.0 */
/* A random GEMM for tests: operands in memory of their own, values readable as double. */
#ifndef SIM_PROBLEM_H
#define SIM_PROBLEM_H

#include <stdint.h>
#include <stdlib.h>

#include "gemm.h"
#include "tools/microtest/bell.h"

struct problem {
    struct sim_gemm gemm;
    void *a, *b, *c;
};

/* The types and layouts of a problem; the rest of ld is a gap after each column. */
struct problem_shape {
    int64_t m, n, k;
    enum sim_float a_type, b_type, c_type;
    bool a_transposed, b_transposed;
    int64_t a_gap, b_gap, c_gap;
};

static inline void *problem_matrix(enum sim_float type, int64_t ld, int64_t columns)
{
    void *data = calloc((size_t)(ld * columns) + 1, sim_float_size(type));

    if (data == NULL)
        abort();
    return data;
}

static inline struct problem problem_new(const struct problem_shape *s)
{
    int64_t lda = (s->a_transposed ? s->k : s->m) + s->a_gap;
    int64_t ldb = (s->b_transposed ? s->n : s->k) + s->b_gap;
    int64_t ldc = s->m + s->c_gap;
    struct problem p = {.a = problem_matrix(s->a_type, lda, s->a_transposed ? s->m : s->k),
                        .b = problem_matrix(s->b_type, ldb, s->b_transposed ? s->k : s->n),
                        .c = problem_matrix(s->c_type, ldc, s->n)};

    p.gemm = (struct sim_gemm){
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .a = {.data = p.a, .ld = lda, .type = s->a_type, .transposed = s->a_transposed},
        .b = {.data = p.b, .ld = ldb, .type = s->b_type, .transposed = s->b_transposed},
        .c = p.c,
        .ldc = ldc,
        .c_type = s->c_type,
        .alpha = 1};
    return p;
}

static inline void problem_free(struct problem *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
}

static inline void *problem_at(void *data, enum sim_float type, int64_t index)
{
    return (unsigned char *)data + (size_t)index * sim_float_size(type);
}

/* Element (row, step) of op(A), (step, column) of op(B), (row, column) of C. */
static inline void *problem_a(const struct problem *p, int64_t row, int64_t step)
{
    const struct sim_gemm_operand *a = &p->gemm.a;

    return problem_at(p->a, a->type, a->transposed ? step + row * a->ld : row + step * a->ld);
}

static inline void *problem_b(const struct problem *p, int64_t step, int64_t column)
{
    const struct sim_gemm_operand *b = &p->gemm.b;

    return problem_at(p->b, b->type, b->transposed ? column + step * b->ld : step + column * b->ld);
}

static inline void *problem_c(const struct problem *p, int64_t row, int64_t column)
{
    return problem_at(p->c, p->gemm.c_type, row + column * p->gemm.ldc);
}

#endif
