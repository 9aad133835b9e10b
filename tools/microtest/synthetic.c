/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the numbers of one tensor. */
#include "tools/microtest/synthetic.h"

#include <math.h>
#include <stddef.h>

#include "kernels/kernels.h"
#include "tools/microtest/bell.h"

#define HEAVY_EVERY 2048 /* of so many weights of fn, one is rare */
#define HEAVY_SPAN  3.2  /* they go down to absmax * exp(-3.2), into the body */

static double normal(uint64_t *random)
{
    return bell_next(random) / BELL_DEVIATION;
}

/* The rare weights are a ladder from absmax down, equal steps in the logarithm, at random places;
 * the body is scaled so that all together have the wanted rms. */
static void draw_fn(float *fn, size_t count, uint64_t *random)
{
    double rms = 0.034 + 0.012 * random_unit(random);
    double absmax = 0.63 + 0.43 * random_unit(random);
    size_t heavy = count / HEAVY_EVERY + 1;
    double heavy_squares = 0, body_squares = 0, body;

    for (size_t i = 0; i < heavy; i++)
        heavy_squares += absmax * absmax * exp(-2 * HEAVY_SPAN * (double)i / (double)heavy);
    for (size_t i = 0; i < count; i++) {
        double value = normal(random);

        body_squares += value * value;
        fn[i] = (float)value;
    }
    /* A head of few weights: absmax alone would exceed the rms. */
    body = sqrt(fmax((double)count * rms * rms - heavy_squares, 0.25 * (double)count * rms * rms) /
                body_squares);
    for (size_t i = 0; i < count; i++)
        fn[i] = (float)(fn[i] * body);
    for (size_t i = 0; i < heavy; i++) {
        uint64_t place = random_next(random);
        double value = absmax * exp(-HEAVY_SPAN * (double)i / (double)heavy);

        fn[(place >> 1) % count] = (float)(place & 1 ? -value : value);
    }
}

void mhcs_synthetic_draw(uint64_t seed, const struct mhcs_weight_name *name, uint32_t hidden,
                         float *to)
{
    static const double scale[] = {2.076, 0.0187, 0.246};
    const bool head = name->role == MHCS_ROLE_HEAD;
    const uint32_t rows = head ? MHCS_COEFFICIENTS_HEAD : MHCS_COEFFICIENTS;
    /* The head's seeds do not depend on the number of layers. */
    const int64_t number = head ? -1 - (int64_t)name->part
                                : 6 * (int64_t)name->block + 3 * (int64_t)name->role + name->part;
    uint64_t random = mix64(seed ^ mix64((uint64_t)number + 1));

    switch (name->part) {
    case MHCS_SITE_FN:
        draw_fn(to, (size_t)rows * MHCS_STREAMS * hidden, &random);
        break;
    case MHCS_SITE_BASE:
        for (uint32_t i = 0; i < rows; i++)
            to[i] = (float)normal(&random);
        break;
    case MHCS_SITE_SCALE:
        for (uint32_t i = 0; i < (head ? 1U : 3U); i++)
            to[i] = (float)(scale[i] * exp(0.1 * normal(&random)));
        break;
    }
}
