/* SPDX-License-Identifier: Apache-2.0 */
/* Resolution from within, in a program linked with cuBLAS: callers that no plugin can imitate, a
 * full cache, and many threads at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fakecublas.h"
#include "interpose/real.h"

#define HOOK_UNDER_TEST MHCS_HOOK_cublasGemmEx

static void *expected;

/* The linker's functions may leave errno behind; this one always does. */
int dladdr1(const void *address, Dl_info *info, void **extra, int flags)
{
    __typeof__(dladdr1) *const real = (__typeof__(dladdr1) *)dlsym(RTLD_NEXT, "dladdr1");

    errno = ENOTTY;
    return real(address, info, extra, flags);
}

static void assert_real(struct mhcs_target target)
{
    assert_ptr_equal(target.function, expected);
    assert_non_null(target.library);
}

static const struct mhcs_call_site *remembered(enum mhcs_hook hook, const void *caller)
{
    for (size_t i = 0; i < MHCS_CALL_SITES; i++) {
        if (mhcs_call_sites[hook][i].caller == caller) {
            return &mhcs_call_sites[hook][i];
        }
    }
    return NULL;
}

static void a_call_site_in_an_object_is_remembered(void **state)
{
    const void *const here = (const char *)remembered + 3;

    errno = EDOM;
    assert_real(mhcs_real(HOOK_UNDER_TEST, here));
    assert_int_equal(errno, EDOM);
    assert_non_null(remembered(HOOK_UNDER_TEST, here));
    assert_ptr_equal(remembered(HOOK_UNDER_TEST, here)->target.function, expected);
    assert_real(mhcs_real(HOOK_UNDER_TEST, here));
}

static void one_call_site_may_call_several_functions(void **state)
{
    const void *const here = (const char *)remembered + 3;
    const struct mhcs_target other = mhcs_real(MHCS_HOOK_cublasSgemm_v2, here);

    assert_ptr_equal(other.function, dlsym(RTLD_DEFAULT, "cublasSgemm_v2"));
    assert_real(mhcs_real(HOOK_UNDER_TEST, here));
}

/* Code made at run time: a library may be mapped at its address later. */
static void a_call_site_in_no_object_is_served_but_not_remembered(void **state)
{
    void *const heap = calloc(1, 64);

    assert_real(mhcs_real(HOOK_UNDER_TEST, heap));
    assert_null(remembered(HOOK_UNDER_TEST, heap));
    assert_real(mhcs_real(HOOK_UNDER_TEST, (const void *)1));
    free(heap);
}

static void *resolve_many(void *arg)
{
    const char *const code = (const char *)assert_real;
    uintptr_t wrong = 0;

    for (size_t i = 0; i < 2 * MHCS_CALL_SITES; i++) {
        const struct mhcs_target target = mhcs_real(HOOK_UNDER_TEST, code + i);

        wrong += target.function != expected || !target.library;
    }
    return (void *)wrong;
}

static void threads_and_a_full_cache_still_find_the_function(void **state)
{
    pthread_t threads[8];

    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, resolve_many, NULL), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        void *wrong;

        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_null(resolve_many(NULL));
}

static void a_library_is_entered_once_and_tells_of_itself(void **state)
{
    struct mhcs_library *const library = mhcs_library_of(expected);
    struct fake_handle handle = {0};
    const struct mhcs_cublas *cublas;

    assert_non_null(library);
    assert_ptr_equal(mhcs_library_of(dlsym(RTLD_DEFAULT, "cublasSgemm_v2")), library);
    cublas = mhcs_library_cublas(library, (cublasHandle_t)&handle);
    assert_int_equal(cublas->version, 130100);
    assert_non_null(strstr(cublas->path, "libcublas.so.13"));
    assert_ptr_equal(mhcs_library_cublas(library, (cublasHandle_t)&handle), cublas);
    assert_null(mhcs_library_of((const void *)1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_site_in_an_object_is_remembered),
        cmocka_unit_test(one_call_site_may_call_several_functions),
        cmocka_unit_test(a_call_site_in_no_object_is_served_but_not_remembered),
        cmocka_unit_test(threads_and_a_full_cache_still_find_the_function),
        cmocka_unit_test(a_library_is_entered_once_and_tells_of_itself),
    };

    expected = (void *)cublasGemmEx;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
