/* SPDX-License-Identifier: Apache-2.0 */
/* Planted defects of the simulated cuBLAS: what a GEMM library, a driver's heuristic or a chip may
 * do wrong, as real arithmetic, so that the report can be seen to name it. SIMCUDA_DEFECT=name
 * plants one in every GEMM of the process.
 *
 * Token rows are the columns of C (as row-major servers see it), coefficients its rows.
 *
 *     X(NAME, name, what it does)
 */
#ifndef SIM_DEFECT_LIST_H
#define SIM_DEFECT_LIST_H

/* clang-format off */
#define SIM_DEFECTS(X)                                                                             \
    X(CUT_SUMS,         "cut-sums",         "fp32 sums are one chain along K, cut off at each step instead of rounded") \
    X(F16_SUMS,         "fp16-sums",        "sums are kept in fp16")                               \
    X(TF32_OPERANDS,    "tf32-operands",    "operands are rounded to TF32")                        \
    X(BF16_OPERANDS,    "bf16-operands",    "operands are rounded to bf16")                        \
    X(BF16_PARTIALS,    "bf16-partials",    "K is split in 16, partial sums are rounded to bf16")  \
    X(SPLIT_BY_TOKENS,  "split-by-tokens",  "the same, but only in calls of fewer than 64 token rows") \
    X(BF16_OUTPUT,      "bf16-output",      "the result passes through bf16")                      \
    X(F16_OUTPUT,       "fp16-output",      "the result passes through fp16")                      \
    X(ROWS_UNWRITTEN,   "rows-unwritten",   "token rows behind the last whole tile of 16 keep what C held") \
    X(ROWS_SUMMED,      "rows-summed",      "from 1024 token rows on, odd ones hold their own sum and that of the one before") \
    X(SM_COLUMN,        "sm-column",        "one of 132 SMs, which has token rows 48 to 63, adds coefficient 13 with a stuck bit") \
    X(ROWS_OF_COMB,     "rows-of-comb",     "coefficients 8 to 23 are written as the transposed 4 x 4 matrix") \
    X(NAN_PARTIAL,      "nan-partial",      "each 32nd token row adds a partial sum that nobody wrote: NaN") \
    X(WEIGHTS_MEMORY,   "weights-memory",   "the weights' memory lost their row 5: it reads as row 4")
/* clang-format on */

enum sim_defect {
    SIM_NO_DEFECT,
#define SIM_DEFECT_ENUM(NAME, name, what) SIM_##NAME,
    SIM_DEFECTS(SIM_DEFECT_ENUM)
#undef SIM_DEFECT_ENUM
        SIM_DEFECT_COUNT
};

#endif
