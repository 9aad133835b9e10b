/* SPDX-License-Identifier: Apache-2.0 */
/* Objects whose cuBLAS calls go past the hooks, as far as the linker knows them. Not known: calls
 * of addresses that dlsym() gave for a handle, and a static cuBLAS whose symbols are hidden.
 */
#ifndef MHCS_BYPASS_H
#define MHCS_BYPASS_H

#include "shadow/shadow.h"

/* A mhcs_bypass_look. Holds the linker's lock while it looks: the drain thread only. */
void mhcs_bypass_look_around(struct mhcs_bypasses *bypasses);

#endif
