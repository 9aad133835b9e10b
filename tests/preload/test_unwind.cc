// SPDX-License-Identifier: Apache-2.0
// C++ exceptions, backtraces and debuggers pass through the hooks as if they were not there.
//
//     test_unwind throw|backtrace|step
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include <new>
#include <stdexcept>
#include <string>

#include "unwind_calls.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

namespace
{

bool is_in(const void *address, const char *file)
{
    Dl_info info;

    return dladdr(address, &info) && strstr(info.dli_fname, file);
}

struct guard {
    bool *gone;
    ~guard()
    {
        *gone = true;
    }
};

void throw_it(void *arg)
{
    throw std::runtime_error(static_cast<const char *>(arg));
}

// A thrown exception leaves the real function, the hook and this frame, and the next call is
// sampled as ever.
void check_throw(unsigned hook, bool mixing)
{
    char text[] = "thrown within cuBLAS";
    unwind_seen at_throw = {}, seen = {};
    bool caught = false, gone = false;

    try {
        guard watched{&gone};

        unwind_call(hook, mixing, throw_it, text, &at_throw);
    } catch (const std::runtime_error &error) {
        caught = strcmp(error.what(), text) == 0;
    }
    CHECK(caught && gone);
    unwind_call(hook, mixing, nullptr, nullptr, &seen);
    if (mixing) {
        const unsigned samples = seen.after - at_throw.after;

        CHECK(samples > 0);
        CHECK(seen.before - at_throw.before == samples);
        CHECK(seen.forgotten - at_throw.forgotten == samples);
    } else {
        CHECK(seen.before == at_throw.before);
    }
}

int run_throw()
{
    // What the throw machinery of this program binds to.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which intercept it
    CHECK(is_in(dlsym(RTLD_DEFAULT, "_Unwind_RaiseException"), "libgcc_s.so"));
#endif
    CHECK(is_in(dlsym(RTLD_DEFAULT, "_Unwind_Resume"), "libgcc_s.so"));
    CHECK(is_in(reinterpret_cast<const void *>(&_Unwind_Backtrace), "libgcc_s.so"));
    for (unsigned hook = 0; hook < unwind_hooks(); hook++) {
        for (int mixing = 0; mixing < 2; mixing++) {
            check_throw(hook, mixing);
        }
    }
    return 0;
}

void *frames[64];
int frame_count;

void take_backtrace(void *)
{
    frame_count = backtrace(frames, 64);
}

// The frames between the real function and main are the application's; of ours there is the one
// that waits for the real function's answer, if the call is a mixing GEMM.
int run_backtrace()
{
    for (unsigned hook = 0; hook < unwind_hooks(); hook++) {
        for (int mixing = 0; mixing < 2; mixing++) {
            unwind_seen seen;
            int ours = 0, applications = 0;
            bool behind_real = false;

            unwind_call(hook, mixing, take_backtrace, nullptr, &seen);
            for (int i = 0; i < frame_count; i++) {
                behind_real |= is_in(frames[i], "libcublas");
                ours += is_in(frames[i], "libhooks_alone");
                applications += behind_real && is_in(frames[i], "test_unwind");
            }
            CHECK(behind_real);
            CHECK(ours <= 1);
            CHECK(applications >= 3); // caller_call, unwind_call, main
        }
    }
    return 0;
}

// ---- every instruction ----

#if defined(__x86_64__)
const void *wanted; // the frame that must be found
unsigned steps, steps_in_hooks, lost;

struct walk {
    bool seen_pc, found;
    const void *pc;
};

_Unwind_Reason_Code visit(_Unwind_Context *context, void *arg)
{
    walk *const w = static_cast<walk *>(arg);
    const void *const pc = reinterpret_cast<const void *>(_Unwind_GetIP(context));

    w->seen_pc |= pc == w->pc;
    w->found |= w->seen_pc && _Unwind_FindEnclosingFunction(const_cast<void *>(pc)) == wanted;
    return w->found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void on_step(int, siginfo_t *, void *context)
{
    const void *const pc = reinterpret_cast<const void *>(
        static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);

    steps++;
    if (is_in(pc, "libhooks_alone")) {
        walk w = {false, false, pc};

        steps_in_hooks++;
        _Unwind_Backtrace(visit, &w);
        lost += !w.found;
    }
}

__attribute__((noinline)) void step_through(unsigned hook, bool mixing)
{
    unwind_seen seen;

    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    unwind_call(hook, mixing, nullptr, nullptr, &seen);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

// An ordinary GEMM costs a glance at two registers and a jump, and no C: what it costs in time,
// tests/bench/ says. Shapes that stand in memory are not to be had so cheaply.
bool is_cheap(unsigned hook, bool mixing, unsigned steps)
{
    const unsigned most = 25;
    const char *const name = unwind_name(hook);

    return mixing || strstr(name, "Grouped") || strstr(name, "Lt") || steps <= most;
}

int run_step()
{
    struct sigaction action = {};

    wanted = reinterpret_cast<const void *>(&step_through);
    // Call sites and tallies are known, the environment is read.
    for (unsigned hook = 0; hook < unwind_hooks(); hook++) {
        for (int mixing = 0; mixing < 2; mixing++) {
            unwind_seen seen;

            unwind_call(hook, mixing, nullptr, nullptr, &seen);
        }
    }
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
    for (unsigned hook = 0; hook < unwind_hooks(); hook++) {
        for (int mixing = 0; mixing < 2; mixing++) {
            const unsigned before = steps_in_hooks;

            step_through(hook, mixing);
            if (lost || steps_in_hooks < before + 2) {
                fprintf(stderr, "%s: %u instructions of the hooks, %u without a way back\n",
                        unwind_name(hook), steps_in_hooks - before, lost);
                return 1;
            }
            if (!is_cheap(hook, mixing, steps_in_hooks - before)) {
                fprintf(stderr, "%s: %u instructions for an ordinary GEMM\n", unwind_name(hook),
                        steps_in_hooks - before);
                return 1;
            }
        }
    }
    printf("%u instructions, %u of the hooks\n", steps, steps_in_hooks);
    return 0;
}
#else
int run_step()
{
    return 77; // no trap flag
}
#endif

} // namespace

int main(int argc, char **argv)
{
    const std::string what = argc == 2 ? argv[1] : "";

    // Stepping is slow, and what follows a sample is plain C far from the hooks.
    setenv("MHCSHADOW_SAMPLE", what == "step" ? "off" : "all", 1);
    if (what == "throw") {
        return run_throw();
    }
    if (what == "backtrace") {
        return run_backtrace();
    }
    return what == "step" ? run_step() : 2;
}
