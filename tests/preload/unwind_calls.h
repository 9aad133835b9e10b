/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through the hooks for test_unwind.cc; the fakes' headers are C alone. */
#ifndef UNWIND_CALLS_H
#define UNWIND_CALLS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct unwind_seen {
    unsigned before, after, forgotten;
};

unsigned unwind_hooks(void); /* how many there are */
const char *unwind_name(unsigned hook);

/* An ordinary or a mixing call; `within`, if not NULL, runs in the real function. *seen: what the
 * shadow saw, also if `within` does not return. */
void unwind_call(unsigned hook, bool mixing, void (*within)(void *), void *arg,
                 struct unwind_seen *seen);

#ifdef __cplusplus
}
#endif
#endif
