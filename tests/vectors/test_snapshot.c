/* SPDX-License-Identifier: Apache-2.0 */
/* mhcs_snapshot and mhcs_fingerprint on the device: any layout is gathered to the same packed
 * bytes, and no byte that the GEMM does not touch is read (the operands end where their allocation
 * ends, so the simulated memory faults on the first byte beyond).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "tools/microtest/bell.h"

/* Where a matrix of the GEMM lies: `by_rows`: rows of length k next to each other, else transposed;
 * `gap` elements between lines; `offset` elements into the allocation. */
struct layout {
    bool by_rows;
    int64_t gap;
    size_t offset;
};

struct snapshot_case {
    const char *name;
    uint32_t dtype, c_dtype, k, coefficients, rows, blocks;
    int64_t tokens;
    struct layout fn, x, c;
};

static const struct snapshot_case cases[] = {
    {"packed", MHCS_BF16, MHCS_BF16, 512, 24, 4, 8, 64, {true, 0, 0}, {true, 0, 0}, {true, 0, 0}},
    {"fp32", MHCS_F32, MHCS_F32, 256, 24, 3, 2, 3, {true, 0, 0}, {true, 0, 0}, {true, 0, 0}},
    {"gaps that keep alignment",
     MHCS_BF16,
     MHCS_F32,
     512,
     24,
     4,
     3,
     9,
     {true, 8, 0},
     {true, 16, 0},
     {true, 8, 0}},
    {"odd gaps and bases",
     MHCS_BF16,
     MHCS_BF16,
     132,
     24,
     5,
     2,
     17,
     {true, 3, 1},
     {true, 1, 3},
     {true, 5, 7}},
    {"a base off by one fp32 element",
     MHCS_F32,
     MHCS_F16,
     64,
     24,
     2,
     1,
     5,
     {true, 0, 1},
     {true, 0, 1},
     {true, 0, 1}},
    {"transposed operands",
     MHCS_BF16,
     MHCS_F32,
     128,
     24,
     3,
     2,
     7,
     {false, 0, 0},
     {false, 1, 0},
     {false, 0, 0}},
    {"transposed fp32 with gaps",
     MHCS_F32,
     MHCS_F32,
     68,
     24,
     3,
     4,
     11,
     {false, 2, 3},
     {false, 0, 1},
     {false, 3, 0}},
    {"head", MHCS_F16, MHCS_F32, 64, 4, 1, 1, 1, {true, 0, 0}, {true, 0, 0}, {true, 0, 0}},
    {"256 rows, more blocks than work",
     MHCS_BF16,
     MHCS_BF16,
     16,
     24,
     256,
     40,
     300,
     {true, 0, 0},
     {true, 0, 0},
     {true, 0, 0}},
};

/* A matrix in host memory and its copy on the device. */
struct matrix {
    struct mhcs_operand operand; /* base: on the device */
    uint8_t *bytes;              /* element (0, 0) */
};

static struct matrix new_matrix(const struct layout *layout, uint32_t dtype, int64_t lines,
                                int64_t length, uint64_t *state)
{
    const size_t size = mhcs_dtype_size(dtype);
    const int64_t inner = layout->by_rows ? length : lines,
                  outer = layout->by_rows ? lines : length;
    const int64_t step = inner + layout->gap;
    const size_t bytes = (size_t)((outer - 1) * step + inner) * size;
    struct matrix m = {.bytes = malloc(bytes)};
    if (!m.bytes)
        abort();
    for (size_t i = 0; i < bytes; i++)
        m.bytes[i] = (uint8_t)random_next(state);
    m.operand = (struct mhcs_operand){.base = device_new(bytes, layout->offset * size),
                                      .row = layout->by_rows ? step : 1,
                                      .col = layout->by_rows ? 1 : step,
                                      .dtype = dtype};
    device_write(m.operand.base, m.bytes, bytes);
    return m;
}

/* Compares a part of the slot with the rows it should hold. */
static int check_part(const char *name, const char *part, const struct matrix *m, uint64_t slot,
                      uint32_t rows, uint32_t length, const int64_t *token)
{
    const size_t size = mhcs_dtype_size(m->operand.dtype), bytes = (size_t)rows * length * size;
    uint8_t *const have = malloc(bytes);
    int bad = 0;
    if (!have)
        abort();
    device_download(have, slot, bytes);
    for (uint32_t r = 0; r < rows && !bad; r++)
        for (uint32_t i = 0; i < length && !bad; i++) {
            const int64_t row = token ? token[r] : r;
            const int64_t at = row * m->operand.row + i * m->operand.col;
            if (memcmp(have + ((size_t)r * length + i) * size, m->bytes + (size_t)at * size,
                       size)) {
                fprintf(stderr, "%s: element (%u, %u) of %s is not that of the matrix\n", name, r,
                        i, part);
                bad = 1;
            }
        }
    free(have);
    return bad;
}

/* The operand as a batch of pointer arrays has it: its address stands in device memory. */
static void make_indirect(struct mhcs_operand *operand)
{
    const uint64_t address = operand->base;

    operand->base = device_upload(&address, sizeof(address));
    operand->indirect = 1;
}

/* The result lies apart from what beta scales, in another layout. */
static int try_snapshot(const struct snapshot_case *s, bool indirect, uint64_t seed)
{
    const struct layout transposed = {!s->c.by_rows, s->c.gap + 1, 1};
    uint64_t state = seed;
    struct matrix fn = new_matrix(&s->fn, s->dtype, s->coefficients, s->k, &state);
    struct matrix x = new_matrix(&s->x, s->dtype, s->tokens, s->k, &state);
    struct matrix c = new_matrix(&s->c, s->c_dtype, s->tokens, s->coefficients, &state);
    struct matrix old_c = new_matrix(&transposed, s->c_dtype, s->tokens, s->coefficients, &state);
    const size_t size = mhcs_dtype_size(s->dtype), c_size = mhcs_dtype_size(s->c_dtype);
    const size_t c_bytes = s->rows * s->coefficients * c_size;
    const float scalars[2] = {0.5f, -3};
    float have[2];
    const uint64_t on_device = device_upload(scalars, sizeof(scalars));
    struct mhcs_snapshot_params p = {.fn = fn.operand,
                                     .x = x.operand,
                                     .c = c.operand,
                                     .old_c = old_c.operand,
                                     .tokens = s->tokens,
                                     .seed = seed,
                                     .coefficients = s->coefficients,
                                     .k = s->k,
                                     .rows = s->rows,
                                     .parts = MHCS_PART_FN | MHCS_PART_X | MHCS_PART_C |
                                              MHCS_PART_OLD_C | MHCS_PART_SCALARS,
                                     .alpha = on_device,
                                     .beta = on_device + sizeof(float),
                                     .scalar_dtype = MHCS_F32,
                                     .to_fn = device_new(s->coefficients * s->k * size, 0),
                                     .to_x = device_new(s->rows * s->k * size, 0),
                                     .to_c = device_new(c_bytes, 0),
                                     .to_old_c = device_new(c_bytes, 0),
                                     .to_scalars = device_new(sizeof(have), 0)};
    int64_t token[MHCS_ROWS_MAX];
    int bad = 0;
    for (uint32_t r = 0; r < s->rows; r++)
        token[r] = mhcs_row_index(seed, r, s->rows, s->tokens);

    if (indirect) {
        make_indirect(&p.fn);
        make_indirect(&p.x);
        make_indirect(&p.c);
        make_indirect(&p.old_c);
    }
    device_launch(DEVICE_SNAPSHOT, s->blocks, &p);
    bad += check_part(s->name, "fn", &fn, p.to_fn, s->coefficients, s->k, NULL);
    bad += check_part(s->name, "x", &x, p.to_x, s->rows, s->k, token);
    bad += check_part(s->name, "c", &c, p.to_c, s->rows, s->coefficients, token);
    bad += check_part(s->name, "old c", &old_c, p.to_old_c, s->rows, s->coefficients, token);
    device_download(have, p.to_scalars, sizeof(have));
    bad += memcmp(have, scalars, sizeof(have)) != 0;
    printf("snapshot, %s%s: %s\n", s->name, indirect ? ", by addresses on the device" : "",
           bad ? "WRONG" : "good");

    free(fn.bytes);
    free(x.bytes);
    free(c.bytes);
    free(old_c.bytes);
    device_reset();
    return bad;
}

/* A part that was not asked for is not written. */
static int unasked_parts_stay(uint64_t seed)
{
    const uint16_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint16_t have[8], untouched[8] = {0xabcd};
    struct mhcs_snapshot_params p = {
        .x = {.base = device_upload(x, sizeof(x)), .row = 8, .col = 1, .dtype = MHCS_BF16},
        .tokens = 1,
        .seed = seed,
        .coefficients = 24,
        .k = 8,
        .rows = 1,
        .parts = MHCS_PART_X,
        .to_fn = device_upload(untouched, sizeof(untouched)),
        .to_x = device_new(sizeof(x), 0)};
    device_launch(DEVICE_SNAPSHOT, 1, &p);
    device_download(have, p.to_x, sizeof(have));
    int bad = memcmp(have, x, sizeof(x)) != 0;
    device_download(have, p.to_fn, sizeof(have));
    bad += memcmp(have, untouched, sizeof(have)) != 0;
    printf("snapshot, x alone: %s\n", bad ? "WRONG" : "good");
    device_reset();
    return bad;
}

static int try_fingerprint(uint32_t dtype, uint32_t k, uint64_t seed)
{
    uint64_t state = seed;
    const size_t count = (size_t)MHCS_COEFFICIENTS * k;
    struct mhcs_fingerprint_row want[MHCS_COEFFICIENTS], have[MHCS_COEFFICIENTS];
    uint8_t *const fn = malloc(count * 4);
    if (!fn)
        abort();
    for (size_t i = 0; i < count * 4; i++) /* any bits: NaN, infinities and denormals too */
        fn[i] = (uint8_t)random_next(&state);
    struct mhcs_fingerprint_params p = {.fn = device_upload(fn, count * mhcs_dtype_size(dtype)),
                                        .fn_dtype = dtype,
                                        .coefficients = MHCS_COEFFICIENTS,
                                        .k = k,
                                        .out = device_new(sizeof(have), 0)};
    device_launch(DEVICE_FINGERPRINT, MHCS_COEFFICIENTS, &p);
    device_download(have, p.out, sizeof(have));
    mhcs_host_fingerprint(fn, dtype, MHCS_COEFFICIENTS, k, want);
    const int bad = memcmp(want, have, sizeof(want)) != 0;
    printf("fingerprint of type %u, k %u: %s\n", dtype, k, bad ? "not the host's" : "good");
    free(fn);
    device_reset();
    return bad;
}

int main(void)
{
    const char *const given = getenv("MHCSHADOW_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    int bad = 0;
    printf("MHCSHADOW_TEST_SEED=%" PRIu64 "\n", seed);
    device_open();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int indirect = 0; indirect < 2; indirect++)
            bad += try_snapshot(&cases[i], indirect, seed + i);
    bad += unasked_parts_stay(seed);
    for (uint32_t dtype = MHCS_F32; dtype <= MHCS_F16; dtype++)
        bad += try_fingerprint(dtype, 1000, seed + dtype);
    device_close();
    return bad != 0;
}
