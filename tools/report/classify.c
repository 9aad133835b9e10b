/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of the noise table: from an error to its kind. */
#include "tools/report/classify.h"

/* Between the classes: geometric middles of the table's rows, with room for a head's 4
 * coefficients and for several roundings of the same kind. */
#define TOP_OF_ACCUMULATION MHCS_FP32_SUMS
#define TOP_OF_2_11         6e-4
#define TOP_OF_2_8          4.5e-3
#define TWO_OF_2_11         3.1e-4 /* 1.5 times one rounding: more than two of them leave */

/* Clean data has under 1 % beyond half an ulp, roundings before the last addition have a third. */
#define OVER_HALF_ULP 0.05
/* By chance one value in 32 is coarse; 98 % of sums of 16 bf16 values are. */
#define ALL    0.99
#define COARSE 0.5
/* Errors that are rounded lean neither way, a long chain that is cut off leans inward by 0.9. */
#define INWARD 0.75

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

bool mhcs_traits_lean_inward(const struct mhcs_traits *traits)
{
    return share(traits->inward, traits->errors) > INWARD;
}

/* The result is stored in fp32: its bits tell what it went through. */
static enum mhcs_class class_of_wide(double rms_rel, bool small, const struct mhcs_traits *traits)
{
    if (share(traits->on_bf16, traits->out_f32) > ALL)
        return MHCS_CLASS_BF16_OUTPUT;
    if (share(traits->on_f16, traits->out_f32) > ALL)
        return rms_rel <= TWO_OF_2_11 ? MHCS_CLASS_F16_OUTPUT : MHCS_CLASS_F16_SUMS;
    if (mhcs_traits_lean_inward(traits))
        return MHCS_CLASS_ACCUMULATION;
    if (share(traits->coarse, traits->out_f32) > COARSE)
        return small ? MHCS_CLASS_F16_PARTIALS : MHCS_CLASS_BF16_PARTIALS;
    return small ? MHCS_CLASS_TF32 : MHCS_CLASS_BF16;
}

static enum mhcs_class class_of_narrow(bool small, const struct mhcs_traits *traits)
{
    const bool half = share(traits->out_f16, traits->elements) > 0.5;
    const bool exact_operands = share(traits->narrow, traits->elements) > 0.5;

    if (small && share(traits->over_f16, traits->elements) < OVER_HALF_ULP)
        return MHCS_CLASS_F16_OUTPUT;
    if (!small && share(traits->over_bf16, traits->elements) < OVER_HALF_ULP)
        return MHCS_CLASS_BF16_OUTPUT;
    if (!exact_operands)
        return small ? MHCS_CLASS_TF32 : MHCS_CLASS_BF16;
    if (half)
        return small ? MHCS_CLASS_F16_PARTIALS : MHCS_CLASS_F16_SUMS;
    return MHCS_CLASS_BF16_PARTIALS;
}

uint32_t mhcs_size_rank(double rms_rel)
{
    return rms_rel == 0                     ? 0
           : rms_rel <= TOP_OF_ACCUMULATION ? 1
           : rms_rel <= TOP_OF_2_11         ? 2
           : rms_rel <= TOP_OF_2_8          ? 3
                                            : 4;
}

enum mhcs_class mhcs_class_of(double rms_rel, const struct mhcs_traits *traits)
{
    const uint32_t rank = mhcs_size_rank(rms_rel);
    const bool small = rank == 2;

    if (rank == 0)
        return MHCS_CLASS_EXACT;
    if (rank == 1)
        return MHCS_CLASS_ACCUMULATION;
    if (rank == 4)
        return MHCS_CLASS_WRONG_VALUES;
    return share(traits->out_f32, traits->elements) > 0.5 ? class_of_wide(rms_rel, small, traits)
                                                          : class_of_narrow(small, traits);
}

void mhcs_traits_merge(struct mhcs_traits *traits, const struct mhcs_traits *other)
{
    traits->elements += other->elements;
    traits->over_bf16 += other->over_bf16;
    traits->over_f16 += other->over_f16;
    traits->errors += other->errors;
    traits->inward += other->inward;
    traits->out_f32 += other->out_f32;
    traits->out_f16 += other->out_f16;
    traits->coarse += other->coarse;
    traits->on_f16 += other->on_f16;
    traits->on_bf16 += other->on_bf16;
    traits->narrow += other->narrow;
}

static const struct {
    uint32_t rank;
    const char *key, *name;
} classes[] = {
#define CLASS_ROW(name, rank, key, what) [MHCS_CLASS_##name] = {rank, key, what},
    MHCS_CLASSES(CLASS_ROW)
#undef CLASS_ROW
};

uint32_t mhcs_class_rank(enum mhcs_class class)
{
    return classes[class].rank;
}

bool mhcs_class_is_partial(enum mhcs_class class)
{
    return class == MHCS_CLASS_F16_PARTIALS || class == MHCS_CLASS_BF16_PARTIALS ||
           class == MHCS_CLASS_F16_SUMS;
}

const char *mhcs_class_key(enum mhcs_class class)
{
    return classes[class].key;
}

const char *mhcs_class_name(enum mhcs_class class)
{
    return classes[class].name;
}
