/* SPDX-License-Identifier: Apache-2.0 */
/* A program linked with a CUDA runtime and cuBLAS, under the preloaded hooks: what of its graphs
 * reaches the runtime, and what the shadow is told. Run under LD_PRELOAD of the hooks with the
 * shadow's double. The cases build on each other: what a process has done decides what is looked
 * at.
 */
#include "words.h"

#include <errno.h>

#include "fakecudart.h"

#define CALL(name, ...)                                                                            \
    runtime_call(MHCS_GRAPH_HOOK_##name, (const uintptr_t[FAKE_RUNTIME_WORDS]){__VA_ARGS__})

static const char *const graph_hook_names[] = {
#define HOOK(name, family, stream0) #name,
    MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK
};

static const size_t parameters[] = {
#define ONE(type, name)             1
#define PLUS()                      +
#define HOOK(name, family, stream0) MHCS_GRAPH_FAMILY_##family(ONE, PLUS),
    MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK
};

/* A call of each function with `first` and `second` for handles. */
static void check_passing(uintptr_t first, uintptr_t second)
{
    struct fake_runtime *const runtime = runtime_state();

    for (int hook = 0; hook < MHCS_GRAPH_HOOK_COUNT; hook++) {
        const uintptr_t words[FAKE_RUNTIME_WORDS] = {first, second, 0x303, 0x404, 0x505};
        const unsigned calls = runtime->calls;

        runtime->answer = cudaErrorNotSupported;
        runtime->set_errno = ERANGE;
        errno = EDOM;
        assert_int_equal(runtime_call((enum mhcs_graph_hook)hook, words), cudaErrorNotSupported);
        assert_int_equal(errno, ERANGE);
        assert_int_equal(runtime->errno_at_entry, EDOM);
        assert_int_equal(runtime->calls, calls + 1);
        assert_string_equal(runtime->function, graph_hook_names[hook]);
        assert_memory_equal(runtime->words, words, parameters[hook] * sizeof(words[0]));
    }
    runtime->answer = cudaSuccess;
    runtime->set_errno = 0;
}

/* The handles are no addresses: nobody may look at them. */
static void without_a_mixing_gemm_everything_passes_unseen(void **state)
{
    check_passing(0x101, 0x202);
}

static void mixing_gemm(struct fake_shadow *shadow)
{
    struct fake_handle handle = {.stream = (cudaStream_t)shadow};
    uint64_t words[FAKE_WORDS];

    words_of(MHCS_HOOK_cublasSgemm_v2, words, &handle, MIXING);
    caller_call(MHCS_HOOK_cublasSgemm_v2, words);
}

static void a_capture_is_seen_from_the_first_mixing_gemm_on(void **state)
{
    struct fake_graphs stream = {0};
    struct fake_shadow eager = {0};

    mixing_gemm(&eager);
    CALL(cudaStreamBeginCapture, (uintptr_t)&stream, cudaStreamCaptureModeGlobal);
    assert_int_equal(stream.begins, 1);
    assert_int_equal(stream.began, 1);
    assert_ptr_equal(stream.stream, &stream);
    CALL(cudaStreamEndCapture, (uintptr_t)&stream, 0);
    assert_int_equal(stream.ended, 1);
}

static void a_capture_that_does_not_begin_is_not_one(void **state)
{
    struct fake_graphs stream = {0};

    runtime_state()->answer = cudaErrorIllegalState;
    CALL(cudaStreamBeginCapture, (uintptr_t)&stream, cudaStreamCaptureModeGlobal);
    assert_int_equal(stream.began, 0);
    runtime_state()->answer = cudaSuccess;
}

/* All but sampling has been on since the first mixing GEMM: 1 in 64 of ordinary calls. */
static void each_captured_gemm_is_taken_and_an_ordinary_one_only_if_due(void **state)
{
    struct fake_graphs stream = {0};
    struct fake_shadow captured = {.captured = true}, eager = {0};

    CALL(cudaStreamBeginCapture, (uintptr_t)&stream, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < 128; i++) {
        mixing_gemm(&captured);
        mixing_gemm(&eager);
    }
    CALL(cudaStreamEndCapture, (uintptr_t)&stream, 0);
    assert_int_equal(captured.before, 128);
    assert_int_equal(captured.after, 128);
    assert_in_range(eager.before, 1, 3);
    mixing_gemm(&captured); /* no longer: nothing is captured any more */
    assert_in_range(captured.before, 128, 129);
}

static void a_captured_gemm_that_is_declined_has_no_second_half(void **state)
{
    struct fake_graphs stream = {0};
    struct fake_shadow declined = {.captured = true, .refuse = true};

    CALL(cudaStreamBeginCapture, (uintptr_t)&stream, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < 128; i++) {
        mixing_gemm(&declined);
    }
    CALL(cudaStreamEndCapture, (uintptr_t)&stream, 0);
    assert_int_equal(declined.before, 0);
    assert_int_equal(declined.after, 0);
}

static void instantiate(enum mhcs_graph_hook hook, struct fake_graphs *graph)
{
    cudaGraphExec_t exec = (cudaGraphExec_t)graph;

    runtime_call(hook, (const uintptr_t[FAKE_RUNTIME_WORDS]){(uintptr_t)&exec, (uintptr_t)graph});
}

static void a_graph_is_followed_through_every_way_to_instantiate_it(void **state)
{
    static const enum mhcs_graph_hook ways[] = {
        MHCS_GRAPH_HOOK_cudaGraphInstantiate, MHCS_GRAPH_HOOK_cudaGraphInstantiateWithFlags,
        MHCS_GRAPH_HOOK_cudaGraphInstantiateWithParams,
        MHCS_GRAPH_HOOK_cudaGraphInstantiateWithParams_ptsz};

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct fake_graphs graph = {0};

        instantiate(ways[i], &graph);
        assert_int_equal(graph.instantiated, 1);
        assert_ptr_equal(graph.exec, &graph);
        CALL(cudaGraphExecUpdate, (uintptr_t)&graph, (uintptr_t)&graph);
        assert_int_equal(graph.updated, 1);
        CALL(cudaGraphExecDestroy, (uintptr_t)&graph);
        assert_int_equal(graph.exec_destroyed, 1);
    }
}

static void stream_0_is_the_drivers_legacy_or_per_thread_stream(void **state)
{
    struct fake_graphs graph = {0};

    instantiate(MHCS_GRAPH_HOOK_cudaGraphInstantiate, &graph);
    CALL(cudaGraphLaunch, (uintptr_t)&graph, 0x7000);
    assert_ptr_equal(graph.stream, 0x7000);
    CALL(cudaGraphLaunch, (uintptr_t)&graph, 0);
    assert_ptr_equal(graph.stream, cudaStreamLegacy);
    assert_int_equal(runtime_state()->words[1], 0);
    CALL(cudaGraphLaunch_ptsz, (uintptr_t)&graph, 0);
    assert_ptr_equal(graph.stream, cudaStreamPerThread);
    assert_int_equal(runtime_state()->words[1], 0);
    assert_int_equal(graph.before, 3);
    assert_int_equal(graph.after, 3);
    assert_true(graph.launched);
    runtime_state()->answer = cudaErrorLaunchFailure;
    assert_int_equal(CALL(cudaGraphLaunch, (uintptr_t)&graph, 0), cudaErrorLaunchFailure);
    assert_false(graph.launched);
    runtime_state()->answer = cudaSuccess;
    CALL(cudaGraphExecDestroy, (uintptr_t)&graph);
}

static void a_graph_that_is_needed_is_destroyed_with_its_executable_graph(void **state)
{
    struct fake_graphs graph = {.keep = true};
    unsigned calls;

    instantiate(MHCS_GRAPH_HOOK_cudaGraphInstantiateWithFlags, &graph);
    calls = runtime_state()->calls;
    assert_int_equal(CALL(cudaGraphDestroy, (uintptr_t)&graph), cudaSuccess);
    assert_int_equal(runtime_state()->calls, calls);
    CALL(cudaGraphExecDestroy, (uintptr_t)&graph);
    assert_int_equal(runtime_state()->calls, calls + 2);
    assert_string_equal(runtime_state()->function, "cudaGraphDestroy");
    assert_int_equal(runtime_state()->words[0], (uintptr_t)&graph);
}

static void with_nothing_under_way_everything_passes_unseen_again(void **state)
{
    struct fake_graphs unused = {0};

    check_passing((uintptr_t)&unused, 0x202);
    assert_int_equal(unused.before + unused.instantiated + unused.updated + unused.ended, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_mixing_gemm_everything_passes_unseen),
        cmocka_unit_test(a_capture_is_seen_from_the_first_mixing_gemm_on),
        cmocka_unit_test(a_capture_that_does_not_begin_is_not_one),
        cmocka_unit_test(each_captured_gemm_is_taken_and_an_ordinary_one_only_if_due),
        cmocka_unit_test(a_captured_gemm_that_is_declined_has_no_second_half),
        cmocka_unit_test(a_graph_is_followed_through_every_way_to_instantiate_it),
        cmocka_unit_test(stream_0_is_the_drivers_legacy_or_per_thread_stream),
        cmocka_unit_test(a_graph_that_is_needed_is_destroyed_with_its_executable_graph),
        cmocka_unit_test(with_nothing_under_way_everything_passes_unseen_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
