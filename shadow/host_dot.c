/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/host_dot.h"

#include <errno.h>
#include <stdlib.h>

#include "kernels/dtype.h"

/* Two SSE or NEON registers. Written as vectors because a compiler may not reorder a sum of doubles
 * into lanes by itself. */
typedef double lanes __attribute__((vector_size(32)));
typedef int64_t lane_bits __attribute__((vector_size(32)));

#define LANES 4
#define BLOCK 256 /* elements of k decoded at a time: 24 rows of them stay in the L1/L2 cache */

struct decoded {
    lanes fn[MHCS_COEFFICIENTS][BLOCK / LANES];
    lanes x[BLOCK / LANES];
};

static void decode(double *to, const void *from, uint32_t dtype, size_t first, uint32_t count)
{
    for (uint32_t i = 0; i < BLOCK; i++)
        to[i] = i < count ? (double)mhcs_element(from, dtype, first + i) : 0;
}

static double lane_sum(const lanes *v)
{
    return ((*v)[0] + (*v)[1]) + ((*v)[2] + (*v)[3]);
}

static void add_block(struct mhcs_dots *dots, const struct decoded *block, uint32_t coefficients)
{
    const lane_bits magnitude = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

    for (uint32_t j = 0; j < coefficients; j++) {
        lanes sum = {0}, size = {0};
        for (uint32_t i = 0; i < BLOCK / LANES; i++) {
            const lanes product = block->x[i] * block->fn[j][i];
            sum += product;
            size += (lanes)((lane_bits)product & magnitude);
        }
        dots->dot[j] += lane_sum(&sum);
        dots->abs_dot[j] += lane_sum(&size);
    }
    lanes square = {0};
    for (uint32_t i = 0; i < BLOCK / LANES; i++)
        square += block->x[i] * block->x[i];
    dots->square_sum += lane_sum(&square);
}

int mhcs_host_dots(const void *fn, uint32_t fn_dtype, const void *x, uint32_t x_dtype,
                   uint32_t coefficients, uint32_t k, uint32_t rows, struct mhcs_dots *dots)
{
    struct decoded *block = aligned_alloc(_Alignof(struct decoded), sizeof(*block));
    if (!block)
        return -ENOMEM;
    memset(dots, 0, rows * sizeof(*dots));
    for (uint32_t first = 0; first < k; first += BLOCK) {
        const uint32_t count = k - first < BLOCK ? k - first : BLOCK;
        for (uint32_t j = 0; j < coefficients; j++)
            decode((double *)block->fn[j], fn, fn_dtype, (size_t)j * k + first, count);
        for (uint32_t r = 0; r < rows; r++) {
            decode((double *)block->x, x, x_dtype, (size_t)r * k + first, count);
            add_block(&dots[r], block, coefficients);
        }
    }
    free(block);
    return 0;
}
