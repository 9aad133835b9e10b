/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the names of hooks.h, for tests that are no C. */
#include <stdio.h>

#include "interpose/hooks.h"

int main(void)
{
#define HOOK(name, family, index) puts(#name);
    MHCS_HOOKS(HOOK)
#undef HOOK
    return 0;
}
