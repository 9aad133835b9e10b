/* SPDX-License-Identifier: Apache-2.0 */
/* A client of NVIDIA's own cuBLAS, built against that library by test_nvidia.py. It makes a mixing
 * and an ordinary call of every hooked function, as far as they get without a GPU: prints the
 * answers, and last how many calls it made.
 */
#include <stdio.h>

#include "arguments.h"

static float alpha[2] = {1, 1}, beta[2];
static cublasOperation_t transa[2] = {CUBLAS_OP_T, CUBLAS_OP_T}, transb[2];

/* Big enough for groups of either integer. */
static int64_t m[2], n[2], k[2], lda[2], ldb[2], ldc[2], size[2];

static cublasLtMatmulDesc_t operation;
static cublasLtMatrixLayout_t layouts[3];

static cublasStatus_t make_descriptors(int64_t rows)
{
    const int32_t transposed = CUBLAS_OP_T;
    cublasStatus_t status = cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);

    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                                sizeof(transposed));
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&layouts[0], CUDA_R_16BF, 16384, (uint64_t)rows, 16384);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&layouts[1], CUDA_R_16BF, 16384, 7, 16384);
    }
    return status == CUBLAS_STATUS_SUCCESS
               ? cublasLtMatrixLayoutCreate(&layouts[2], CUDA_R_32F, (uint64_t)rows, 7, rows)
               : status;
}

static void drop_descriptors(void)
{
    for (int i = 0; i < 3; i++) {
        cublasLtMatrixLayoutDestroy(layouts[i]);
    }
    cublasLtMatmulDescDestroy(operation);
}

/* No handle: without a GPU there is none. */
static struct arguments arguments_for(enum mhcs_hook hook, int64_t rows)
{
    const bool grouped = strstr(hook_names[hook], "Grouped");
    struct arguments x = {
        .transa = CUBLAS_OP_T,
        .m = (uint64_t)rows,
        .n = 7,
        .k = 16384,
        .alpha = (uint64_t)alpha,
        .beta = (uint64_t)beta,
        .A = 0x7f0000000000,
        .B = 0x7f1000000000,
        .C = 0x7f2000000000,
        .D = 0x7f2000000000,
        .a_type = CUDA_R_16BF,
        .b_type = CUDA_R_16BF,
        .c_type = CUDA_R_32F,
        .lda = 16384,
        .ldb = 16384,
        .ldc = (uint64_t)rows,
        .count = 1,
        .compute = CUBLAS_COMPUTE_32F,
        .operation = (uint64_t)operation,
        .a_layout = (uint64_t)layouts[0],
        .b_layout = (uint64_t)layouts[1],
        .c_layout = (uint64_t)layouts[2],
        .d_layout = (uint64_t)layouts[2],
    };

    if (grouped) {
        const struct {
            int64_t *array;
            uint64_t *value;
        } integers[] = {{m, &x.m},     {n, &x.n},     {k, &x.k},
                        {lda, &x.lda}, {ldb, &x.ldb}, {ldc, &x.ldc}};

        for (int i = 0; i < 6; i++) {
            *integers[i].array = (int64_t)*integers[i].value; /* little-endian: also as an int */
            *integers[i].value = (uint64_t)integers[i].array;
        }
        size[0] = 1;
        x.transa = (uint64_t)transa;
        x.transb = (uint64_t)transb;
        x.group_size = (uint64_t)size;
        x.group_count = 1;
    }
    return x;
}

int main(void)
{
    cublasHandle_t handle = NULL;
    cublasLtHandle_t lt = NULL;
    unsigned calls = 0;

    printf("cublasCreate_v2: %d\n", (int)cublasCreate_v2(&handle));
    printf("cublasLtCreate: %d\n", (int)cublasLtCreate(&lt));
    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        for (int mixing = 0; mixing < 2; mixing++) {
            const int64_t rows = mixing ? 24 : 128;
            uint64_t words[FAKE_WORDS];
            struct arguments x;

            printf("descriptors: %d\n", (int)make_descriptors(rows));
            x = arguments_for((enum mhcs_hook)hook, rows);
            arguments_to_words((enum mhcs_hook)hook, &x, words);
            printf("%s: %d\n", hook_names[hook], (int)caller_call((enum mhcs_hook)hook, words));
            drop_descriptors();
            calls++;
        }
    }
    printf("%u calls\n", calls);
    return 0;
}
