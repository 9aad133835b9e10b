/* SPDX-License-Identifier: Apache-2.0 */
/* How gemm.c comes by a planted defect; defect_list.h says which there are. */
#ifndef SIM_DEFECT_H
#define SIM_DEFECT_H

#include "gemm.h"

/* The value of SIMCUDA_DEFECT; NULL and "" are none. SIM_DEFECT_COUNT: no such defect. */
enum sim_defect sim_defect_find(const char *name);

/* Gives the GEMM the defect's arithmetic. */
void sim_defect_plant(enum sim_defect defect, struct sim_gemm *gemm);

/* The faults that have a place; gemm.c calls both for each tile. Changes sums of token rows
 * [first_column, ...) and coefficients [first_row, ...) before they are rounded to C's type. */
void sim_defect_sums(const struct sim_gemm *gemm, int64_t first_row, int64_t first_column,
                     float sums[SIM_TILE_COLUMNS][SIM_TILE_ROWS]);
/* Where the sum of a coefficient goes; negative: nowhere. */
int64_t sim_defect_place(const struct sim_gemm *gemm, int64_t row, int64_t column);

#endif
