/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of the noise table: from an error to its kind. */
#include "tools/report/classify.h"

/* Between the classes: geometric middles of the table's rows, with room for a head's 4
 * coefficients and for several roundings of the same kind. */
#define TOP_OF_ACCUMULATION 1e-4
#define TOP_OF_2_11         6e-4
#define TOP_OF_2_8          4.5e-3
/* A reference in fp32 puts a few outputs on the other side of half an ulp. */
#define OUTPUT_SHARE 0.01

enum mhcs_class mhcs_class_of(double rms_rel, double over_bf16, double over_f16)
{
    if (rms_rel == 0)
        return MHCS_CLASS_EXACT;
    if (rms_rel <= TOP_OF_ACCUMULATION)
        return MHCS_CLASS_ACCUMULATION;
    if (rms_rel <= TOP_OF_2_11)
        return over_f16 <= OUTPUT_SHARE ? MHCS_CLASS_F16_OUTPUT : MHCS_CLASS_TF32;
    if (rms_rel <= TOP_OF_2_8)
        return over_bf16 <= OUTPUT_SHARE ? MHCS_CLASS_BF16_OUTPUT : MHCS_CLASS_BF16;
    return MHCS_CLASS_WRONG_VALUES;
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

const char *mhcs_class_key(enum mhcs_class class)
{
    return classes[class].key;
}

const char *mhcs_class_name(enum mhcs_class class)
{
    return classes[class].name;
}
