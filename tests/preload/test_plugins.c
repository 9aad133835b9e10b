/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows no cuBLAS and opens plugins that do, under the preloaded hooks. Each case
 * runs in a process of its own, since what is loaded stays loaded.
 *
 *     test_plugins CASE FOLDER-OF-PLUGINS
 */
#include "fakecudart.h"
#include "words.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder;

static void *open_plugin(int major, int flags)
{
    char path[4096];
    void *handle;

    snprintf(path, sizeof(path), "%s/libplugin%d.so", folder, major);
    handle = dlopen(path, flags);
    if (!handle) {
        fail_msg("%s", dlerror());
    }
    return handle;
}

static fake_caller *caller_of(void *plugin)
{
    fake_caller *const call = (fake_caller *)dlsym(plugin, "caller_call");

    assert_non_null(call);
    return call;
}

/* Both halves: an ordinary call reaches its library, a mixing one is seen besides. */
static void check_calls(fake_caller *call, int major)
{
    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        for (int mixing = 0; mixing < 2; mixing++) {
            struct fake_shadow shadow = {0};
            struct fake_handle handle = {.stream = (cudaStream_t)&shadow,
                                         .answer = CUBLAS_STATUS_ARCH_MISMATCH};
            uint64_t words[FAKE_WORDS];

            words_of((enum mhcs_hook)hook, words, &handle, mixing ? MIXING : ORDINARY);
            assert_int_equal(call((enum mhcs_hook)hook, words), CUBLAS_STATUS_ARCH_MISMATCH);
            assert_arrived(&handle, (enum mhcs_hook)hook, major, words);
            assert_int_equal(shadow.before, mixing ? gemms_of((enum mhcs_hook)hook) : 0);
            if (mixing) {
                assert_int_equal(shadow.gemm.cublas->version, major * 10000 + 100);
            }
        }
    }
}

static void a_local_plugin_reaches_its_cublas(void **state)
{
    check_calls(caller_of(open_plugin(13, RTLD_NOW | RTLD_LOCAL)), 13);
}

static void a_global_plugin_reaches_its_cublas(void **state)
{
    check_calls(caller_of(open_plugin(12, RTLD_NOW | RTLD_GLOBAL)), 12);
}

static void two_majors_do_not_mix(void **state)
{
    fake_caller *const call13 = caller_of(open_plugin(13, RTLD_LAZY | RTLD_LOCAL));
    fake_caller *const call12 = caller_of(open_plugin(12, RTLD_LAZY | RTLD_LOCAL));

    for (int i = 0; i < 3; i++) {
        check_calls(call13, 13);
        check_calls(call12, 12);
    }
}

static void check_runtime(void *plugin, int major)
{
    fake_runtime_caller *const call = (fake_runtime_caller *)dlsym(plugin, "runtime_call");
    struct fake_runtime *(*const state_of)(void) =
        (struct fake_runtime * (*)(void)) dlsym(plugin, "runtime_state");

    assert_non_null(call);
    for (int hook = 0; hook < MHCS_GRAPH_HOOK_COUNT; hook++) {
        const uintptr_t words[FAKE_RUNTIME_WORDS] = {0x100, 0x200, 0x300, 0x400, 0x500};
        struct fake_runtime *const runtime = state_of();
        const unsigned calls = runtime->calls;

        runtime->answer = cudaErrorInvalidValue;
        assert_int_equal(call((enum mhcs_graph_hook)hook, words), cudaErrorInvalidValue);
        assert_int_equal(runtime->calls, calls + 1);
        assert_int_equal(runtime->major, major);
    }
}

static void two_majors_of_the_runtime_do_not_mix(void **state)
{
    void *const plugin13 = open_plugin(13, RTLD_LAZY | RTLD_GLOBAL);
    void *const plugin12 = open_plugin(12, RTLD_LAZY | RTLD_LOCAL);

    for (int i = 0; i < 3; i++) {
        check_runtime(plugin13, 13);
        check_runtime(plugin12, 12);
    }
}

static void a_global_major_does_not_catch_the_calls_of_another(void **state)
{
    fake_caller *const call13 = caller_of(open_plugin(13, RTLD_NOW | RTLD_GLOBAL));

    check_calls(caller_of(open_plugin(12, RTLD_NOW | RTLD_LOCAL)), 12);
    check_calls(call13, 13);
}

/* The plugins are twins but for the library they bring: unmapped, one would take the other's place,
 * with the same return addresses. */
static void a_closed_plugin_leaves_nothing_behind_for_the_next(void **state)
{
    for (int i = 0; i < 4; i++) {
        const int major = i % 2 ? 12 : 13;
        void *const plugin = open_plugin(major, RTLD_NOW | RTLD_LOCAL);

        check_calls(caller_of(plugin), major);
        assert_int_equal(dlclose(plugin), 0);
    }
}

static cublasStatus_t call_by_name(enum mhcs_hook hook, const uint64_t *words)
{
    switch (hook) {
#define HOOK(name, family, index)                                                                  \
    case MHCS_HOOK_##name: {                                                                       \
        mhcs_type_##name *const found = (mhcs_type_##name *)dlsym(RTLD_DEFAULT, #name);            \
                                                                                                   \
        assert_non_null(found);                                                                    \
        return fake_call_##name(found, words);                                                     \
    }
        MHCS_HOOKS(HOOK)
#undef HOOK
    case MHCS_HOOK_COUNT:
        break;
    }
    return CUBLAS_STATUS_INTERNAL_ERROR;
}

/* stderr of what `run` does, as a string. */
static void capture_stderr(void (*run)(void), char *text, size_t size)
{
    FILE *const file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    size_t length;

    assert_non_null(file);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    run();
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    close(kept);
    rewind(file);
    length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
}

static void call_without_cublas(void)
{
    for (int i = 0; i < 3 * MHCS_HOOK_COUNT; i++) {
        struct fake_handle handle = {0};
        uint64_t words[FAKE_WORDS];

        words_of((enum mhcs_hook)(i % MHCS_HOOK_COUNT), words, &handle, i % 2 ? MIXING : ORDINARY);
        errno = EDOM;
        assert_int_equal(call_by_name((enum mhcs_hook)(i % MHCS_HOOK_COUNT), words),
                         CUBLAS_STATUS_NOT_INITIALIZED);
        assert_int_equal(errno, EDOM);
    }
}

static void without_any_cublas_calls_fail_politely_until_one_is_loaded(void **state)
{
    char text[4096];
    const char *line;

    capture_stderr(call_without_cublas, text, sizeof(text));
    line = strstr(text, "no loaded library has it");
    assert_non_null(line);
    assert_null(strstr(line + 1, "no loaded library has it"));

    /* Loaded RTLD_LOCAL: neither this program's scope nor RTLD_NEXT knows it. */
    open_plugin(12, RTLD_NOW | RTLD_LOCAL);
    check_calls(call_by_name, 12);
}

/* Linked with us by mistake, its own scope leads straight back to us. */
static void a_plugin_that_needs_the_hooks_does_not_loop(void **state)
{
    fake_caller *const call13 = caller_of(open_plugin(13, RTLD_NOW | RTLD_LOCAL));
    char path[4096];
    void *plugin;

    snprintf(path, sizeof(path), "%s/libplugin_of_hooks.so", folder);
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(plugin);
    check_calls(caller_of(plugin), 13);
    check_calls(call13, 13);
}

/* Run with libbehind.so, a cuBLAS of "major 99" by another name, preloaded behind the hooks. */
static void a_library_preloaded_behind_gets_the_calls(void **state)
{
    open_plugin(13, RTLD_NOW | RTLD_LOCAL);
    check_calls(call_by_name, 99);
}

/* Run with libfront.so, which wraps the same functions, preloaded before the hooks. */
static void a_wrapper_preloaded_in_front_passes_its_calls_on(void **state)
{
    check_calls(caller_of(open_plugin(13, RTLD_NOW | RTLD_LOCAL)), 13);
    check_calls(call_by_name, 13);
}

/* Its calls go straight to its cuBLAS: they are not seen, and not harmed. */
static void a_deepbind_plugin_goes_past_the_hooks(void **state)
{
    fake_caller *const call = caller_of(open_plugin(13, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND));

    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        struct fake_shadow shadow = {0};
        struct fake_handle handle = {.stream = (cudaStream_t)&shadow,
                                     .answer = CUBLAS_STATUS_ARCH_MISMATCH};
        uint64_t words[FAKE_WORDS];

        words_of((enum mhcs_hook)hook, words, &handle, MIXING);
        assert_int_equal(call((enum mhcs_hook)hook, words), CUBLAS_STATUS_ARCH_MISMATCH);
        assert_arrived(&handle, (enum mhcs_hook)hook, 13, words);
        assert_int_equal(shadow.before, 0);
    }
    /* Others are seen as ever. */
    check_calls(caller_of(open_plugin(12, RTLD_NOW | RTLD_LOCAL)), 12);
}

/* As a package upgrade does it: the file is another, the code in memory is the old one. */
static void a_cublas_replaced_on_disk_is_still_found(void **state)
{
    char path[128], copy[64], command[16384];
    fake_caller *call;
    void *plugin;

    snprintf(copy, sizeof(copy), "%s", "/tmp/mhcshadow-replaced-XXXXXX");
    assert_non_null(mkdtemp(copy));
    snprintf(command, sizeof(command),
             "cp '%s'/libplugin13.so '%s'/v13/libcublas*.so.13 '%s' && cp '%s'/v12/libcublas.so.12 "
             "'%s'/new",
             folder, folder, copy, folder, copy);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/libcublas.so.13", copy);
    assert_non_null(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    snprintf(path, sizeof(path), "%s/libplugin13.so", copy);
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(plugin);
    call = caller_of(plugin);
    snprintf(command, sizeof(command), "mv '%s'/new '%s'/libcublas.so.13 && rm '%s'/libplugin13.so",
             copy, copy, copy);
    assert_int_equal(system(command), 0);
    check_calls(call, 13);
    snprintf(command, sizeof(command), "rm -r '%s'", copy);
    assert_int_equal(system(command), 0);
}

static void an_inert_library_passes_everything_on(void **state)
{
    fake_caller *const call = caller_of(open_plugin(13, RTLD_NOW | RTLD_LOCAL));
    struct fake_shadow shadow = {0};

    assert_int_equal(setenv("MHCSHADOW", "0", 1), 0);
    for (int i = 0; i < 200; i++) {
        struct fake_handle handle = {.stream = (cudaStream_t)&shadow};
        uint64_t words[FAKE_WORDS];

        words_of(MHCS_HOOK_cublasGemmEx, words, &handle, MIXING);
        call(MHCS_HOOK_cublasGemmEx, words);
        assert_arrived(&handle, MHCS_HOOK_cublasGemmEx, 13, words);
    }
    assert_int_equal(shadow.before, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_local_plugin_reaches_its_cublas),
        cmocka_unit_test(a_global_plugin_reaches_its_cublas),
        cmocka_unit_test(two_majors_do_not_mix),
        cmocka_unit_test(two_majors_of_the_runtime_do_not_mix),
        cmocka_unit_test(a_global_major_does_not_catch_the_calls_of_another),
        cmocka_unit_test(a_closed_plugin_leaves_nothing_behind_for_the_next),
        cmocka_unit_test(without_any_cublas_calls_fail_politely_until_one_is_loaded),
        cmocka_unit_test(a_plugin_that_needs_the_hooks_does_not_loop),
        cmocka_unit_test(a_library_preloaded_behind_gets_the_calls),
        cmocka_unit_test(a_wrapper_preloaded_in_front_passes_its_calls_on),
        cmocka_unit_test(a_deepbind_plugin_goes_past_the_hooks),
        cmocka_unit_test(a_cublas_replaced_on_disk_is_still_found),
        cmocka_unit_test(an_inert_library_passes_everything_on),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: %s CASE FOLDER\n", argv[0]);
        return 2;
    }
    setenv("MHCSHADOW_SAMPLE", "all", 1);
    folder = argv[2];
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (strcmp(tests[i].name, argv[1]) == 0) {
            const struct CMUnitTest one[] = {tests[i]};

            return cmocka_run_group_tests(one, NULL, NULL);
        }
    }
    fprintf(stderr, "no case %s\n", argv[1]);
    return 2;
}
