/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the loaded objects that leaves forked children alone. */
#ifndef MHCS_OBJECTS_H
#define MHCS_OBJECTS_H

#include <link.h>

/* dl_iterate_phdr(), which see; a fork in another thread waits until it has ended. Any thread; not
 * from within a walk. */
int mhcs_objects_walk(int (*visit)(struct dl_phdr_info *, size_t, void *), void *arg);

#endif
