/* SPDX-License-Identifier: Apache-2.0 */
/* Which kind of error a group of rows shows. doc/metrics.md, "Classes". */
#ifndef MHCS_REPORT_CLASSIFY_H
#define MHCS_REPORT_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, rank, key, what it looks like). The rank orders them by size: 0 exact, 1 fp32
 * accumulation, 2 roundings of 2^-11, 3 roundings of 2^-8, 4 larger than any rounding. The key is
 * for machines and never changes. */
#define MHCS_CLASSES(X)                                                                            \
    X(EXACT, 0, "exact", "bit-identical results")                                                  \
    X(ACCUMULATION, 1, "accumulation", "fp32 accumulation")                                        \
    X(F16_OUTPUT, 2, "output-fp16", "rounding of the output to fp16")                              \
    X(F16_PARTIALS, 2, "partial-sums-fp16", "rounding of partial sums to fp16")                    \
    X(TF32, 2, "operands-tf32", "rounding of operands to TF32 or fp16")                            \
    X(BF16_OUTPUT, 3, "output-bf16", "rounding of the output to bf16")                             \
    X(BF16_PARTIALS, 3, "partial-sums-bf16", "rounding of partial sums to bf16")                   \
    X(BF16, 3, "operands-bf16", "rounding of operands to bf16")                                    \
    X(F16_SUMS, 3, "accumulation-fp16", "accumulation in fp16")                                    \
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

/* Sums that are not kept in fp32: a rounding that a math mode may allow, in some calls. */
bool mhcs_class_is_partial(enum mhcs_class class);

/* What tells errors of one size apart, counted over coefficients. All zero: empty.
 *
 * Rounding the output never errs by more than half an ulp of the value itself; any rounding before
 * the last addition does, next to zero. An fp32 value that passed through a narrower format has
 * zeros in its lowest bits, and so has a sum of few values of that format: that is how partial sums
 * differ from operands, whose thousands of products fill all bits. Sums that are cut off instead of
 * rounded err towards zero. */
struct mhcs_traits {
    uint64_t elements;
    uint64_t over_bf16, over_f16; /* error above half an ulp of the format, and above fp32 sums' */
    uint64_t errors, inward;      /* not zero; of these towards zero */
    uint64_t out_f32, out_f16;    /* stored in fp32, in fp16 (else bf16) */
    uint64_t coarse, on_f16, on_bf16; /* of out_f32: the lowest 5, 13, 16 bits are zero */
    uint64_t narrow; /* both references have the operands as they are stored, in 16 bits */
};

void mhcs_traits_merge(struct mhcs_traits *traits, const struct mhcs_traits *other);
bool mhcs_traits_lean_inward(const struct mhcs_traits *traits);

enum mhcs_class mhcs_class_of(double rms_rel, const struct mhcs_traits *traits);
/* The rank by size alone. */
uint32_t mhcs_size_rank(double rms_rel);

/* Largest error that sums in fp32 leave, over the row's rms. */
#define MHCS_FP32_SUMS 1e-4

#endif
