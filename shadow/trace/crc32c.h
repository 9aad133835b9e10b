/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), as in iSCSI and ext4: reflected, initial value and final xor all ones. */
#ifndef MHCS_TRACE_CRC32C_H
#define MHCS_TRACE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of what gave `crc` so far (0: nothing) followed by `size` bytes at `data`. */
uint32_t mhcs_crc32c(uint32_t crc, const void *data, size_t size);

/* The same without special instructions; apart only so that a test can compare the two. */
uint32_t mhcs_crc32c_portable(uint32_t crc, const void *data, size_t size);

#endif
