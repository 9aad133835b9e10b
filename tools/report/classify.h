/* SPDX-License-Identifier: Apache-2.0 */
/* Which kind of error a group of rows shows. doc/metrics.md, "Classes". */
#ifndef MHCS_REPORT_CLASSIFY_H
#define MHCS_REPORT_CLASSIFY_H

#include <stdint.h>

/* X(NAME, rank, key, what it looks like). The rank orders them by size: 0 exact, 1 fp32
 * accumulation, 2 roundings of 2^-11, 3 roundings of 2^-8, 4 larger than any rounding. The key is
 * for machines and never changes. */
#define MHCS_CLASSES(X)                                                                            \
    X(EXACT, 0, "exact", "bit-identical results")                                                  \
    X(ACCUMULATION, 1, "accumulation", "fp32 accumulation")                                        \
    X(F16_OUTPUT, 2, "output-fp16", "rounding of the output to fp16")                              \
    X(TF32, 2, "operands-tf32", "rounding of operands to TF32 or fp16")                            \
    X(BF16_OUTPUT, 3, "output-bf16", "rounding of the output to bf16")                             \
    X(BF16, 3, "operands-bf16", "rounding of operands or partial sums to bf16")                    \
    X(WRONG_VALUES, 4, "wrong-values", "wrong values, more than rounding")                         \
    X(WRONG_WEIGHTS, 4, "wrong-weights", "weights that are not the checkpoint's")                  \
    X(NONFINITE, 4, "non-finite", "NaN or Inf where the reference is finite")

enum mhcs_class {
#define MHCS_CLASS_ENUM(name, rank, key, what) MHCS_CLASS_##name,
    MHCS_CLASSES(MHCS_CLASS_ENUM)
#undef MHCS_CLASS_ENUM
};

uint32_t mhcs_class_rank(enum mhcs_class class);
const char *mhcs_class_key(enum mhcs_class class);  /* "operands-tf32" */
const char *mhcs_class_name(enum mhcs_class class); /* "rounding of operands to TF32 or fp16" */

/* `over_bf16` and `over_f16`: share of the coefficients whose error is more than half an ulp of
 * their own size in that format. Rounding the output never does that, rounding operands does. */
enum mhcs_class mhcs_class_of(double rms_rel, double over_bf16, double over_f16);

#endif
