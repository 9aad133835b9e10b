/* SPDX-License-Identifier: Apache-2.0 */
/* Draws or reads hidden states. */
#include "tools/microtest/states.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dtype.h"
#include "shadow/model/header.h"
#include "shadow/model/round.h"
#include "tools/microtest/bell.h"

/* Which channels are outliers does not depend on the rows. */
static void draw(const struct mhcs_states_plan *plan, float *x)
{
    uint64_t random = mix64(plan->seed);

    for (size_t i = 0; i < (size_t)plan->rows * plan->k; i++) {
        uint64_t channel = plan->seed ^ mix64(i % plan->k + 1);
        const bool outlier = random_unit(&channel) < plan->outlier_share;
        const double value =
            bell_next(&random) / BELL_DEVIATION * (outlier ? plan->outlier_gain : 1);

        x[i] = plan->f32 ? (float)value : mhcs_round_bf16((float)value);
    }
}

static const struct mhcs_tensor *choose(const struct mhcs_states_plan *plan,
                                        const struct mhcs_tensors *file, char *error)
{
    const struct mhcs_tensor *tensor;

    if (!plan->tensor && file->count != 1) {
        mhcs_tensors_fail(plan->file, error, NULL, 0,
                          "%zu tensors in it: say which one with --tensor", file->count);
        return NULL;
    }
    tensor = plan->tensor ? mhcs_tensors_find(file, plan->tensor) : &file->list[0];
    if (!tensor)
        mhcs_tensors_fail(plan->file, error, plan->tensor, 0, "not in the file");
    return tensor;
}

static bool dtype_of(const struct mhcs_tensor *tensor, uint32_t *ret_dtype)
{
    *ret_dtype = strcmp(tensor->type, "BF16") == 0  ? MHCS_BF16
                 : strcmp(tensor->type, "F16") == 0 ? MHCS_F16
                                                    : MHCS_F32;
    return *ret_dtype != MHCS_F32 || strcmp(tensor->type, "F32") == 0;
}

/* The last dimensions of [..., k] or [..., 4, hidden]. */
static uint64_t row_length(const struct mhcs_tensor *tensor, uint32_t k)
{
    const int n = tensor->rank;

    if (n >= 3 && tensor->shape[n - 2] == MHCS_STREAMS && tensor->shape[n - 1] == k / MHCS_STREAMS)
        return k;
    return n >= 2 ? tensor->shape[n - 1] : 0;
}

static int read_rows(const struct mhcs_states_plan *plan, const struct mhcs_tensors *file,
                     float **ret_x, uint32_t *ret_rows, char *error)
{
    const struct mhcs_tensor *tensor = choose(plan, file, error);
    char has[MHCS_TENSOR_TEXT];
    uint32_t dtype;
    uint64_t count, rows;
    float *x;
    int ret;

    if (!tensor)
        return -EINVAL;
    if (!dtype_of(tensor, &dtype) || row_length(tensor, plan->k) != plan->k)
        return mhcs_tensors_fail(plan->file, error, tensor->name, -EINVAL,
                                 "is %s; rows of the mixing GEMM's input are needed: F32, BF16 or "
                                 "F16 [..., %u] or [..., 4, %u]",
                                 mhcs_tensor_text(tensor, has), plan->k, plan->k / MHCS_STREAMS);
    count = (tensor->end - tensor->begin) / mhcs_dtype_size(dtype);
    rows = count / plan->k < plan->rows ? count / plan->k : plan->rows;
    if (rows == 0)
        return mhcs_tensors_fail(plan->file, error, tensor->name, -EINVAL, "has no row");
    x = malloc(rows * plan->k * sizeof(*x));
    if (!x)
        return mhcs_tensors_fail(plan->file, error, NULL, -ENOMEM, "out of memory");
    ret = mhcs_tensors_read(file, tensor, 0, x, rows * plan->k * mhcs_dtype_size(dtype), error);
    for (size_t i = rows * plan->k; !ret && dtype != MHCS_F32 && i-- > 0;) {
        uint16_t half; /* widened in place, from the end */

        memcpy(&half, (const char *)x + 2 * i, sizeof(half));
        x[i] = dtype == MHCS_BF16 ? mhcs_bf16_decode(half) : mhcs_f16_decode(half);
    }
    if (ret) {
        free(x);
        return ret;
    }
    *ret_x = x;
    *ret_rows = (uint32_t)rows;
    return 0;
}

int mhcs_states_make(const struct mhcs_states_plan *plan, float **ret_x, uint32_t *ret_rows,
                     char error[MHCS_MODEL_ERROR])
{
    struct mhcs_tensors *file;
    int ret;

    if (plan->file) {
        ret = mhcs_tensors_open(&file, plan->file, error);
        if (ret)
            return ret;
        ret = read_rows(plan, file, ret_x, ret_rows, error);
        mhcs_tensors_close(file);
        return ret;
    }
    *ret_x = malloc((size_t)plan->rows * plan->k * sizeof(**ret_x));
    if (!*ret_x)
        return mhcs_tensors_fail("hidden states", error, NULL, -ENOMEM, "out of memory");
    *ret_rows = plan->rows;
    draw(plan, *ret_x);
    return 0;
}
