/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind_calls.h"

#include "words.h"

static struct fake_shadow shadow; /* outlives a call that never came back */
static struct words_storage keep;

unsigned unwind_hooks(void)
{
    return MHCS_HOOK_COUNT;
}

const char *unwind_name(unsigned hook)
{
    return hook_names[hook];
}

static void note(struct unwind_seen *seen)
{
    *seen = (struct unwind_seen){shadow.before, shadow.after, shadow.forgotten};
}

struct relay {
    void (*within)(void *);
    void *arg;
    struct unwind_seen *seen;
};

static void relay(void *arg)
{
    const struct relay *const to = arg;

    note(to->seen);
    if (to->within) {
        to->within(to->arg);
    }
}

void unwind_call(unsigned hook, bool mixing, void (*within)(void *), void *arg,
                 struct unwind_seen *seen)
{
    struct relay to = {within, arg, seen};
    struct fake_handle handle = {.stream = (cudaStream_t)&shadow, .within = relay, .arg = &to};
    uint64_t words[FAKE_WORDS];

    words_into(&keep, (enum mhcs_hook)hook, words, &handle, mixing ? MIXING : ORDINARY);
    caller_call((enum mhcs_hook)hook, words);
    note(seen);
}
