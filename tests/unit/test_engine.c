/* SPDX-License-Identifier: Apache-2.0 */
/* The table of engines: entries come, are held, and go to another context. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "shadow/engine.h"

static struct mhcs_engine *claim(uint64_t key)
{
    struct mhcs_engine *engine = NULL;

    assert_int_equal(mhcs_engine_claim(key, &engine), 0);
    return engine;
}

static void end(struct mhcs_engine *engine)
{
    atomic_store(&engine->state, MHCS_ENGINE_DISARMED);
    assert_true(mhcs_engine_retire(engine));
}

static void an_entry_is_found_by_its_key_until_it_is_given_back(void **state)
{
    struct mhcs_engine *const a = claim(7), *const b = claim(9), *c = NULL;

    mhcs_engine_let_go(a);
    mhcs_engine_let_go(b);
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(mhcs_engine_hold(9), b);
    mhcs_engine_let_go(b);
    assert_null(mhcs_engine_hold(8));
    assert_int_equal(mhcs_engine_claim(9, &c), -EAGAIN); /* has one */
    end(a);
    assert_null(mhcs_engine_hold(7));
    assert_ptr_equal(mhcs_engine_hold(9), b);
    mhcs_engine_let_go(b);
    end(b);
}

static void an_entry_that_is_held_is_not_given_back(void **state)
{
    struct mhcs_engine *const engine = claim(7);

    atomic_store(&engine->state, MHCS_ENGINE_DISARMED);
    engine->sm_count = 132;
    assert_false(mhcs_engine_retire(engine));
    assert_null(mhcs_engine_hold(7)); /* for nobody new */
    assert_int_equal(engine->sm_count, 132);
    mhcs_engine_let_go(engine);
    assert_true(mhcs_engine_retire(engine));
    assert_int_equal(engine->sm_count, 0);
}

static void a_full_table_refuses_and_an_entry_given_back_serves_again(void **state)
{
    struct mhcs_engine *engines[MHCS_ENGINES_MAX], *more = NULL;

    for (uint64_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        engines[i] = claim(i + 1);
        mhcs_engine_let_go(engines[i]);
    }
    assert_int_equal(mhcs_engine_claim(100, &more), -ENOSPC);
    end(engines[5]);
    assert_int_equal(mhcs_engine_claim(100, &more), 0);
    assert_ptr_equal(more, engines[5]);
    mhcs_engine_let_go(more);
    for (int i = 0; i < MHCS_ENGINES_MAX; i++) {
        end(engines[i]);
    }
}

#define THREADS  4
#define CONTEXTS 20000

static atomic_uint_fast64_t current; /* key of the context that lives; 0: all are over */

/* `sm_count` stands for all that is plain in an engine: the table must order its writers after
 * those who hold it. TSan looks at that. */
static void *use(void *arg)
{
    uint64_t key;

    while ((key = atomic_load(&current)) != 0) {
        struct mhcs_engine *const engine = mhcs_engine_hold(key);

        if (engine && mhcs_engine_state(engine) == MHCS_ENGINE_ARMED) {
            if (key % 64 == 0) {
                sched_yield();
            }
            if (engine->sm_count != (int)key) {
                return "another context's engine";
            }
        }
        if (engine) {
            mhcs_engine_let_go(engine);
        }
    }
    return NULL;
}

static void an_engine_that_is_held_stays_what_it_is(void **state)
{
    pthread_t threads[THREADS];
    struct mhcs_engine *engine;

    atomic_store(&current, 1);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use, NULL), 0);
    }
    for (uint64_t key = 1; key <= CONTEXTS; key++) {
        engine = claim(key);
        engine->sm_count = (int)key;
        atomic_store_explicit(&engine->state, MHCS_ENGINE_ARMED, memory_order_release);
        atomic_store(&current, key);
        mhcs_engine_let_go(engine);
        mhcs_engine_disarm(engine, "a test", CUDA_ERROR_UNKNOWN);
        while (!mhcs_engine_retire(engine)) {
            sched_yield();
        }
    }
    atomic_store(&current, 0);
    for (int i = 0; i < THREADS; i++) {
        void *complaint;

        pthread_join(threads[i], &complaint);
        if (complaint) {
            fail_msg("%s", (const char *)complaint);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_found_by_its_key_until_it_is_given_back),
        cmocka_unit_test(an_entry_that_is_held_is_not_given_back),
        cmocka_unit_test(a_full_table_refuses_and_an_entry_given_back_serves_again),
        cmocka_unit_test(an_engine_that_is_held_stays_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
