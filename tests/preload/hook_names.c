/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the names of the hooked functions, for tests that are no C. */
#include <stdio.h>

#include "interpose/graph_hooks.h"
#include "interpose/hooks.h"

int main(void)
{
#define HOOK(name, family, index) puts(#name);
    MHCS_HOOKS(HOOK)
#undef HOOK
#define HOOK(name, family, stream) puts(#name);
    MHCS_GRAPH_HOOKS(HOOK)
#undef HOOK
    return 0;
}
