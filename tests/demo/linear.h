/* SPDX-License-Identifier: Apache-2.0 */
/* torch.nn.functional.linear without bias, as PyTorch makes it a cuBLAS call. */
#ifndef DEMO_LINEAR_H
#define DEMO_LINEAR_H

#include <cublas_v2.h>
#include <stddef.h>

#include "tests/simcuda/rounding.h"

/* Types of a linear layer and what the handle's math mode is set to. */
struct demo_precision {
    const char *name;
    enum sim_float operands, out;
    cublasMath_t math;
};

/* NULL: unknown. */
const struct demo_precision *demo_precision_find(const char *name);
#define DEMO_PRECISIONS "bf16, bf16-f32, fp16, tf32 or fp32"

struct demo_linear {
    const struct demo_precision *precision;
    cudaStream_t stream;
    void *workspace;
    size_t workspace_bytes;
    int rows, tokens, k;
    const void *weight; /* [rows][k] */
    const void *x;      /* [tokens][k] */
    void *out;          /* [tokens][rows] */
};

void demo_linear(cublasHandle_t handle, const struct demo_linear *linear);

#endif
