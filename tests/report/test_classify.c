/* SPDX-License-Identifier: Apache-2.0 */
/* Classes from the traits that each kind of rounding has; through the whole way in tests/e2e. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tools/report/classify.h"

/* Shares in percent of 1000 coefficients, as measured on simulated GEMMs. */
static const struct {
    double rms_rel;
    uint64_t over_bf16, over_f16, inward, out_f32, out_f16, coarse, on_f16, on_bf16, narrow;
    enum mhcs_class class;
} cases[] = {
    {0, 0, 0, 0, 100, 0, 3, 0, 0, 0, MHCS_CLASS_EXACT},
    {0.6e-6, 0, 0, 50, 100, 0, 3, 0, 0, 0, MHCS_CLASS_ACCUMULATION},
    {2.3e-5, 0, 0, 90, 100, 0, 3, 0, 0, 0, MHCS_CLASS_ACCUMULATION},
    {3e-4, 0, 0, 90, 100, 0, 3, 0, 0, 0, MHCS_CLASS_ACCUMULATION},
    {2.1e-4, 0, 30, 50, 100, 0, 3, 0, 0, 0, MHCS_CLASS_TF32},
    {2.1e-4, 0, 0, 50, 100, 0, 100, 100, 12, 0, MHCS_CLASS_F16_OUTPUT},
    {2.1e-4, 0, 30, 50, 100, 0, 90, 20, 3, 0, MHCS_CLASS_F16_PARTIALS},
    {3e-3, 50, 90, 50, 100, 0, 100, 100, 12, 0, MHCS_CLASS_F16_SUMS},
    {1.66e-3, 0, 90, 50, 100, 0, 100, 100, 100, 0, MHCS_CLASS_BF16_OUTPUT},
    {1.66e-3, 30, 90, 50, 100, 0, 9, 0, 0, 0, MHCS_CLASS_BF16},
    {1.66e-3, 30, 90, 50, 100, 0, 98, 20, 3, 0, MHCS_CLASS_BF16_PARTIALS},
    /* Stored in 16 bits: half an ulp tells. */
    {2.1e-4, 0, 0, 50, 0, 100, 0, 0, 0, 100, MHCS_CLASS_F16_OUTPUT},
    {2.9e-4, 0, 30, 50, 0, 100, 0, 0, 0, 100, MHCS_CLASS_F16_PARTIALS},
    {2.9e-4, 0, 30, 50, 0, 100, 0, 0, 0, 0, MHCS_CLASS_TF32},
    {3e-3, 40, 90, 50, 0, 100, 0, 0, 0, 100, MHCS_CLASS_F16_SUMS},
    {1.66e-3, 0, 90, 50, 0, 0, 0, 0, 0, 100, MHCS_CLASS_BF16_OUTPUT},
    {2.34e-3, 40, 90, 50, 0, 0, 0, 0, 0, 100, MHCS_CLASS_BF16_PARTIALS},
    {2.34e-3, 40, 90, 50, 0, 0, 0, 0, 0, 0, MHCS_CLASS_BF16},
    {5e-2, 90, 99, 50, 100, 0, 3, 0, 0, 0, MHCS_CLASS_WRONG_VALUES},
};

static void classes_are_told_apart_by_size_half_ulps_and_bits(void **unused)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mhcs_traits traits = {.elements = 1000,
                                           .errors = 1000,
                                           .over_bf16 = 10 * cases[i].over_bf16,
                                           .over_f16 = 10 * cases[i].over_f16,
                                           .inward = 10 * cases[i].inward,
                                           .out_f32 = 10 * cases[i].out_f32,
                                           .out_f16 = 10 * cases[i].out_f16,
                                           .coarse = 10 * cases[i].coarse,
                                           .on_f16 = 10 * cases[i].on_f16,
                                           .on_bf16 = 10 * cases[i].on_bf16,
                                           .narrow = 10 * cases[i].narrow};
        const enum mhcs_class class = mhcs_class_of(cases[i].rms_rel, &traits);

        if (class != cases[i].class)
            fail_msg("case %zu: %s instead of %s", i, mhcs_class_key(class),
                     mhcs_class_key(cases[i].class));
    }
}

/* A machine reads them: "operands-tf32" is one word, and no two are alike. */
static void keys_are_words_of_their_own(void **unused)
{
    for (int a = 0; a <= MHCS_CLASS_NONFINITE; a++) {
        const char *key = mhcs_class_key((enum mhcs_class)a);

        assert_int_equal(strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(key));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(key, mhcs_class_key((enum mhcs_class)b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_told_apart_by_size_half_ulps_and_bits),
        cmocka_unit_test(keys_are_words_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
