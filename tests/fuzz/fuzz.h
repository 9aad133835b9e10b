/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz target: libFuzzer's entry point, and the seeds it starts from. driver.c runs it in plain
 * CI; with libFuzzer (clang -fsanitize=fuzzer,address) leave driver.c out. */
#ifndef MHCS_FUZZ_H
#define MHCS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Calls `use` with each seed. */
void fuzz_seeds(void (*use)(const uint8_t *data, size_t size));

#endif
