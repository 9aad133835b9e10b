/* SPDX-License-Identifier: Apache-2.0 */
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/must.h"
#include "tests/simcuda/rounding.h"

/* How a function lays out its batch, and its types. */
enum layout { ALONE, STRIDED, POINTERS, GROUPED, LT };

static const struct door {
    const char *name; /* without _64 */
    enum layout layout;
    enum sim_float in, out, scalars;
} doors[] = {
    {"cublasGemmEx", ALONE, SIM_BF16, SIM_F32, SIM_F32},
    {"cublasSgemm_v2", ALONE, SIM_F32, SIM_F32, SIM_F32},
    {"cublasSgemmEx", ALONE, SIM_BF16, SIM_BF16, SIM_F32},
    {"cublasHgemm", ALONE, SIM_F16, SIM_F16, SIM_F16},
    {"cublasGemmStridedBatchedEx", STRIDED, SIM_F16, SIM_F32, SIM_F32},
    {"cublasSgemmStridedBatched", STRIDED, SIM_F32, SIM_F32, SIM_F32},
    {"cublasHgemmStridedBatched", STRIDED, SIM_F16, SIM_F16, SIM_F16},
    {"cublasGemmBatchedEx", POINTERS, SIM_BF16, SIM_BF16, SIM_F32},
    {"cublasSgemmBatched", POINTERS, SIM_F32, SIM_F32, SIM_F32},
    {"cublasHgemmBatched", POINTERS, SIM_F16, SIM_F16, SIM_F16},
    {"cublasGemmGroupedBatchedEx", GROUPED, SIM_BF16, SIM_BF16, SIM_F32},
    {"cublasSgemmGroupedBatched", GROUPED, SIM_F32, SIM_F32, SIM_F32},
    {"cublasLtMatmul", LT, SIM_BF16, SIM_F32, SIM_F32},
};

static const struct door *door_of(enum mhcs_hook hook)
{
    const char *const name = hook_names[hook];
    const char *const wide = strstr(name, "_64");
    const size_t length = wide ? (size_t)(wide - name) : strlen(name);

    for (size_t i = 0; i < sizeof(doors) / sizeof(doors[0]); i++) {
        if (strlen(doors[i].name) == length && strncmp(doors[i].name, name, length) == 0) {
            return &doors[i];
        }
    }
    fprintf(stderr, "doors: no door for %s\n", name);
    exit(1);
}

static bool is_wide(enum mhcs_hook hook)
{
    return strstr(hook_names[hook], "_64") != NULL;
}

const char *problem_hook_name(enum mhcs_hook hook)
{
    return hook_names[hook];
}

/* Entries of the batch, and with them the one of the first group. */
static unsigned entries_of(const struct problem *p)
{
    switch (door_of(p->hook)->layout) {
    case ALONE:
        return 1;
    case GROUPED:
        return PROBLEM_ENTRIES + 1;
    default:
        return PROBLEM_ENTRIES;
    }
}

unsigned problem_gemms(const struct problem *p)
{
    return entries_of(p);
}

double problem_tolerance(const struct problem *p)
{
    const struct door *const door = door_of(p->hook);

    if (door->scalars == SIM_F16) {
        return 2e-2; /* sums in fp16 */
    }
    return door->out == SIM_BF16 ? 4e-3 : door->out == SIM_F16 ? 1e-3 : 2e-6;
}

void problem_open(struct problem_handles *handles)
{
    MUST(cublasCreate_v2(&handles->cublas));
    MUST(cublasLtCreate(&handles->lt));
}

void problem_close(struct problem_handles *handles)
{
    MUST(cublasDestroy_v2(handles->cublas));
    MUST(cublasLtDestroy(handles->lt));
}

/* ---- matrices ---- */

struct matrix {
    enum sim_float type;
    int64_t rows, columns, ld; /* stored column-major */
    int64_t stride;            /* elements between entries */
    size_t bytes;
    CUdeviceptr memory, first, addresses;
};

static uint64_t random_next(uint64_t *state)
{
    return mhcs_mix64(*state += UINT64_C(0x9E3779B97F4A7C15));
}

/* The allocation ends with the last element: a read beyond it is a fault. */
static struct matrix new_matrix(const struct problem *p, enum sim_float type, int64_t rows,
                                int64_t columns, uint64_t *state, CUstream stream)
{
    const size_t size = sim_float_size(type);
    struct matrix x = {.type = type, .rows = rows, .columns = columns, .ld = rows + p->gap};
    CUdeviceptr addresses[PROBLEM_ENTRIES + 1];
    size_t elements;
    unsigned char *packed;

    columns = columns > 0 ? columns : 1; /* there is always something to leave alone */
    x.stride = x.ld * columns + 5;
    elements = p->offset + (size_t)((entries_of(p) - 1) * x.stride + x.ld * (columns - 1) + rows);
    x.bytes = elements * size;
    packed = malloc(x.bytes);
    if (!packed) {
        exit(1);
    }
    for (size_t i = 0; i < elements; i++) {
        sim_float_store(type, packed + i * size,
                        (float)(random_next(state) >> 40) * 0x1p-23f - 1.0f);
    }
    MUST(cuMemAlloc(&x.memory, x.bytes));
    MUST(cuMemcpyHtoDAsync(x.memory, packed, x.bytes, stream));
    x.first = x.memory + p->offset * size;
    for (unsigned i = 0; i < entries_of(p); i++) {
        addresses[i] = x.first + i * (size_t)x.stride * size;
    }
    MUST(cuMemAlloc(&x.addresses, sizeof(addresses)));
    MUST(cuMemcpyHtoDAsync(x.addresses, addresses, entries_of(p) * sizeof(addresses[0]), stream));
    MUST(cuStreamSynchronize(stream));
    free(packed);
    return x;
}

static void overwrite_matrix(const struct matrix *x, CUstream stream)
{
    MUST(cuMemsetD8Async(x->memory, 0x55, x->bytes, stream));
    MUST(cuMemsetD8Async(x->addresses, 0x55, sizeof(CUdeviceptr) * (PROBLEM_ENTRIES + 1), stream));
}

static void drop(struct matrix *x)
{
    MUST(cuMemFree(x->memory));
    MUST(cuMemFree(x->addresses));
}

/* ---- the call ---- */

struct problem_call {
    struct problem p;
    const struct door *door;
    struct matrix a, b, c, d; /* d: cublasLt's alone */
    unsigned char scalars[8]; /* alpha, beta */
    CUdeviceptr device_scalars;
    cudaDataType in, out;
};

static cudaDataType cuda_type(enum sim_float type)
{
    return type == SIM_BF16 ? CUDA_R_16BF : type == SIM_F16 ? CUDA_R_16F : CUDA_R_32F;
}

static const void *scalar(const struct problem_call *call, int which)
{
    return call->p.device_scalars ? (const void *)(call->device_scalars + 4 * (unsigned)which)
                                  : call->scalars + 4 * which;
}

static struct arguments arguments_alone(const struct problem_call *call, cublasHandle_t handle)
{
    const struct problem *const p = &call->p;
    const bool pointers = call->door->layout == POINTERS || call->door->layout == GROUPED;

    return (struct arguments){
        .handle = (uint64_t)handle,
        .transa = p->ta ? CUBLAS_OP_T : CUBLAS_OP_N,
        .transb = p->tb ? CUBLAS_OP_T : CUBLAS_OP_N,
        .m = (uint64_t)p->m,
        .n = (uint64_t)p->n,
        .k = (uint64_t)p->k,
        .alpha = (uint64_t)scalar(call, 0),
        .beta = (uint64_t)scalar(call, 1),
        .A = pointers ? call->a.addresses : call->a.first,
        .B = pointers ? call->b.addresses : call->b.first,
        .C = pointers ? call->c.addresses : call->c.first,
        .a_type = (uint64_t)call->in,
        .b_type = (uint64_t)call->in,
        .c_type = (uint64_t)call->out,
        .lda = (uint64_t)call->a.ld,
        .ldb = (uint64_t)call->b.ld,
        .ldc = (uint64_t)call->c.ld,
        .stride_a = (uint64_t)call->a.stride,
        .stride_b = (uint64_t)call->b.stride,
        .stride_c = (uint64_t)call->c.stride,
        .count = entries_of(p),
        .compute = p->refused ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F, /* not with these types */
        .algo = (uint64_t)CUBLAS_GEMM_DEFAULT,
    };
}

static cublasStatus_t run(const struct problem_call *call, const struct arguments *x)
{
    uint64_t words[FAKE_WORDS];

    arguments_to_words(call->p.hook, x, words);
    return caller_call(call->p.hook, words);
}

/* One entry in the first group, the others in the second. */
static cublasStatus_t run_groups(const struct problem_call *call, cublasHandle_t handle)
{
    struct arguments x = arguments_alone(call, handle);
    const cublasOperation_t transa[2] = {(cublasOperation_t)x.transa, (cublasOperation_t)x.transa};
    const cublasOperation_t transb[2] = {(cublasOperation_t)x.transb, (cublasOperation_t)x.transb};
    uint64_t *const values[] = {&x.m, &x.n, &x.k, &x.lda, &x.ldb, &x.ldc};
    const bool wide = is_wide(call->p.hook);
    int64_t wides[7][2];
    int narrows[7][2];
    float scalars[2][2];

    for (int i = 0; i < 7; i++) {
        for (int group = 0; group < 2; group++) {
            wides[i][group] = i < 6 ? (int64_t)*values[i] : group == 0 ? 1 : PROBLEM_ENTRIES;
            narrows[i][group] = (int)wides[i][group];
        }
    }
    for (int i = 0; i < 6; i++) {
        *values[i] = wide ? (uint64_t)wides[i] : (uint64_t)narrows[i];
    }
    x.group_size = wide ? (uint64_t)wides[6] : (uint64_t)narrows[6];
    x.group_count = 2;
    x.transa = (uint64_t)transa;
    x.transb = (uint64_t)transb;
    for (int i = 0; i < 2; i++) {
        memcpy(&scalars[i][0], call->scalars + 4 * i, 4);
        scalars[i][1] = scalars[i][0];
    }
    x.alpha = (uint64_t)scalars[0];
    x.beta = (uint64_t)scalars[1];
    return run(call, &x);
}

/* A column-major matrix as it is, or told as its row-major transpose. */
static cublasLtMatrixLayout_t layout_of(const struct problem_call *call, const struct matrix *x,
                                        bool row)
{
    const int32_t order = row ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    const int32_t count = PROBLEM_ENTRIES;
    const uint32_t mode =
        call->p.pointers ? CUBLASLT_BATCH_MODE_POINTER_ARRAY : CUBLASLT_BATCH_MODE_STRIDED;
    const uint64_t rows = (uint64_t)(row ? x->columns : x->rows);
    const uint64_t columns = (uint64_t)(row ? x->rows : x->columns);
    cublasLtMatrixLayout_t layout;

    MUST(cublasLtMatrixLayoutCreate(&layout, cuda_type(x->type), rows, columns, x->ld));
#define SET(attribute, value)                                                                      \
    MUST(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_##attribute, &(value),    \
                                          sizeof(value)))
    SET(ORDER, order);
    SET(BATCH_COUNT, count);
    SET(STRIDED_BATCH_OFFSET, x->stride);
    SET(BATCH_MODE, mode);
#undef SET
    return layout;
}

/* Where cublasLt's D is: apart from C or not. */
static const struct matrix *result_of(const struct problem_call *call)
{
    return call->door->layout == LT && !call->p.in_place ? &call->d : &call->c;
}

static uint64_t where(const struct problem_call *call, const struct matrix *x)
{
    return call->p.pointers ? x->addresses : x->first;
}

/* With D told as row-major, A and B change places: D^T = op(B)^T op(A)^T. */
static cublasStatus_t run_lt(const struct problem_call *call, cublasLtHandle_t handle,
                             CUstream stream)
{
    const struct problem *const p = &call->p;
    const bool turned = p->d_row;
    const struct matrix *const left = turned ? &call->b : &call->a;
    const struct matrix *const right = turned ? &call->a : &call->b;
    const int32_t ta = (p->ta != p->a_row) != turned, tb = (p->tb != p->b_row) != turned;
    const int32_t op_left = turned ? tb : ta, op_right = turned ? ta : tb;
    const int32_t mode =
        p->device_scalars ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST;
    cublasLtMatrixLayout_t layouts[4] = {layout_of(call, left, turned ? p->b_row : p->a_row),
                                         layout_of(call, right, turned ? p->a_row : p->b_row),
                                         layout_of(call, &call->c, turned),
                                         layout_of(call, result_of(call), turned)};
    cublasLtMatmulDesc_t operation;
    struct arguments x = {.handle = (uint64_t)handle,
                          .alpha = (uint64_t)scalar(call, 0),
                          .beta = (uint64_t)scalar(call, 1),
                          .A = where(call, left),
                          .B = where(call, right),
                          .C = where(call, &call->c),
                          .D = where(call, result_of(call)),
                          .a_layout = (uint64_t)layouts[0],
                          .b_layout = (uint64_t)layouts[1],
                          .c_layout = (uint64_t)layouts[2],
                          .d_layout = (uint64_t)layouts[3],
                          .stream = (uint64_t)stream};
    cublasStatus_t status;

    MUST(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
#define SET(attribute, value)                                                                      \
    MUST(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_##attribute, &(value),     \
                                        sizeof(value)))
    SET(TRANSA, op_left);
    SET(TRANSB, op_right);
    SET(POINTER_MODE, mode);
#undef SET
    x.operation = (uint64_t)operation;
    status = run(call, &x);
    for (int i = 0; i < 4; i++) {
        cublasLtMatrixLayoutDestroy(layouts[i]);
    }
    cublasLtMatmulDescDestroy(operation);
    return status;
}

cublasStatus_t problem_make(const struct problem_call *call, const struct problem_handles *handles,
                            CUstream stream)
{
    const struct arguments x = arguments_alone(call, handles->cublas);

    switch (call->door->layout) {
    case GROUPED:
        return run_groups(call, handles->cublas);
    case LT:
        return run_lt(call, handles->lt, stream);
    default:
        return run(call, &x);
    }
}

struct problem_call *problem_prepare(const struct problem *p, CUstream stream)
{
    struct problem_call *const call = calloc(1, sizeof(*call));
    uint64_t state = p->seed;

    MUST(call ? 0 : -1);
    call->p = *p;
    call->door = door_of(p->hook);
    call->in = cuda_type(call->door->in);
    call->out = cuda_type(call->door->out);
    call->a =
        new_matrix(p, call->door->in, p->ta ? p->k : p->m, p->ta ? p->m : p->k, &state, stream);
    call->b =
        new_matrix(p, call->door->in, p->tb ? p->n : p->k, p->tb ? p->k : p->n, &state, stream);
    call->c = new_matrix(p, call->door->out, p->m, p->n, &state, stream);
    call->d = new_matrix(p, call->door->out, p->m, p->n, &state, stream);
    sim_float_store(call->door->scalars, call->scalars, p->alpha);
    sim_float_store(call->door->scalars, call->scalars + 4, p->beta);
    MUST(cuMemAlloc(&call->device_scalars, 8));
    MUST(cuMemcpyHtoDAsync(call->device_scalars, call->scalars, 8, stream));
    return call;
}

uint64_t problem_result(struct problem_call *call, bool overwrite, CUstream stream)
{
    const struct matrix *const x = result_of(call);
    unsigned char *const bytes = malloc(x->bytes);
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    MUST(bytes ? 0 : -1);
    MUST(cuMemcpyDtoHAsync(bytes, x->memory, x->bytes, stream));
    if (overwrite) {
        overwrite_matrix(&call->a, stream);
        overwrite_matrix(&call->b, stream);
        overwrite_matrix(&call->c, stream);
        overwrite_matrix(&call->d, stream);
        MUST(cuMemsetD8Async(call->device_scalars, 0x55, 8, stream));
        memset(call->scalars, 0x55, sizeof(call->scalars));
    }
    MUST(cuStreamSynchronize(stream));
    for (size_t i = 0; i < x->bytes; i++) {
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    free(bytes);
    return sum;
}

void problem_drop(struct problem_call *call)
{
    drop(&call->a);
    drop(&call->b);
    drop(&call->c);
    drop(&call->d);
    MUST(cuMemFree(call->device_scalars));
    free(call);
}

cublasStatus_t problem_try(const struct problem *p, const struct problem_handles *handles,
                           CUstream stream, uint64_t *ret_sum)
{
    struct problem_call *const call = problem_prepare(p, stream);
    cublasStatus_t status;

    MUST(cublasSetStream_v2(handles->cublas, stream));
    MUST(cublasSetPointerMode_v2(handles->cublas, p->device_scalars ? CUBLAS_POINTER_MODE_DEVICE
                                                                    : CUBLAS_POINTER_MODE_HOST));
    status = problem_make(call, handles, stream);
    *ret_sum = problem_result(call, true, stream);
    problem_drop(call);
    return status;
}

uint64_t problem_run(const struct problem *p, const struct problem_handles *handles,
                     CUstream stream)
{
    uint64_t sum;

    MUST(problem_try(p, handles, stream, &sum));
    return sum;
}
