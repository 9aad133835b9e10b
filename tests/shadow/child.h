/* SPDX-License-Identifier: Apache-2.0 */
/* For code that runs in a forked child, where cmocka's assertions don't reach: says which line
 * failed and ends the child with status 99. */
#ifndef CHILD_H
#define CHILD_H

#include <stdio.h>
#include <unistd.h>

#define CHILD_MUST(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                     \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

#endif
