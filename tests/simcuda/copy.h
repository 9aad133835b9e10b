/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills, to be queued at once or kept in a graph's node. */
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "engine.h"

enum sim_place { SIM_AT_PAGEABLE, SIM_AT_PINNED, SIM_AT_DEVICE };

struct sim_copy {
    uint64_t to, from; /* of the first row */
    size_t to_pitch, from_pitch, width, height;
};

struct sim_fill {
    uint64_t to;                 /* of the first row */
    size_t pitch, count, height; /* count: values in a row */
    uint32_t value;
    unsigned width; /* bytes of one value */
};

/* Where a range lies. Unknown addresses are pageable host memory. False: it leaves its allocation.
 */
bool sim_place_of(uint64_t address, uint64_t bytes, enum sim_place *ret_place);
bool sim_copy_places(const struct sim_copy *copy, enum sim_place *ret_to, enum sim_place *ret_from);

/* The work reads what the addresses hold when it runs; `staged`: what the pageable source holds
 * now, so that the caller may reuse it. */
CUresult sim_copy_work(const char *what, const struct sim_copy *copy, bool staged,
                       struct sim_work *ret_work);
/* CUDA_ERROR_INVALID_VALUE: not in device or pinned memory, or misaligned. */
CUresult sim_fill_work(const char *what, const struct sim_fill *fill, struct sim_work *ret_work,
                       enum sim_place *ret_place);

#endif
