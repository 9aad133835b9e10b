/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that nvcc compiled (fixtures/compiled.cu), for each architecture, against plain C, bit
 * for bit. argv[1]: their fatbin.
 */
#include <math.h>

#include "ptx_fixture.h"

enum { THREADS = 128, BLOCKS = 4, N = THREADS * BLOCKS };
static const struct sim_shape shape = {BLOCKS, THREADS, 0};

static char *image; /* the fatbin */
static uint32_t arch;

static int load(void **state)
{
    char err[600];
    sim_setup(state);
    char *text = fatbin_ptx(image, arch, err, sizeof(err));
    if (text == NULL)
        fail_msg("%s", err);
    sim_load(text);
    free(text);
    return 0;
}

static uint32_t random_bits(void)
{
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

static float random_float(void) /* [-1, 1) */
{
    return (float)(int32_t)random_bits() * 0x1p-31f;
}

static void assert_same(const char *what, uint64_t address, const void *expected, size_t bytes)
{
    const uint8_t *got = sim_read(address, bytes), *want = expected;
    for (size_t i = 0; i < bytes; i++) {
        if (got[i] != want[i])
            fail_msg("sm_%u: %s differs first at byte %zu of %zu", arch, what, i, bytes);
    }
}

static void diverging_loops(void **state)
{
    static const uint32_t odd[] = {3, 5, 7, 11};
    uint32_t in[N], out[N - 5];
    for (uint32_t i = 0; i < N; i++)
        in[i] = random_bits() >> i % 29;
    for (uint32_t i = 0; i < N - 5; i++) {
        uint32_t x = in[i], steps = 0;
        for (; x > 1 && steps < 200; steps++)
            x = x % 6 == 0   ? x / 6
                : x % 2 == 0 ? x / 2
                : x % 3 == 0 ? x / 3 + odd[x & 3]
                             : x * odd[steps & 3] + 1;
        out[i] = (steps << 24) ^ x;
    }
    struct {
        uint64_t in, out;
        uint32_t n;
    } p = {sim_upload(in, sizeof(in)), sim_new(sizeof(out)), N - 5};
    sim_assert_clean(sim_launch("diverge", shape, &p));
    assert_same("out", p.out, out, sizeof(out));
}

static void tree_sums(void **state)
{
    float in[4 * 256], part[256], out[4];
    for (int i = 0; i < 4 * 256; i++)
        in[i] = random_float();
    for (int block = 0; block < 4; block++) {
        memcpy(part, in + 256 * block, sizeof(part));
        for (int half = 128; half > 0; half /= 2) {
            for (int i = 0; i < half; i++)
                part[i] += part[i + half];
        }
        out[block] = part[0];
    }
    const uint64_t p[] = {sim_upload(in, sizeof(in)), sim_new(sizeof(out))};
    sim_assert_clean(sim_launch("block_sums", (struct sim_shape){4, 256, 0}, p));
    assert_same("sums", p[1], out, sizeof(out));
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void arrays_in_local_memory(void **state)
{
    static uint32_t words[8 * N];
    for (int i = 0; i < 8 * N; i++)
        words[i] = random_bits() % 100;
    const uint64_t p[] = {sim_upload(words, sizeof(words)), sim_new(sizeof(words))};
    sim_assert_clean(sim_launch("sort_eight", shape, p));
    for (int i = 0; i < N; i++)
        qsort(words + 8 * i, 8, sizeof(uint32_t), by_value);
    assert_same("sorted", p[1], words, sizeof(words));
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 31);
}

static void atomics_of_64_bits(void **state)
{
    enum { WORDS = 3000 };
    uint32_t in[WORDS];
    uint64_t sums[2] = {7, 0x1234};
    double largest = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        in[i] = random_bits();
    struct {
        uint64_t in, sums, largest;
        uint32_t n;
    } p = {sim_upload(in, sizeof(in)), sim_upload(sums, sizeof(sums)), sim_upload(&largest, 8),
           WORDS};
    sim_assert_clean(sim_launch("hash", shape, &p));
    for (uint32_t i = 0; i < WORDS; i++) {
        const uint64_t h = mix((uint64_t)i << 32 ^ in[i]);
        sums[0] += h;
        largest = fmax(largest, (double)(h >> 11) * 0x1p-53);
    }
    sums[1] ^= 0xf0f0;
    assert_same("sums", p.sums, sums, sizeof(sums));
    assert_same("largest", p.largest, &largest, sizeof(largest));
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

static void called_functions(void **state)
{
    enum { DEGREE = 5 };
    float in[N], out[N];
    uint32_t divisors[N];
    for (uint32_t i = 0; i < N; i++) {
        in[i] = random_float();
        out[i] = in[i] * (DEGREE - 2) + DEGREE;
        for (int k = DEGREE - 1; k >= 0; k--)
            out[i] = out[i] * in[i] + (in[i] * (float)(k - 2) + (float)k);
        divisors[i] = gcd(i * 12 + 36, 5040);
    }
    struct {
        uint64_t in, out, divisors;
        int degree;
    } p = {sim_upload(in, sizeof(in)), sim_new(sizeof(out)), sim_new(sizeof(divisors)), DEGREE};
    sim_assert_clean(sim_launch("call", shape, &p));
    assert_same("polynomials", p.out, out, sizeof(out));
    assert_same("divisors", p.divisors, divisors, sizeof(divisors));
}

/* To 8 significant bits, ties to even; the arguments are far from overflow and underflow. */
static float to_bf16(float x)
{
    int exponent;
    frexpf(x, &exponent);
    return ldexpf(nearbyintf(ldexpf(x, 8 - exponent)), exponent - 8);
}

static uint16_t bf16_bits(float x)
{
    uint32_t bits;
    x = to_bf16(x);
    memcpy(&bits, &x, 4);
    return (uint16_t)(bits >> 16);
}

/* Of multiples of 2^-10 below 2: exact. */
static uint16_t f16_bits(float x)
{
    int exponent;
    const float mantissa = frexpf(fabsf(x), &exponent);
    const float rounded = nearbyintf(ldexpf(mantissa, 11)); /* 1024..2048 */
    return (uint16_t)((x < 0 ? 0x8000 : 0) | (x == 0 ? 0 : (exponent + 13) * 1024 + (int)rounded));
}

static void sixteen_bit_floats(void **state)
{
    uint16_t b[N], h[N], out_b[N], out_h[N];
    float out[2 * N];
    for (uint32_t i = 0; i < N; i++) {
        const float x = to_bf16(random_float()),
                    y = (float)(int)(random_bits() % 2048 + 1) * 0x1p-10f;
        const float s = x * 0.75f + y;
        b[i] = bf16_bits(x);
        h[i] = f16_bits(y);
        out_b[i] = bf16_bits(s);
        out_h[i] = f16_bits(s);
        out[2 * i] = to_bf16(x * y);
        out[2 * i + 1] = to_bf16(x - y) + sqrtf(fabsf(y)) / (x + 3.0f);
    }
    const uint64_t p[] = {sim_upload(b, sizeof(b)), sim_upload(h, sizeof(h)), sim_new(sizeof(b)),
                          sim_new(sizeof(h)), sim_new(sizeof(out))};
    sim_assert_clean(sim_launch("narrow", shape, p));
    assert_same("bf16", p[2], out_b, sizeof(out_b));
    assert_same("f16", p[3], out_h, sizeof(out_h));
    assert_same("fp32", p[4], out, sizeof(out));
}

static void doubles_and_wide_integers(void **state)
{
    double in[N], out[N];
    int64_t whole[2 * N];
    struct {
        uint64_t in, out, whole;
        double scale;
        int32_t shift;
        uint8_t flag;
        uint64_t big;
    } p = {.scale = 3.25, .shift = 2, .flag = 201, .big = 0xfedcba9876543210u};
    for (int i = 0; i < N; i++) {
        in[i] = (double)random_float() * 17.0;
        const double x = in[i] * p.scale;
        out[i] = sqrt(fabs(x)) / (1.0 + x * x) - fma(x, x, (double)i);
        whole[2 * i] = (int64_t)floor(x * 1000.0) >> p.shift;
        const unsigned __int128 product = (unsigned __int128)p.big * (p.big - (uint64_t)i) + p.flag;
        whole[2 * i + 1] = (int64_t)(uint64_t)(product >> 40) / (i + 1);
    }
    p.in = sim_upload(in, sizeof(in));
    p.out = sim_new(sizeof(out));
    p.whole = sim_new(sizeof(whole));
    sim_assert_clean(sim_launch("wide", shape, &p));
    assert_same("doubles", p.out, out, sizeof(out));
    assert_same("integers", p.whole, whole, sizeof(whole));
}

static void tiles_of_a_warp(void **state)
{
    enum { WORDS = 1024 };
    uint32_t in[WORDS], scan[WORDS], below[WORDS], turned[WORDS];
    for (uint32_t i = 0; i < WORDS; i++)
        in[i] = random_bits();
    for (uint32_t i = 0; i < N; i++) {
        scan[i] = in[i] + (i % 8 > 0 ? scan[i - 1] : 0);
        below[i] = i % 32 > 0 ? below[i - 1] + (in[i - 1] & 1) : 0;
    }
    for (uint32_t i = 0; i < WORDS; i++)
        turned[i] = in[i % 32 * 32 + i / 32];
    const uint64_t p[] = {sim_upload(in, sizeof(in)), sim_new(4 * N), sim_new(4 * N),
                          sim_new(sizeof(turned))};
    sim_assert_clean(sim_launch("tiles", (struct sim_shape){BLOCKS, THREADS, 32 * 33 * 4}, p));
    assert_same("scan", p[1], scan, 4 * N);
    assert_same("below", p[2], below, 4 * N);
    assert_same("turned", p[3], turned, sizeof(turned));
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = calloc(1, 4 << 20);
    assert_true(fread(bytes, 1, 4 << 20, f) > 0);
    fclose(f);
    return bytes;
}

int main(int argc, char **argv)
{
    static const uint32_t archs[] = {80, 90, 100, 120};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(diverging_loops, load, sim_teardown),
        cmocka_unit_test_setup_teardown(tree_sums, load, sim_teardown),
        cmocka_unit_test_setup_teardown(arrays_in_local_memory, load, sim_teardown),
        cmocka_unit_test_setup_teardown(atomics_of_64_bits, load, sim_teardown),
        cmocka_unit_test_setup_teardown(called_functions, load, sim_teardown),
        cmocka_unit_test_setup_teardown(sixteen_bit_floats, load, sim_teardown),
        cmocka_unit_test_setup_teardown(doubles_and_wide_integers, load, sim_teardown),
        cmocka_unit_test_setup_teardown(tiles_of_a_warp, load, sim_teardown),
    };
    int failed = argc != 2;
    for (size_t i = 0; i < 4 && !failed; i++) {
        char name[32];
        image = read_file(argv[1]);
        arch = archs[i];
        snprintf(name, sizeof(name), "nvcc's code for sm_%u", arch);
        failed |= cmocka_run_group_tests_name(name, tests, NULL, NULL);
        free(image);
    }
    return failed;
}
