/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up residual streams: bell-shaped, exact in bf16, and a few channels much larger than the
 * rest, the same ones in every layer. Distributed as x in tests/vectors/README.md.
 */
#ifndef DEMO_ACTIVATIONS_H
#define DEMO_ACTIVATIONS_H

#include "tests/simcuda/rounding.h"

struct demo_activations;

struct demo_activations *demo_activations_new(int channels, uint64_t seed);
void demo_activations_free(struct demo_activations *a);

/* Writes rows x [rows][channels] of `type`; the same `number` gives the same rows. */
void demo_activations_draw(const struct demo_activations *a, void *to, enum sim_float type,
                           int rows, uint64_t number);

#endif
