/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/microtest/arithmetic.h"

#include <assert.h>
#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include "shadow/model/round.h"

#define ROWS_MAX 64

const struct mhcs_arithmetic mhcs_arithmetic[MHCS_ARITHMETIC_COUNT] = {
#define ARITHMETIC(name, text, operands, result, split, path) {text, operands, result, split, path},
    MHCS_ARITHMETICS(ARITHMETIC)
#undef ARITHMETIC
};

void mhcs_round_to(enum mhcs_operand_form form, const float *from, float *to, size_t count)
{
    switch (form) {
    case MHCS_AS_BF16:
        for (size_t i = 0; i < count; i++)
            to[i] = mhcs_round_bf16(from[i]);
        break;
    case MHCS_AS_F16:
        for (size_t i = 0; i < count; i++)
            to[i] = mhcs_round_f16(from[i]);
        break;
    case MHCS_AS_TF32:
        for (size_t i = 0; i < count; i++)
            to[i] = mhcs_round_tf32(from[i]);
        break;
    default:
        if (to != from)
            memcpy(to, from, count * sizeof(*to));
    }
}

void mhcs_gemm_f32(const float *x, const float *fn, float *c, uint32_t rows, uint32_t coefficients,
                   uint32_t k)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)coefficients, (int)k, 1, x,
                (int)k, fn, (int)k, 0, c, (int)coefficients);
}

void mhcs_gemm_as(const struct mhcs_arithmetic *arithmetic, uint32_t pieces, const float *x,
                  const float *fn, float *c, uint32_t rows, uint32_t coefficients, uint32_t k)
{
    const size_t count = (size_t)rows * coefficients;
    float piece[ROWS_MAX * MHCS_COEFFICIENTS];

    assert(rows <= ROWS_MAX);
    if (!arithmetic->split || pieces < 2) {
        mhcs_gemm_f32(x, fn, c, rows, coefficients, k);
        mhcs_round_to(arithmetic->result, c, c, count);
        return;
    }
    memset(c, 0, count * sizeof(*c));
    for (uint32_t p = 0; p < pieces; p++) {
        const uint32_t begin = (uint32_t)((uint64_t)k * p / pieces);
        const uint32_t end = (uint32_t)((uint64_t)k * (p + 1) / pieces);

        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)coefficients,
                    (int)(end - begin), 1, x + begin, (int)k, fn + begin, (int)k, 0, piece,
                    (int)coefficients);
        mhcs_round_to(arithmetic->result, piece, piece, count);
        for (size_t i = 0; i < count; i++)
            c[i] += piece[i];
    }
    mhcs_round_to(arithmetic->result, c, c, count);
}

void mhcs_arithmetic_init(char *text, size_t size)
{
    openblas_set_num_threads(1);
    snprintf(text, size, "%s, kernels for %s", openblas_get_config(), openblas_get_corename());
    text[strcspn(text, "\n")] = '\0';
}
