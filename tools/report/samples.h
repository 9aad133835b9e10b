/* SPDX-License-Identifier: Apache-2.0 */
/* A few rows of a site, drawn at random: those with the least hash of what tells rows apart, so
 * that they do not depend on the order of rows or merges. */
#ifndef MHCS_REPORT_SAMPLES_H
#define MHCS_REPORT_SAMPLES_H

#include "shadow/trace/trace.h"

#define MHCS_SAMPLES 64 /* of each site */

struct mhcs_sample_row {
    uint64_t hash;
    float rms;
    float production[MHCS_COEFFICIENTS]; /* raw */
    float reference[MHCS_COEFFICIENTS];  /* the checkpoint where the row has it, else operands */
};

struct mhcs_samples {
    uint32_t count;
    struct mhcs_sample_row row[MHCS_SAMPLES]; /* ascending */
};

/* Rows of 24 finite coefficients; others are left out. */
void mhcs_samples_add(struct mhcs_samples *samples, const struct mhcs_record *record);
void mhcs_samples_merge(struct mhcs_samples *samples, const struct mhcs_samples *other);

#endif
