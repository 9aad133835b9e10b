/* SPDX-License-Identifier: Apache-2.0 */
/* For memory that a test instrument can't go on without. */
#ifndef SIM_MUST_H
#define SIM_MUST_H

#include <stdlib.h>
#include <sys/mman.h>

/* What malloc or mmap returned, or the end of the process. */
static inline void *must(void *p)
{
    if (p == NULL || p == MAP_FAILED)
        abort();
    return p;
}

#endif
