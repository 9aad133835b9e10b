/* SPDX-License-Identifier: Apache-2.0 */
/* For clients and benchmarks, which have nothing to recover: a call of CUDA's or of the C library's
 * that does not return 0 ends the program with a line that names it. */
#ifndef TESTS_MUST_H
#define TESTS_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                                                                 \
    do {                                                                                           \
        const int must_status = (int)(call);                                                       \
                                                                                                   \
        if (must_status != 0) {                                                                    \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, must_status);            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
