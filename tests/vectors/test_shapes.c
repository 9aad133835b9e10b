/* SPDX-License-Identifier: Apache-2.0 */
/* Random inputs of other shapes, types and scalars: the device gives the bits of the plain C
 * mirror, and device and host back end agree with the oracle. The seed is printed;
 * MHCSHADOW_TEST_SEED repeats it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "device.h"

#define M    24
#define HEAD 4

/* Each of the small shapes has a row length that is no multiple of 8 or of the block, or a type or
 * scalar that takes another way through the kernels. */
static const struct case_shape shapes[] = {
    {M, 64, 1, MHCS_BF16, MHCS_BF16, MHCS_BF16, 1, 0, true, 1e-3},
    {M, 4, 3, MHCS_F32, MHCS_F32, MHCS_F32, 1, 0, true, 1e-3},
    {M, 12, 2, MHCS_BF16, MHCS_BF16, MHCS_BF16, 1, 0, true, 1e-3},
    {M, 300, 5, MHCS_F32, MHCS_BF16, MHCS_BF16, 1, 0, false, 1e-3},
    {M, 2052, 2, MHCS_BF16, MHCS_F32, MHCS_F32, 1, 0, true, 1e-3},
    {M, 2304, 3, MHCS_F32, MHCS_F32, MHCS_F32, 1, 0, false, 1e-3},
    {M, 520, 4, MHCS_F16, MHCS_F16, MHCS_F32, 1, 0, true, 1e-3},
    {M, 1000, 2, MHCS_F16, MHCS_BF16, MHCS_F16, 0.5f, 0, false, 1e-3},
    {M, 256, 3, MHCS_BF16, MHCS_BF16, MHCS_BF16, -2, 0.75f, true, 1e-3},
    {M, 32, 256, MHCS_F32, MHCS_F32, MHCS_F32, 1, 1, false, 1e-3},
    {HEAD, 512, 3, MHCS_F32, MHCS_BF16, MHCS_BF16, 1, 0, true, 1e-3},
    {HEAD, 20, 2, MHCS_F16, MHCS_F32, MHCS_F32, 1, -1, false, 1e-3},
    {M, 16384, 2, MHCS_BF16, MHCS_BF16, MHCS_BF16, 1, 0, true, 1e-3},
    {M, 1024, 4, MHCS_BF16, MHCS_BF16, MHCS_BF16, 1, 0, true, 0},
    {M, 256, 8, MHCS_BF16, MHCS_BF16, MHCS_F32, 1, 0, true, 1e-6},
    {M, 256, 8, MHCS_F32, MHCS_BF16, MHCS_F32, 1, 0, false, 500}, /* plainly wrong */
    {M, 4096, 16, MHCS_F32, MHCS_BF16, MHCS_BF16, 1, 0, false, 1e-3},
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

static struct reference_out new_out(uint32_t rows)
{
    const struct reference_out out = {calloc(rows * (size_t)MHCS_COEFFICIENTS, sizeof(float)),
                                      calloc(rows * (size_t)MHCS_COEFFICIENTS, sizeof(float)),
                                      calloc(rows, sizeof(float))};
    if (!out.raw || !out.abs_dot || !out.square_sum)
        abort();
    return out;
}

static void free_out(struct reference_out *out)
{
    free(out->raw);
    free(out->abs_dot);
    free(out->square_sum);
}

static int same_floats(const char *name, const char *what, const float *want, const float *have,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&want[i], &have[i], sizeof(float)) != 0) {
            fprintf(stderr, "%s: %s[%zu] is %a, the mirror's %a\n", name, what, i, (double)have[i],
                    (double)want[i]);
            return 1;
        }
    return 0;
}

static int reference_is_the_mirror(const char *name, const struct kernel_case *c, bool checkpoint,
                                   const struct reference_out *mirror)
{
    struct reference_out out = new_out(c->rows);
    device_reference(c, checkpoint, &out);
    const size_t count = c->rows * (size_t)MHCS_COEFFICIENTS;
    const int bad = same_floats(name, "raw", mirror->raw, out.raw, count) +
                    same_floats(name, "abs_dot", mirror->abs_dot, out.abs_dot, count) +
                    same_floats(name, "square_sum", mirror->square_sum, out.square_sum, c->rows);
    free_out(&out);
    return bad;
}

/* The fp32 reference against fp64, as the self-check reports it. */
static int reference_is_accurate(const char *name, const struct kernel_case *c,
                                 const struct reference_out *out, double *ret_worst)
{
    const struct mhcs_host_slot slot = case_host_slot(c);
    float rel[MHCS_ROWS_MAX];
    /* Four values may all happen to be small. */
    const double limit = c->coefficients == HEAD ? 4e-6 : 4e-7;
    int bad = mhcs_host_check(&slot, out->raw, rel) != 0;
    for (uint32_t r = 0; r < c->rows; r++) {
        *ret_worst = fmax(*ret_worst, (double)rel[r]);
        if (!((double)rel[r] <= limit)) {
            fprintf(stderr, "%s: the fp32 reference of row %u is off by %.3e\n", name, r,
                    (double)rel[r]);
            bad++;
        }
    }
    return bad;
}

static int agrees_with_oracle(const char *name, const struct kernel_case *c,
                              const struct mhcs_row_result *device,
                              const struct mhcs_row_result *cublas,
                              const struct mhcs_row_result *host)
{
    int bad = 0;
    for (uint32_t r = 0; r < c->rows; r++) {
        struct oracle_row want = oracle_row(c, r);
        bad += check_row(name, &check_device, c, r, &want, &device[r], NULL);
        bad += check_row(name, &check_cublas, c, r, &want, &cublas[r], NULL);
        bad += check_row(name, &check_host, c, r, &want, &host[r], NULL);
        oracle_free(&want);
    }
    return bad;
}

static int try_shape(const struct case_shape *shape, uint64_t seed)
{
    char name[64];
    snprintf(name, sizeof(name), "%u x %u, %u rows, types %u %u %u", shape->coefficients, shape->k,
             shape->rows, shape->fn_dtype, shape->x_dtype, shape->c_dtype);
    struct kernel_case c = random_case(shape, seed);
    const struct mhcs_host_slot slot = case_host_slot(&c);
    struct mhcs_row_result *const device = calloc(c.rows, sizeof(*device));
    struct mhcs_row_result *const cublas = calloc(c.rows, sizeof(*cublas));
    struct mhcs_row_result *const mirror = calloc(c.rows, sizeof(*mirror));
    struct mhcs_row_result *const host = calloc(c.rows, sizeof(*host));
    struct reference_out operands = new_out(c.rows), checkpoint = new_out(c.rows);
    double worst = 0;
    int bad = 0;
    if (!device || !cublas || !mirror || !host)
        abort();

    mirror_reference(&c, c.fn_bytes, c.fn_dtype, &operands);
    bad += reference_is_the_mirror(name, &c, false, &operands);
    bad += reference_is_accurate(name, &c, &operands, &worst);
    if (c.checkpoint) {
        mirror_reference(&c, c.checkpoint, MHCS_F32, &checkpoint);
        bad += reference_is_the_mirror(name, &c, true, &checkpoint);
    }
    mirror_compare(&c, &operands, c.checkpoint ? &checkpoint : NULL, mirror);
    device_compare(&c, false, device, NULL);
    bad += check_same(name, mirror, device, c.rows);
    device_compare(&c, true, cublas, NULL);
    bad += mhcs_host_reference(&slot, &c.model, host) != 0;
    bad += agrees_with_oracle(name, &c, device, cublas, host);
    printf("%s: reference off by %.1e: %s\n", name, worst, bad ? "WRONG" : "good");

    free_out(&operands);
    free_out(&checkpoint);
    free(device);
    free(cublas);
    free(mirror);
    free(host);
    case_free(&c);
    return bad;
}

/* Rows that are zero, not finite, or too large to square, and a normalised sample: the device says
 * of them what mirror and host say. */
static int try_special_rows(bool normalised, uint64_t seed)
{
    enum { ORDINARY, ZERO, ZERO_X, X_NAN, C_INFINITE, HUGE_X, ROWS };
    const struct case_shape shape = {M, 256, ROWS, MHCS_F32, MHCS_F32, MHCS_F32, 1, 0, false, 1e-3};
    struct kernel_case c = random_case(&shape, seed);
    struct mhcs_row_result mirror[ROWS], device[ROWS], host[ROWS];
    struct reference_out operands = new_out(ROWS);
    const char *const name = normalised ? "normalised rows" : "special rows";
    const size_t k = c.k, row_bytes = k * sizeof(float);
    int bad = 0;

    if (normalised) {
        for (size_t r = 0; r < ROWS; r++) {
            double square = 0;
            for (size_t i = 0; i < k; i++)
                square += pow((double)c.x[r * k + i], 2);
            for (size_t i = 0; i < k; i++)
                c.x[r * k + i] /= (float)sqrt(square / c.k);
        }
    } else {
        memset(c.x + ZERO * k, 0, row_bytes);
        memset(c.c + ZERO * M, 0, M * sizeof(float));
        memset(c.x + ZERO_X * k, 0, row_bytes);
        c.x[X_NAN * k + 77] = NAN;
        c.c[C_INFINITE * M + 3] = -INFINITY;
        for (size_t i = 0; i < k; i++)
            c.x[HUGE_X * k + i] *= 0x1p70f;
    }
    case_encode(&c);

    const struct mhcs_host_slot slot = case_host_slot(&c);
    mirror_reference(&c, c.fn_bytes, c.fn_dtype, &operands);
    mirror_compare(&c, &operands, NULL, mirror);
    device_compare(&c, false, device, NULL);
    bad += check_same(name, mirror, device, ROWS);
    bad += mhcs_host_reference(&slot, &c.model, host) != 0;
    for (int r = 0; r < ROWS; r++) {
        bad += device[r].nonfinite != host[r].nonfinite;
        bad += isnan(device[r].against[MHCS_OPERANDS].rel) !=
               isnan(host[r].against[MHCS_OPERANDS].rel);
        bad += (device[r].rms == 1) != normalised;
    }
    printf("%s: %s\n", name, bad ? "WRONG" : "good");
    free_out(&operands);
    case_free(&c);
    return bad;
}

int main(void)
{
    const char *const given = getenv("MHCSHADOW_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    int bad = 0;
    printf("MHCSHADOW_TEST_SEED=%" PRIu64 "\n", seed);
    device_open();
    for (size_t i = 0; i < SHAPES; i++)
        bad += try_shape(&shapes[i], seed * SHAPES + i);
    bad += try_special_rows(false, seed);
    bad += try_special_rows(true, seed);
    device_close();
    return bad != 0;
}
