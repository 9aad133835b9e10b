/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without a fuzzer: over the files given, or over its seeds, cuts of them and
 * random changes to them. MHCS_TEST_SEED repeats a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"
#include "tests/fuzz/fuzz.h"

#define CUTS 500

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    return mhcs_mix64(seed += UINT64_C(0x9E3779B97F4A7C15)) % below;
}

/* Exactly as large as the input, so that a sanitizer sees a read beyond it. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size != 0 ? size : 1);

    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void change(uint8_t *data, size_t size)
{
    static const uint32_t numbers[] = {0,      1,          2,          7,          24,
                                       0xffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    const size_t at = draw(size);
    uint32_t number = numbers[draw(sizeof numbers / sizeof *numbers)];

    switch (draw(5)) {
    case 0:
        data[at] ^= (uint8_t)(1U << draw(8));
        break;
    case 1:
        data[at] = (uint8_t)draw(256);
        break;
    case 2: /* most numbers in these formats are aligned */
        if (size >= 4)
            memcpy(data + at / 4 * 4 % (size - 3), &number, sizeof number);
        break;
    case 3:
        data[at] = (uint8_t)(data[at] + draw(17) - 8);
        break;
    case 4: {
        const size_t from = draw(size), longest = size - (from > at ? from : at);
        memmove(data + at, data + from, 1 + draw(longest < 64 ? longest : 64));
        break;
    }
    }
}

static void use_seed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size);

    if (copy == NULL)
        abort();
    run(data, size);
    for (size_t i = 0; i < CUTS; i++)
        run(data, size * i / CUTS);
    for (int i = 0; i < MUTATIONS; i++) {
        memcpy(copy, data, size);
        for (uint64_t changes = 1 + draw(6); changes != 0; changes--)
            change(copy, size);
        run(copy, size);
    }
    free(copy);
}

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(1 << 24);

    if (file == NULL || data == NULL) {
        perror(path);
        return 1;
    }
    run(data, fread(data, 1, 1 << 24, file));
    fclose(file);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    const char *text = getenv("MHCS_TEST_SEED");

    if (argc > 1) {
        for (int i = 1; i < argc; i++)
            if (run_file(argv[i]) != 0)
                return 1;
        return 0;
    }
    seed = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("MHCS_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    fuzz_seeds(use_seed);
    return 0;
}
