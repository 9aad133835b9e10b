/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of the microtest is asked and what it found; printing is apart from measuring. */
#ifndef MHCS_MICROTEST_H
#define MHCS_MICROTEST_H

#include <stdio.h>

#include "tools/microtest/compound.h"
#include "tools/microtest/errors.h"
#include "tools/microtest/states.h"
#include "tools/report/verdict.h"

struct mhcs_microtest_options {
    const char *model;       /* NULL: made-up weights */
    uint32_t layers, hidden; /* of made-up weights */
    const char
        *sample; /* layers whose errors are listed: "all", or numbers with commas; NULL: some */
    struct mhcs_states_plan states;
    struct mhcs_machine machine; /* but for its GPU, which main() opens */
    bool synthetic, gpu, json;
};

/* What a precision costs, over all listed sites and after all layers. */
struct mhcs_cost {
    enum mhcs_status status;
    double raw, expected, ratio;  /* rms rel of 24 coefficients against fp32; raw / expected */
    double comb;                  /* rms */
    double y_low, y_high, cosine; /* smallest and largest of a site; 1 - cosine, the largest */
    struct mhcs_drift half, end;  /* after half of the layers, after all */
    bool harmless;
};

struct mhcs_microtest {
    const struct mhcs_microtest_options *options;
    struct mhcs_source source;
    struct mhcs_states states;
    bool states_are_bf16; /* every number of them */
    char blas[128];
    struct mhcs_site_errors *errors; /* of the listed sites */
    size_t error_count;
    struct mhcs_drift (*drift)[MHCS_ARITHMETIC_COUNT]; /* after each layer */
    struct mhcs_cost cost[MHCS_ARITHMETIC_COUNT];
    double seconds;
};

/* Whether the errors of a layer are listed; the head (-1) always, MTP blocks with "all". False: the
 * option is not understood. */
bool mhcs_sample_layer(const struct mhcs_microtest_options *options, uint32_t layers, int32_t layer,
                       bool *ret_listed);

/* Fills cost from errors and drift. */
void mhcs_microtest_judge(struct mhcs_microtest *test);
enum mhcs_status mhcs_microtest_status(const struct mhcs_microtest *test);

void mhcs_microtest_print(FILE *out, const struct mhcs_microtest *test);
int mhcs_microtest_print_json(FILE *out, const struct mhcs_microtest *test); /* 0 or -ENOMEM */

#endif
