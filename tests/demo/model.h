/* SPDX-License-Identifier: Apache-2.0 */
/* The mixing weights of a checkpoint, on the device in the types they run in. */
#ifndef DEMO_MODEL_H
#define DEMO_MODEL_H

#include "linear.h"

#define DEMO_COEFFICIENTS 24
#define DEMO_STREAMS      4 /* rows of the head, and K = 4 * hidden */

struct demo_model {
    int layers, hidden;
    void *
        *sites; /* device, [24][4 * hidden]: attn and ffn of each layer; then the head, [4] rows */
};

/* Reads at most `layers` layers (0: all there are). Ends the program on a file that does not hold
 * what a DeepSeek-V4 checkpoint does. */
struct demo_model *demo_model_load(const char *path, int layers,
                                   const struct demo_precision *precision);
/* The weights of another checkpoint of that shape come to where the old ones are, when the device
 * has finished. */
void demo_model_reload(struct demo_model *model, const char *path,
                       const struct demo_precision *precision);
void demo_model_free(struct demo_model *model);

#endif
