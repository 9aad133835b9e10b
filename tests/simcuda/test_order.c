/* SPDX-License-Identifier: Apache-2.0 */
/* What orders two operations and what doesn't, and that waiting and polling end. Run once for each
 * order (SIMCUDA_ORDER): what must hold in every order is checked in every order.
 */
#include <time.h>

#include "engine_fixture.h"

static bool order_is(const char *name)
{
    const char *order = getenv("SIMCUDA_ORDER");

    return strncmp(order ? order : "lazy", name, strlen(name)) == 0;
}

static void a_stream_runs_in_order(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    affine(f->a, f->x, 10, 3);
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 123);
}

static void nothing_runs_in_lazy_order_until_the_host_waits(void **state)
{
    struct fixture *f = *state;

    if (!order_is("lazy"))
        skip();
    affine(f->a, f->x, 10, 2);
    affine(f->b, f->x + 4 * WORDS, 1, 0); /* out of bounds, but nobody waits for it */
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 12);
    assert_int_equal(cuStreamSynchronize(f->b), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void an_event_orders_two_streams(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    affine(f->a, f->x, 10, 2);
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0));
    affine(f->b, f->x, 10, 3);
    OK(cuStreamSynchronize(f->b));
    assert_int_equal(first_word(f), 123);
    assert_int_equal(simcuda_fault_count(), faults);
    OK(cuEventDestroy(event));
}

static void a_missing_wait_is_a_race(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();

    affine(f->a, f->x, 10, 2);
    affine(f->b, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
    assert_int_equal(simcuda_fault_count(), faults + 1);
}

static void an_event_recorded_too_early_orders_nothing(void **state)
{
    struct fixture *f = *state;
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, f->a));
    affine(f->a, f->x, 10, 2);
    cuStreamWaitEvent(f->b, event, 0);
    affine(f->b, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void waiting_on_the_host_orders_two_streams(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    OK(cuStreamSynchronize(f->a));
    affine(f->b, f->x, 10, 3);
    OK(cuCtxSynchronize());
    assert_int_equal(first_word(f), 123);
}

static void polling_an_event_comes_to_an_end_and_orders(void **state)
{
    struct fixture *f = *state;
    const time_t deadline = time(NULL) + 30;
    unsigned not_ready = 0;
    CUevent event;
    CUresult r;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    assert_int_equal(cuEventQuery(event), CUDA_SUCCESS); /* never recorded */
    for (int i = 0; i < 10; i++)
        affine(f->a, f->x, 1, 1);
    OK(cuEventRecord(event, f->a));
    while ((r = cuEventQuery(event)) == CUDA_ERROR_NOT_READY) {
        not_ready++;
        assert_true(time(NULL) < deadline);
    }
    OK(r);
    if (order_is("lazy"))
        assert_int_equal(not_ready, 10); /* one operation for each query */
    if (order_is("eager"))
        assert_int_equal(not_ready, 0);
    affine(f->b, f->x, 10, 3);
    OK(cuStreamSynchronize(f->b));
    assert_int_equal(first_word(f), 113);
}

static void polling_a_stream_comes_to_an_end(void **state)
{
    struct fixture *f = *state;
    const time_t deadline = time(NULL) + 30;
    CUresult r;

    for (int i = 0; i < 10; i++)
        affine(f->a, f->x, 1, 1);
    while ((r = cuStreamQuery(f->a)) == CUDA_ERROR_NOT_READY)
        assert_true(time(NULL) < deadline);
    OK(r);
    assert_int_equal(first_word(f), 11);
}

static void two_blocking_streams_are_not_ordered_without_the_legacy_stream(void **state)
{
    struct fixture *f = *state;
    CUstream one, two;

    OK(cuStreamCreate(&one, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&two, CU_STREAM_DEFAULT));
    affine(NULL, f->x, 10, 2);
    affine(one, f->x, 10, 3);
    affine(two, f->x, 10, 4);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void the_legacy_stream_orders_blocking_streams(void **state)
{
    struct fixture *f = *state;
    CUstream one, two;

    OK(cuStreamCreate(&one, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&two, CU_STREAM_DEFAULT));
    affine(one, f->x, 10, 2);
    affine(NULL, f->x, 10, 3);
    affine(two, f->x, 10, 4);
    OK(cuStreamSynchronize(two));
    assert_int_equal(first_word(f), 1234);
}

static void the_legacy_stream_does_not_order_a_non_blocking_stream(void **state)
{
    struct fixture *f = *state;

    affine(NULL, f->x, 10, 2);
    affine(f->a, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void a_non_blocking_stream_does_not_order_the_legacy_stream(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    affine(NULL, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void the_threads_own_default_stream_is_a_blocking_one(void **state)
{
    struct fixture *f = *state;

    affine(NULL, f->x, 10, 2);
    affine(CU_STREAM_PER_THREAD, f->x, 10, 3);
    affine(NULL, f->x, 10, 4);
    assert_int_equal(first_word(f), 1234);
}

static void a_destroyed_stream_still_does_its_work(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    OK(cuStreamDestroy(f->a));
    assert_int_equal(cuStreamSynchronize(f->a), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSynchronize());
    affine(f->b, f->x, 10, 3);
    OK(cuStreamSynchronize(f->b));
    assert_int_equal(first_word(f), 123);
}

static void streams_can_be_made_again_and_again(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3 * SIM_CLOCKS_MAX; i++) {
        CUstream s;

        OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
        affine(s, f->x, 1, 1);
        OK(cuStreamSynchronize(s));
        OK(cuStreamDestroy(s));
    }
    assert_int_equal(first_word(f), 1 + 3 * SIM_CLOCKS_MAX);
}

static void long_chains_between_streams_end(void **state)
{
    struct fixture *f = *state;
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 2000; i++) {
        CUstream from = i % 2 ? f->a : f->b, to = i % 2 ? f->b : f->a;

        affine(from, f->x, 1, 1);
        OK(cuEventRecord(event, from));
        OK(cuStreamWaitEvent(to, event, 0));
    }
    OK(cuEventSynchronize(event));
    assert_int_equal(first_word(f), 2001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_stream_runs_in_order),
        TEST(nothing_runs_in_lazy_order_until_the_host_waits),
        TEST(an_event_orders_two_streams),
        TEST(a_missing_wait_is_a_race),
        TEST(an_event_recorded_too_early_orders_nothing),
        TEST(waiting_on_the_host_orders_two_streams),
        TEST(polling_an_event_comes_to_an_end_and_orders),
        TEST(polling_a_stream_comes_to_an_end),
        TEST(two_blocking_streams_are_not_ordered_without_the_legacy_stream),
        TEST(the_legacy_stream_orders_blocking_streams),
        TEST(the_legacy_stream_does_not_order_a_non_blocking_stream),
        TEST(a_non_blocking_stream_does_not_order_the_legacy_stream),
        TEST(the_threads_own_default_stream_is_a_blocking_one),
        TEST(a_destroyed_stream_still_does_its_work),
        TEST(streams_can_be_made_again_and_again),
        TEST(long_chains_between_streams_end),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
