/* SPDX-License-Identifier: Apache-2.0 */
/* Each door leads to the same room: what the shadow is given of a mixing GEMM, whichever function
 * it was made through, entry by entry; and what is counted. Run under LD_PRELOAD of the hooks with
 * the shadow's double. */
#include "words.h"

#include <stdio.h>
#include <stdlib.h>

/* How the batch of a function is laid out, and the types it has by its name. */
enum layout { ALONE, STRIDED, POINTERS, GROUPED, LT };

static const struct door {
    const char *name; /* without _64 */
    enum layout layout;
    enum mhcs_dtype in, out, scalars;
    enum mhcs_compute compute;
} doors[] = {
    {"cublasGemmEx", ALONE, MHCS_BF16, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasSgemm_v2", ALONE, MHCS_F32, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasSgemmEx", ALONE, MHCS_BF16, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasHgemm", ALONE, MHCS_F16, MHCS_F16, MHCS_F16, MHCS_COMPUTE_F16_ACCUMULATE},
    {"cublasGemmStridedBatchedEx", STRIDED, MHCS_BF16, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasSgemmStridedBatched", STRIDED, MHCS_F32, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasHgemmStridedBatched", STRIDED, MHCS_F16, MHCS_F16, MHCS_F16,
     MHCS_COMPUTE_F16_ACCUMULATE},
    {"cublasGemmBatchedEx", POINTERS, MHCS_BF16, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasSgemmBatched", POINTERS, MHCS_F32, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasHgemmBatched", POINTERS, MHCS_F16, MHCS_F16, MHCS_F16, MHCS_COMPUTE_F16_ACCUMULATE},
    {"cublasGemmGroupedBatchedEx", GROUPED, MHCS_BF16, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasSgemmGroupedBatched", GROUPED, MHCS_F32, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
    {"cublasLtMatmul", LT, MHCS_BF16, MHCS_F32, MHCS_F32, MHCS_COMPUTE_F32},
};

static const struct door *door_of(int hook)
{
    const size_t length = strlen(hook_names[hook]);
    const bool wide = length > 3 && strcmp(hook_names[hook] + length - 3, "_64") == 0;

    for (size_t i = 0; i < sizeof(doors) / sizeof(doors[0]); i++) {
        if (strlen(doors[i].name) == length - (wide ? 3 : 0) &&
            strncmp(doors[i].name, hook_names[hook], strlen(doors[i].name)) == 0) {
            return &doors[i];
        }
    }
    fail_msg("the test does not know %s", hook_names[hook]);
    return NULL;
}

static uint64_t base_of(const struct door *door, uint64_t first, uint64_t stride,
                        enum mhcs_dtype dtype, unsigned entry)
{
    switch (door->layout) {
    case STRIDED:
        return first + entry * stride * mhcs_dtype_size(dtype);
    case POINTERS:
        return first + 8 * entry;
    case GROUPED:
        return first + 8 * (OTHERS + entry);
    default:
        return first;
    }
}

static void check_operand(const struct mhcs_operand *operand, const struct door *door,
                          uint64_t base, int64_t row, enum mhcs_dtype dtype)
{
    assert_int_equal(operand->base, base);
    assert_int_equal(operand->row, row);
    assert_int_equal(operand->col, 1);
    assert_int_equal(operand->dtype, dtype);
    assert_int_equal(operand->indirect, door->layout == POINTERS || door->layout == GROUPED);
}

static void every_door_describes_the_same_gemm(void **state)
{
    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        const struct door *const door = door_of(hook);
        struct fake_shadow shadow = {0};
        struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
        uint64_t words[FAKE_WORDS];

        words_of((enum mhcs_hook)hook, words, &handle, MIXING);
        assert_int_equal(caller_call((enum mhcs_hook)hook, words), CUBLAS_STATUS_SUCCESS);
        assert_int_equal(shadow.before, gemms_of((enum mhcs_hook)hook));
        for (unsigned i = 0; i < shadow.before; i++) {
            const struct mhcs_gemm *const g = &shadow.entries[i];
            const uint64_t d = door->layout == LT ? D_ADDRESS : C_ADDRESS;

            check_operand(&g->fn, door, base_of(door, FN_ADDRESS, FN_STRIDE, door->in, i),
                          MIXING.k + 8, door->in);
            check_operand(&g->x, door, base_of(door, X_ADDRESS, X_STRIDE, door->in, i),
                          MIXING.k + 16, door->in);
            check_operand(&g->c, door, base_of(door, d, C_STRIDE, door->out, i),
                          door->layout == LT ? 26 : 25, door->out);
            check_operand(&g->old_c, door, base_of(door, C_ADDRESS, C_STRIDE, door->out, i), 25,
                          door->out);
            assert_int_equal(g->tokens, MIXING.n);
            assert_int_equal(g->coefficients, 24);
            assert_int_equal(g->k, MIXING.k);
            assert_int_equal(g->scalar_dtype, door->scalars);
            assert_float_equal(*(const float *)g->alpha, 1, 0);
            assert_float_equal(*(const float *)g->beta, 0, 0);
            assert_false(g->scalars_on_device);
            assert_int_equal(g->compute, door->compute);
            assert_ptr_equal(g->stream, &shadow);
            assert_int_equal(g->cublas->version, 130100);
            assert_non_null(strstr(g->cublas->path,
                                   door->layout == LT ? "/libcublasLt.so.13" : "/libcublas.so.13"));
        }
    }
}

/* Counters before and after what `run` does, at its last sample. */
struct count {
    uint64_t seen, matched, dropped, failed;
};

static struct count counters_now(void)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    return (struct count){shadow.counters[MHCS_SEEN] - 1, shadow.counters[MHCS_MATCHED] - 1,
                          shadow.counters[MHCS_DROPPED], shadow.counters[MHCS_FAILED]};
}

static void assert_counted(struct count before, struct count expected)
{
    const struct count after = counters_now();

    /* counters_now() itself made a call. */
    assert_int_equal(after.seen - before.seen - 1, expected.seen);
    assert_int_equal(after.matched - before.matched - 1, expected.matched);
    assert_int_equal(after.dropped - before.dropped, expected.dropped);
    assert_int_equal(after.failed - before.failed, expected.failed);
}

static void a_batch_counts_as_many_as_it_has_entries(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    uint64_t words[FAKE_WORDS];

    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        const unsigned gemms = gemms_of((enum mhcs_hook)hook);
        struct count before = counters_now();

        words_of((enum mhcs_hook)hook, words, &handle, MIXING);
        caller_call((enum mhcs_hook)hook, words);
        assert_counted(before, (struct count){gemms, gemms, 0, 0});
        before = counters_now();
        words_of((enum mhcs_hook)hook, words, &handle, ORDINARY);
        caller_call((enum mhcs_hook)hook, words);
        assert_counted(before, (struct count){1, 0, 0, 0});
    }
}

/* The words of a strided batch of `count` entries; its count is the word before compute and algo.
 */
static void strided_words(uint64_t *words, struct fake_handle *handle, int64_t count)
{
    words_of(MHCS_HOOK_cublasGemmStridedBatchedEx_64, words, handle, MIXING);
    words[FAKE_WORDS - 3] = (uint64_t)count;
}

static void entries_beyond_what_one_call_samples_are_dropped(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    const struct count before = counters_now();
    uint64_t words[FAKE_WORDS];

    strided_words(words, &handle, 100);
    caller_call(MHCS_HOOK_cublasGemmStridedBatchedEx_64, words);
    assert_arrived(&handle, MHCS_HOOK_cublasGemmStridedBatchedEx_64, 13, words);
    assert_int_equal(shadow.before, 8);
    assert_int_equal(shadow.after, 8);
    assert_counted(before, (struct count){100, 100, 92, 0});
}

static void a_batch_too_long_to_follow_is_counted_as_failed(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    const struct count before = counters_now();
    uint64_t words[FAKE_WORDS];

    strided_words(words, &handle, INT64_C(1) << 40);
    caller_call(MHCS_HOOK_cublasGemmStridedBatchedEx_64, words);
    assert_int_equal(shadow.before, 0);
    assert_counted(before,
                   (struct count){UINT64_C(1) << 40, UINT64_C(1) << 40, 0, UINT64_C(1) << 40});
}

static void an_empty_batch_is_an_ordinary_call(void **state)
{
    struct fake_handle handle = {0};
    const struct count before = counters_now();
    uint64_t words[FAKE_WORDS];

    for (int64_t count = -1; count <= 0; count++) {
        strided_words(words, &handle, count);
        caller_call(MHCS_HOOK_cublasGemmStridedBatchedEx_64, words);
    }
    assert_counted(before, (struct count){2, 0, 0, 0});
}

static void entries_with_weights_in_common_are_one_site(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasGemmStridedBatchedEx, words, &handle, MIXING);
    words[10] = 0; /* stride of A */
    caller_call(MHCS_HOOK_cublasGemmStridedBatchedEx, words);
    assert_int_equal(shadow.before, ENTRIES);
    for (int i = 0; i < ENTRIES; i++) {
        assert_int_equal(shadow.entries[i].fn.base, FN_ADDRESS);
        assert_int_equal(shadow.entries[i].x.base, X_ADDRESS + i * X_STRIDE * 2);
        assert_int_equal(shadow.entries[i].weight_order, shadow.entries[0].weight_order);
    }
}

static void groups_without_arrays_are_left_to_cublas(void **state)
{
    for (int hook = MHCS_HOOK_cublasGemmGroupedBatchedEx;
         hook <= MHCS_HOOK_cublasSgemmGroupedBatched_64; hook++) {
        for (size_t missing = 1; missing < FAKE_WORDS; missing++) {
            struct fake_shadow shadow = {0};
            struct fake_handle handle = {.stream = (cudaStream_t)&shadow,
                                         .answer = CUBLAS_STATUS_INVALID_VALUE};
            uint64_t words[FAKE_WORDS];

            words_of((enum mhcs_hook)hook, words, &handle, MIXING);
            words[missing] = 0;
            assert_int_equal(caller_call((enum mhcs_hook)hook, words), CUBLAS_STATUS_INVALID_VALUE);
            assert_arrived(&handle, (enum mhcs_hook)hook, 13, words);
        }
    }
}

/* NVIDIA's libcublas calls cublasLtMatmul through the PLT, for a GEMM that was seen when it came.
 */
static void what_cublas_asks_of_cublaslt_is_not_a_gemm_of_the_application(void **state)
{
    static const struct shape *const shapes[] = {&MIXING, &ORDINARY};

    for (int i = 0; i < 2; i++) {
        struct fake_shadow shadow = {0};
        struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
        const struct count before = counters_now();
        uint64_t words[FAKE_WORDS];

        words_of(MHCS_HOOK_cublasLtMatmul, words, &handle, *shapes[i]);
        assert_int_equal(fakecublas_calls_lt(words), CUBLAS_STATUS_SUCCESS);
        assert_arrived(&handle, MHCS_HOOK_cublasLtMatmul, 13, words);
        assert_int_equal(shadow.before, 0);
        assert_counted(before, (struct count){0, 0, 0, 0});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_door_describes_the_same_gemm),
        cmocka_unit_test(a_batch_counts_as_many_as_it_has_entries),
        cmocka_unit_test(entries_beyond_what_one_call_samples_are_dropped),
        cmocka_unit_test(a_batch_too_long_to_follow_is_counted_as_failed),
        cmocka_unit_test(an_empty_batch_is_an_ordinary_call),
        cmocka_unit_test(entries_with_weights_in_common_are_one_site),
        cmocka_unit_test(groups_without_arrays_are_left_to_cublas),
        cmocka_unit_test(what_cublas_asks_of_cublaslt_is_not_a_gemm_of_the_application),
    };

    setenv("MHCSHADOW_SAMPLE", "all", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
