/* SPDX-License-Identifier: Apache-2.0 */
/* A program linked with cuBLAS, under the preloaded hooks: what the application gets, and what the
 * shadow is given. Run under LD_PRELOAD of the hooks with the shadow's double. */
#include "words.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* First: the environment must not have been read before the first mixing GEMM. */
static void variables_set_after_start_count_and_a_bad_handle_spoils_nothing(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    struct fake_handle mute = {.getter_answer = CUBLAS_STATUS_NOT_INITIALIZED};
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, ORDINARY);
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    assert_int_equal(setenv("MHCSHADOW_SAMPLE", "all", 1), 0);
    words_of(MHCS_HOOK_cublasGemmEx, words, &mute, MIXING);
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    assert_int_equal(shadow.before, 1);
    assert_int_equal(shadow.gemm.cublas->version, 130100);
}

static void every_argument_and_status_passes_unchanged(void **state)
{
    static const cublasStatus_t answers[] = {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_INVALID_VALUE,
                                             CUBLAS_STATUS_EXECUTION_FAILED, (cublasStatus_t)77};
    static const struct shape shapes[] = {{24, 300, 16384}, {300, 4, 28672}, {4096, 300, 16384},
                                          {24, 300, 4096},  {24, 0, 16384},  {-1, -1, -1}};

    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]) * 4; i++) {
            struct fake_shadow shadow = {0};
            struct fake_handle handle = {.stream = (cudaStream_t)&shadow, .answer = answers[i % 4]};
            const unsigned gemms = i / 4 < 2 ? gemms_of((enum mhcs_hook)hook) : 0;
            uint64_t words[FAKE_WORDS];

            words_of((enum mhcs_hook)hook, words, &handle, shapes[i / 4]);
            assert_int_equal(caller_call((enum mhcs_hook)hook, words), answers[i % 4]);
            assert_arrived(&handle, (enum mhcs_hook)hook, 13, words);
            assert_int_equal(shadow.before, gemms);
            assert_int_equal(shadow.after, gemms);
            assert_int_equal(shadow.launched, i / 4 < 2 && i % 4 == 0);
        }
    }
}

static void errno_is_the_applications(void **state)
{
    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        struct fake_shadow shadow = {0};
        struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
        uint64_t words[FAKE_WORDS];

        words_of((enum mhcs_hook)hook, words, &handle, MIXING);
        errno = EDOM;
        caller_call((enum mhcs_hook)hook, words);
        assert_int_equal(handle.errno_at_entry, EDOM);
        assert_int_equal(errno, EDOM);
        handle.set_errno = ERANGE;
        caller_call((enum mhcs_hook)hook, words);
        assert_int_equal(errno, ERANGE);
    }
}

static void the_shadow_gets_the_whole_gemm(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow,
                                 .pointer_mode = CUBLAS_POINTER_MODE_DEVICE,
                                 .math_mode = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION};
    const struct mhcs_gemm *const g = &shadow.gemm;
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasGemmEx_64, words, &handle, MIXING);
    caller_call(MHCS_HOOK_cublasGemmEx_64, words);
    assert_int_equal(g->fn.base, 0x7f0000001000);
    assert_int_equal(g->fn.row, 16384 + 8);
    assert_int_equal(g->fn.col, 1);
    assert_int_equal(g->fn.dtype, MHCS_BF16);
    assert_int_equal(g->x.base, 0x7f0000002000);
    assert_int_equal(g->x.row, 16384 + 16);
    assert_int_equal(g->x.col, 1);
    assert_int_equal(g->x.dtype, MHCS_BF16);
    assert_int_equal(g->c.base, 0x7f0000003000);
    assert_int_equal(g->c.row, 25);
    assert_int_equal(g->c.col, 1);
    assert_int_equal(g->c.dtype, MHCS_F32);
    assert_int_equal(g->tokens, 300);
    assert_int_equal(g->k, 16384);
    assert_int_equal(g->coefficients, 24);
    assert_int_equal(g->alpha, words[6]);
    assert_int_equal(g->beta, words[13]);
    assert_int_equal(g->scalar_dtype, MHCS_F32);
    assert_true(g->scalars_on_device);
    assert_false(g->reduced_precision_reduction);
    assert_int_equal(g->compute, MHCS_COMPUTE_F32);
    assert_ptr_equal(g->stream, &shadow);
    assert_int_equal(g->cublas->version, 130100);
    assert_non_null(strstr(g->cublas->path, "/libcublas.so.13"));
}

static void sgemm_declares_what_the_math_mode_says(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow,
                                 .math_mode = CUBLAS_TF32_TENSOR_OP_MATH};
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasSgemm_v2, words, &handle, MIXING);
    caller_call(MHCS_HOOK_cublasSgemm_v2, words);
    assert_int_equal(shadow.gemm.fn.dtype, MHCS_F32);
    assert_int_equal(shadow.gemm.x.dtype, MHCS_F32);
    assert_int_equal(shadow.gemm.c.dtype, MHCS_F32);
    assert_int_equal(shadow.gemm.compute, MHCS_COMPUTE_TF32);
    assert_true(shadow.gemm.reduced_precision_reduction);
    assert_false(shadow.gemm.scalars_on_device);
    assert_int_equal(shadow.gemm.x.row, 16384 + 16);
    handle.math_mode = CUBLAS_DEFAULT_MATH;
    caller_call(MHCS_HOOK_cublasSgemm_v2, words);
    assert_int_equal(shadow.gemm.compute, MHCS_COMPUTE_F32);
}

static void a_refused_sample_is_not_followed_up(void **state)
{
    struct fake_shadow shadow = {.refuse = true};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    assert_int_equal(caller_call(MHCS_HOOK_cublasGemmEx, words), CUBLAS_STATUS_SUCCESS);
    assert_arrived(&handle, MHCS_HOOK_cublasGemmEx, 13, words);
    assert_int_equal(shadow.before, 1);
    assert_int_equal(shadow.after, 0);
}

static void what_can_not_be_followed_is_counted_and_passed_on(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    struct fake_handle mute = {.getter_answer = CUBLAS_STATUS_NOT_INITIALIZED};
    uint64_t words[FAKE_WORDS], counters[MHCS_COUNTERS];

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    memcpy(counters, shadow.counters, sizeof(counters));

    handle.calls = 0;
    words[8] = words[11] = CUDA_C_32F;
    assert_int_equal(caller_call(MHCS_HOOK_cublasGemmEx, words), CUBLAS_STATUS_SUCCESS);
    assert_arrived(&handle, MHCS_HOOK_cublasGemmEx, 13, words);
    assert_int_equal(shadow.before, 1);

    words_of(MHCS_HOOK_cublasGemmEx, words, &mute, MIXING);
    assert_int_equal(caller_call(MHCS_HOOK_cublasGemmEx, words), CUBLAS_STATUS_SUCCESS);
    assert_arrived(&mute, MHCS_HOOK_cublasGemmEx, 13, words);

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    assert_int_equal(shadow.before, 2);
    assert_int_equal(shadow.counters[MHCS_SEEN], counters[MHCS_SEEN] + 3);
    assert_int_equal(shadow.counters[MHCS_MATCHED], counters[MHCS_MATCHED] + 3);
    assert_int_equal(shadow.counters[MHCS_FAILED], counters[MHCS_FAILED] + 2);
}

static void call_again(void *arg)
{
    caller_call(MHCS_HOOK_cublasSgemm_v2, arg);
}

static void a_gemm_within_a_gemm_is_taken_once(void **state)
{
    struct fake_shadow shadow = {0}, inner_shadow = {0};
    struct fake_handle inner = {.stream = (cudaStream_t)&inner_shadow};
    uint64_t words[FAKE_WORDS], inner_words[FAKE_WORDS];
    struct fake_handle handle = {
        .stream = (cudaStream_t)&shadow, .within = call_again, .arg = inner_words};

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    words_of(MHCS_HOOK_cublasSgemm_v2, inner_words, &inner, MIXING);
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    assert_arrived(&inner, MHCS_HOOK_cublasSgemm_v2, 13, inner_words);
    assert_int_equal(shadow.before, 1);
    assert_int_equal(shadow.after, 1);
    assert_int_equal(inner_shadow.before, 0);

    caller_call(MHCS_HOOK_cublasSgemm_v2, inner_words);
    assert_int_equal(inner_shadow.before, 1);
}

static void sites_are_numbered_by_the_address_of_fn(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
    uint64_t words[FAKE_WORDS];
    int32_t first;

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    words[7] = 0x7f00aaaa0000;
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    first = shadow.gemm.weight_order;
    words[7] = 0x7f00bbbb0000;
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    assert_int_equal(shadow.gemm.weight_order, first + 1);
    words[7] = 0x7f00aaaa0000;
    words[10] = 0x7f00cccc0000; /* x moves with every call */
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    assert_int_equal(shadow.gemm.weight_order, first);
}

#define THREADS 8
#define ROUNDS  100 /* an ordinary and a mixing call of each hook */

static void *call_often(void *arg)
{
    struct fake_shadow *const shadow = arg;
    struct fake_handle handle = {.stream = (cudaStream_t)shadow};
    uint64_t words[FAKE_WORDS];

    for (int i = 0; i < ROUNDS * MHCS_HOOK_COUNT * 2; i++) {
        const enum mhcs_hook hook = (enum mhcs_hook)(i / 2 % MHCS_HOOK_COUNT);

        words_of(hook, words, &handle, i % 2 ? MIXING : ORDINARY);
        caller_call(hook, words);
    }
    return (void *)(uintptr_t)handle.calls;
}

static void threads_do_not_disturb_each_other_and_all_calls_are_counted(void **state)
{
    struct fake_shadow shadows[THREADS] = {0}, last = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&last};
    uint64_t words[FAKE_WORDS], before[MHCS_COUNTERS];
    pthread_t threads[THREADS];
    unsigned mixing = 0;

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    memcpy(before, last.counters, sizeof(before));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &shadows[i]), 0);
    }
    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        mixing += ROUNDS * gemms_of((enum mhcs_hook)hook);
    }
    for (int i = 0; i < THREADS; i++) {
        void *calls;

        pthread_join(threads[i], &calls);
        assert_int_equal((uintptr_t)calls, 2 * ROUNDS * MHCS_HOOK_COUNT);
        assert_int_equal(shadows[i].before, mixing);
        assert_int_equal(shadows[i].after, mixing);
    }
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    assert_int_equal(last.counters[MHCS_MATCHED] - before[MHCS_MATCHED], THREADS * mixing + 1);
    assert_int_equal(last.counters[MHCS_SEEN] - before[MHCS_SEEN],
                     THREADS * (mixing + ROUNDS * MHCS_HOOK_COUNT) + 1);
}

static jmp_buf landing;

static void jump_out(void *arg)
{
    longjmp(landing, 1);
}

static void a_call_left_by_a_jump_does_not_blind_its_thread(void **state)
{
    struct fake_shadow shadow = {0};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow, .within = jump_out};
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
    if (setjmp(landing) == 0) {
        caller_call(MHCS_HOOK_cublasGemmEx, words);
        fail_msg("the call came back");
    }
    assert_int_equal(shadow.before, 1);
    assert_int_equal(shadow.forgotten, 0);
    handle.within = NULL;
    caller_call(MHCS_HOOK_cublasGemmEx, words);
    assert_int_equal(shadow.before, 2);
    assert_int_equal(shadow.after, 1);
    assert_int_equal(shadow.forgotten, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_set_after_start_count_and_a_bad_handle_spoils_nothing),
        cmocka_unit_test(every_argument_and_status_passes_unchanged),
        cmocka_unit_test(errno_is_the_applications),
        cmocka_unit_test(the_shadow_gets_the_whole_gemm),
        cmocka_unit_test(sgemm_declares_what_the_math_mode_says),
        cmocka_unit_test(a_refused_sample_is_not_followed_up),
        cmocka_unit_test(what_can_not_be_followed_is_counted_and_passed_on),
        cmocka_unit_test(a_gemm_within_a_gemm_is_taken_once),
        cmocka_unit_test(sites_are_numbered_by_the_address_of_fn),
        cmocka_unit_test(a_call_left_by_a_jump_does_not_blind_its_thread),
        cmocka_unit_test(threads_do_not_disturb_each_other_and_all_calls_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
