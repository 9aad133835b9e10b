/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two halves of the pipeline, with MHCSHADOW_MODEL: whose weights a sample was
 * multiplied with, and the checkpoint's own on the device. The drain thread's.
 *
 * The first half leaves the fingerprint. The site it names decides scale and base of the comparator
 * and which fp32 weights go up: from the file into one pinned buffer, from there into one buffer of
 * the arena, both used by one sample at a time. Samples of the same site use what is there.
 */
#ifndef MHCS_ATTRIBUTE_H
#define MHCS_ATTRIBUTE_H

#include "shadow/book.h"

enum mhcs_attribution {
    MHCS_ATTRIBUTED,       /* the second half is launched; `done` is recorded behind it */
    MHCS_ATTRIBUTE_LATER,  /* another sample's weights are on the device: ask again */
    MHCS_ATTRIBUTE_LOST,   /* no trace, no memory */
    MHCS_ATTRIBUTE_FAILED, /* *ret_result tells */
};

/* Launches the second half of slot i, whose first half is through. */
enum mhcs_attribution mhcs_attribute(struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i,
                                     CUresult *ret_result);

/* Both halves for slots in host memory: 0, or -ENOMEM (no trace, no memory). */
int mhcs_attribute_host(struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i);

#endif
