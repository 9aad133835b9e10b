/* SPDX-License-Identifier: Apache-2.0 */
/* Which process wrote a trace: columns that tell the ranks of a fleet apart. */
#ifndef MHCS_REPORT_ORIGIN_H
#define MHCS_REPORT_ORIGIN_H

#include <stdint.h>

struct mhcs_origin {
    char host[128], label[256]; /* "": not known; cut where longer */
    int64_t pid;                /* 0: not known */
};

/* Takes what one J frame says; frames that are not the first of a process, or no JSON, say nothing.
 */
void mhcs_origin_add(struct mhcs_origin *origin, const char *json);

#endif
