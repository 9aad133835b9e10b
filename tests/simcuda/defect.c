/* SPDX-License-Identifier: Apache-2.0 */
/* What each planted defect does. WEIGHTS_MEMORY is not here: cublas_op.c has the memory. */
#include "defect.h"

#include <stddef.h>

#define SPLITS            16
#define SMALL_CALL        64
#define LARGE_CALL        1024
#define TOKEN_TILE        16
#define SMS               132
#define BAD_SM            3
#define BAD_COEFFICIENT   13
#define STUCK_BIT         (1u << 21) /* a quarter of the value's power of two */
#define UNWRITTEN_PARTIAL 32
#define COMB              8

static const char *const names[] = {
#define NAME_ROW(NAME, name, what) [SIM_##NAME] = name,
    SIM_DEFECTS(NAME_ROW)
#undef NAME_ROW
};

enum sim_defect sim_defect_find(const char *name)
{
    int i = SIM_NO_DEFECT + 1;

    if (name == NULL || *name == '\0')
        return SIM_NO_DEFECT;
    while (i < SIM_DEFECT_COUNT && strcmp(names[i], name) != 0)
        i++;
    return (enum sim_defect)i;
}

void sim_defect_plant(enum sim_defect defect, struct sim_gemm *gemm)
{
    gemm->defect = defect;
    switch (defect) {
    case SIM_CUT_SUMS:
        gemm->cut_sums = true;
        break;
    case SIM_F16_SUMS:
        gemm->half_accumulator = true;
        break;
    case SIM_TF32_OPERANDS:
        gemm->multiplier = SIM_MULTIPLY_TF32;
        break;
    case SIM_BF16_OPERANDS:
        gemm->multiplier = SIM_MULTIPLY_BF16;
        break;
    case SIM_BF16_PARTIALS:
        gemm->splits = SPLITS;
        break;
    case SIM_SPLIT_BY_TOKENS:
        gemm->splits = gemm->n < SMALL_CALL ? SPLITS : 0;
        break;
    default: /* has a place, below */
        break;
    }
}

static void sum_neighbours(float sums[SIM_TILE_COLUMNS][SIM_TILE_ROWS])
{
    for (int column = 1; column < SIM_TILE_COLUMNS; column += 2)
        for (int row = 0; row < SIM_TILE_ROWS; row++)
            sums[column][row] += sums[column - 1][row];
}

static bool is_of_bad_sm(int64_t token)
{
    return token / TOKEN_TILE % SMS == BAD_SM;
}

static float changed(enum sim_defect defect, int64_t coefficient, int64_t token, float sum)
{
    switch (defect) {
    case SIM_BF16_OUTPUT:
        return sim_round_mantissa(sum, 16);
    case SIM_F16_OUTPUT:
        return sim_round_f16(sum);
    case SIM_SM_COLUMN:
        if (coefficient == BAD_COEFFICIENT && is_of_bad_sm(token))
            return sim_bits_float(sim_float_bits(sum) | STUCK_BIT);
        return sum;
    case SIM_NAN_PARTIAL:
        return token % UNWRITTEN_PARTIAL == 0 ? sum + sim_bits_float(UINT32_MAX) : sum;
    default:
        return sum;
    }
}

void sim_defect_sums(const struct sim_gemm *gemm, int64_t first_row, int64_t first_column,
                     float sums[SIM_TILE_COLUMNS][SIM_TILE_ROWS])
{
    if (gemm->defect == SIM_NO_DEFECT)
        return;
    if (gemm->defect == SIM_ROWS_SUMMED && gemm->n >= LARGE_CALL)
        sum_neighbours(sums);
    for (int column = 0; column < SIM_TILE_COLUMNS; column++)
        for (int row = 0; row < SIM_TILE_ROWS; row++)
            sums[column][row] =
                changed(gemm->defect, first_row + row, first_column + column, sums[column][row]);
}

int64_t sim_defect_place(const struct sim_gemm *gemm, int64_t row, int64_t column)
{
    if (gemm->defect == SIM_ROWS_UNWRITTEN && column >= gemm->n - gemm->n % TOKEN_TILE)
        return -1;
    if (gemm->defect == SIM_ROWS_OF_COMB && row >= COMB && gemm->m == COMB + 16)
        return COMB + (row - COMB) % 4 * 4 + (row - COMB) / 4;
    return row;
}
