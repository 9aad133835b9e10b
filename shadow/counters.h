/* SPDX-License-Identifier: Apache-2.0 */
/* The process-wide counters of shadow.h, for those inside shadow/ that must clear them. */
#ifndef MHCS_COUNTERS_H
#define MHCS_COUNTERS_H

/* In a forked child: what the parent counted is the parent's. */
void mhcs_counters_reset(void);

#endif
