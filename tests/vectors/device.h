/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped fatbin through the driver API: one context and module, synchronous helpers. The first
 * failing call ends the test with its name.
 */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include "mirror.h"

enum device_kernel {
    DEVICE_SNAPSHOT,
    DEVICE_REFERENCE,
    DEVICE_COMPARE,
    DEVICE_FINGERPRINT,
    DEVICE_WIDEN
};

void device_open(void);
void device_close(void);

/* Device memory of exactly that size, `offset` bytes into an allocation; freed by device_reset().
 */
uint64_t device_new(size_t bytes, size_t offset);
uint64_t device_upload(const void *from, size_t bytes);
void device_write(uint64_t to, const void *from, size_t bytes);
void device_download(void *to, uint64_t from, size_t bytes);
void device_reset(void);

/* Launches and waits. */
void device_launch(enum device_kernel kernel, uint32_t blocks, void *params);

/* mhcs_reference of the case's operands, or of its checkpoint. */
void device_reference(const struct kernel_case *c, bool checkpoint,
                      const struct reference_out *out);

/* mhcs_reference and mhcs_compare as the engine launches them. y [MHCS_PATHS][R][K/4], or NULL.
 * by_cublas: the coefficients by the simulated cuBLAS. */
void device_compare(const struct kernel_case *c, bool by_cublas, struct mhcs_row_result *results,
                    float *y);

#endif
