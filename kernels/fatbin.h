/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of kernels.h as one fat binary, for cuModuleLoadData. */
#ifndef MHCS_FATBIN_H
#define MHCS_FATBIN_H

#include <stdint.h>

extern const uint64_t mhcs_kernels_fatbin[];

#endif
