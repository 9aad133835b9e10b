/* SPDX-License-Identifier: Apache-2.0 */
/* The different values that the traces give for one fact, each printable ASCII. Of more than
 * MHCS_DISTINCT_MAX the least are kept, so that the order of the traces changes nothing. */
#ifndef MHCS_REPORT_DISTINCT_H
#define MHCS_REPORT_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MHCS_DISTINCT_MAX   256
#define MHCS_DISTINCT_SHOWN 8
struct mhcs_distinct { /* zero-initialise */
    struct {
        char *text;
        uint64_t files;
    } * value;
    size_t count, room;
    uint64_t further; /* files with a value that is not kept */
};

/* Takes `text` over, said by so many files. 0 or -ENOMEM. */
int mhcs_distinct_keep(struct mhcs_distinct *distinct, char *text, uint64_t files);
/* 0 or -ENOMEM. */
int mhcs_distinct_merge(struct mhcs_distinct *distinct, const struct mhcs_distinct *from);
void mhcs_distinct_sort(struct mhcs_distinct *distinct);
/* Both hold the same texts, sorted, however many files have them. */
bool mhcs_distinct_equal(const struct mhcs_distinct *a, const struct mhcs_distinct *b);
void mhcs_distinct_free(struct mhcs_distinct *distinct); /* what it holds, not itself */

/* Text being put together in `stream`, then kept as said by one file unless it is empty. */
struct mhcs_draft {
    char *text;
    size_t size;
    FILE *stream;
};
/* Each 0 or -ENOMEM. An open draft must be kept. */
int mhcs_draft_open(struct mhcs_draft *draft);
int mhcs_draft_keep(struct mhcs_draft *draft, struct mhcs_distinct *distinct);

#endif
