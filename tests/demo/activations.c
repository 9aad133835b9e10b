/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing anew for every element would take most of the demo's time: rows are slices of one pool,
 * each from a random place on.
 */
#include "activations.h"

#include <stdbool.h>

#include "tools/microtest/bell.h"
#include "check.h"

#define UNIT          0x1p-15f /* deviation 1.15 */
#define OUTLIER       16
#define OUTLIER_EVERY 512 /* channels, a power of two */
#define PLACES        (1 << 20)

struct demo_activations {
    int channels;
    uint64_t seed;
    float *gain; /* per channel */
    float *pool; /* PLACES + channels */
};

struct demo_activations *demo_activations_new(int channels, uint64_t seed)
{
    struct demo_activations *a = check_alloc(1, sizeof *a);
    uint64_t random = seed;

    a->channels = channels;
    a->seed = seed;
    a->gain = check_alloc((size_t)channels, sizeof a->gain[0]);
    a->pool = check_alloc(PLACES + (size_t)channels, sizeof a->pool[0]);
    for (int c = 0; c < channels; c++) {
        bool outlier = (mix64(seed ^ (uint64_t)c) & (OUTLIER_EVERY - 1)) == 0;

        a->gain[c] = outlier ? OUTLIER * UNIT : UNIT;
    }
    for (int i = 0; i < PLACES + channels; i++)
        a->pool[i] = (float)bell_next(&random);
    return a;
}

void demo_activations_free(struct demo_activations *a)
{
    free(a->gain);
    free(a->pool);
    free(a);
}

/* Inlined for each type, so that the loop vectorises. */
static inline void draw_row(unsigned char *to, enum sim_float type, const float *bells,
                            const float *gain, int channels)
{
    for (int c = 0; c < channels; c++)
        sim_float_store(type, to + (size_t)c * sim_float_size(type),
                        sim_round_mantissa(bells[c] * gain[c], 16));
}

void demo_activations_draw(const struct demo_activations *a, void *to, enum sim_float type,
                           int rows, uint64_t number)
{
    uint64_t random = mix64(a->seed ^ mix64(number));
    size_t row_bytes = (size_t)a->channels * sim_float_size(type);

    for (int row = 0; row < rows; row++) {
        const float *bells = a->pool + random_next(&random) % PLACES;
        unsigned char *out = (unsigned char *)to + (size_t)row * row_bytes;

        switch (type) {
        case SIM_F32:
            draw_row(out, SIM_F32, bells, a->gain, a->channels);
            break;
        case SIM_BF16:
            draw_row(out, SIM_BF16, bells, a->gain, a->channels);
            break;
        case SIM_F16:
            draw_row(out, SIM_F16, bells, a->gain, a->channels);
            break;
        }
    }
}
