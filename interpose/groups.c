/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/groups.h"

#include "interpose/filter.h"

static int64_t integer(const struct mhcs_groups *groups, const void *array, int64_t i)
{
    return groups->index_bytes == sizeof(int64_t) ? ((const int64_t *)array)[i]
                                                  : ((const int *)array)[i];
}

static const void *scalar(const struct mhcs_groups *groups, const void *array, int64_t i)
{
    const bool half = mhcs_filter_scalar_type(groups->compute) == CUDA_R_16F;

    return (const char *)array + i * (half ? 2 : 4);
}

static const void *pointers(const void *array, int64_t i)
{
    return (const char *)array + i * (int64_t)sizeof(void *);
}

static struct mhcs_call group(const struct mhcs_groups *g, int64_t i, int64_t first)
{
    const void *const c = pointers(g->c, first);

    return (struct mhcs_call){
        .handle = g->handle,
        .transa = g->transa[i],
        .transb = g->transb[i],
        .m = integer(g, g->m, i),
        .n = integer(g, g->n, i),
        .k = integer(g, g->k, i),
        .alpha = scalar(g, g->alpha, i),
        .beta = scalar(g, g->beta, i),
        .a = pointers(g->a, first),
        .b = pointers(g->b, first),
        .c = c,
        .d = c,
        .a_type = g->a_type,
        .b_type = g->b_type,
        .c_type = g->c_type,
        .lda = integer(g, g->lda, i),
        .ldb = integer(g, g->ldb, i),
        .ldc = integer(g, g->ldc, i),
        .ldd = integer(g, g->ldc, i),
        .compute = g->compute,
        .count = integer(g, g->size, i),
        .pointers = true,
    };
}

bool mhcs_groups_next(const struct mhcs_groups *groups, struct mhcs_groups_walk *walk,
                      struct mhcs_call *call)
{
    /* cuBLAS refuses such a call, after us. */
    if (!groups->transa || !groups->transb || !groups->m || !groups->n || !groups->k ||
        !groups->lda || !groups->ldb || !groups->ldc || !groups->size || !groups->alpha ||
        !groups->beta || !groups->a || !groups->b || !groups->c) {
        return false;
    }
    while (walk->group < groups->count) {
        const int64_t i = walk->group++, first = walk->first;
        const int64_t size = integer(groups, groups->size, i);

        if (size < 0) {
            return false;
        }
        walk->first += size;
        if (mhcs_filter_candidate(integer(groups, groups->m, i), integer(groups, groups->n, i),
                                  integer(groups, groups->k, i))) {
            *call = group(groups, i, first);
            return true;
        }
    }
    return false;
}
