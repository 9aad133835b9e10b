/* SPDX-License-Identifier: Apache-2.0 */
/* Every arithmetic instruction against plain C, on special and random operands.
 *
 * A case is one line: where the result is, the instructions, and the expected bits in terms of the
 * operands a, b and c (64 random or special bits, of which %h1.., %r1.. and %d1.. hold the low 16,
 * 32 and all). CASE: the very bits (any NaN of a double is equal); NEAR: within 2^-22, for
 * approximations.
 */
#include <fenv.h>
#include <float.h>
#include <math.h>

#include "ptx_fixture.h"

static float f32(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, 4);
    return f;
}

static double f64(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static uint64_t of32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return isnan(f) ? 0x7fffffffu : bits;
}

static uint64_t of64(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, 8);
    return isnan(d) ? 0x7ff8000000000000u : bits;
}

static float ftz(float f)
{
    return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

/* The float nearest to an exact or long double value, in a direction. */
static float rounded(long double x, int direction)
{
    fesetround(direction);
    volatile long double v = x;
    volatile float f = (float)v;
    fesetround(FE_TONEAREST);
    return f;
}

static int64_t s32(uint64_t x)
{
    return (int32_t)(uint32_t)x;
}

static int64_t s16(uint64_t x)
{
    return (int16_t)(uint16_t)x;
}

#define U32(x) ((uint64_t)(uint32_t)(x))
#define U16(x) ((uint64_t)(uint16_t)(x))

static uint64_t clamp(long double x, long double low, long double high)
{
    return isnan(x) ? 0 : (uint64_t)(int64_t)(x < low ? low : x > high ? high : x);
}

static uint64_t least32(float a, float b)
{
    return of32(isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? a : b) : fminf(a, b));
}

static uint64_t most32(float a, float b)
{
    return of32(isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? b : a) : fmaxf(a, b));
}

static uint64_t field(uint64_t x, uint64_t start, uint64_t length, int bits, int is_signed)
{
    uint64_t result = 0, sign = 0;
    start &= 255;
    length &= 255;
    if (is_signed && length > 0) {
        const uint64_t last = start + length - 1;
        sign = x >> (last < (uint64_t)bits ? last : (uint64_t)bits - 1) & 1;
    }
    for (uint64_t i = 0; i < (uint64_t)bits; i++) {
        const uint64_t bit = i < length && start + i < (uint64_t)bits ? x >> (start + i) & 1 : sign;
        result |= bit << i;
    }
    return result;
}

static uint64_t insert(uint64_t from, uint64_t into, uint64_t start, uint64_t length, int bits)
{
    start &= 255;
    length &= 255;
    for (uint64_t i = 0; i < length && start + i < (uint64_t)bits; i++) {
        into &= ~(1ull << (start + i));
        into |= (from >> i & 1) << (start + i);
    }
    return into;
}

static uint64_t bytes_by(uint64_t a, uint64_t b, uint64_t selector)
{
    uint64_t result = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned pick = selector >> 4 * i & 15;
        const uint64_t byte = ((pick & 4 ? b : a) >> 8 * (pick & 3)) & 0xff;
        result |= (pick & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
    }
    return result;
}

static uint64_t mirrored(uint64_t x, int bits)
{
    uint64_t result = 0;
    for (int i = 0; i < bits; i++)
        result |= (x >> i & 1) << (bits - 1 - i);
    return result;
}

static uint64_t leading_zeros(uint64_t x, int bits)
{
    int n = 0;
    while (n < bits && !(x >> (bits - 1 - n) & 1))
        n++;
    return (uint64_t)n;
}

static uint64_t popcount(uint64_t x)
{
    uint64_t n = 0;
    for (; x != 0; x >>= 1)
        n += x & 1;
    return n;
}

/* f16 and bf16 by value: the nearest of all 65536, ties to the even pattern. */
static float half_value(uint64_t bits, int is_bf16)
{
    const int mantissa = is_bf16 ? 7 : 10, bias = is_bf16 ? 127 : 15;
    const int exponent = (int)((bits & 0x7fff) >> mantissa);
    const int fraction = (int)(bits & ((1u << mantissa) - 1));
    float f = exponent == 0 ? ldexpf((float)fraction, 1 - bias - mantissa)
                            : ldexpf((float)(fraction | 1 << mantissa), exponent - bias - mantissa);
    if (exponent == (is_bf16 ? 255 : 31))
        f = fraction != 0 ? NAN : INFINITY;
    return bits & 0x8000 ? -f : f;
}

static uint64_t half_bits(float f, int is_bf16)
{
    if (isnan(f))
        return 0x7fff;
    const uint64_t sign = signbit(f) ? 0x8000 : 0, infinite = is_bf16 ? 0x7f80 : 0x7c00;
    const long double x = fabsl((long double)f);
    uint64_t low = 0, high = infinite; /* bisection: the patterns are ordered like their values */
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        if ((long double)half_value(middle, is_bf16) <= x)
            low = middle;
        else
            high = middle;
    }
    const long double below = half_value(low, is_bf16);
    const long double above =
        high == infinite ? (is_bf16 ? 0x1p128L : 65536.0L) : (long double)half_value(high, is_bf16);
    const long double down = x - below, up = above - x;
    const uint64_t nearest = isinf(f)                                    ? infinite
                             : down < up || (down == up && low % 2 == 0) ? low
                                                                         : high;
    return sign | nearest;
}

static uint64_t toward_zero(float f, int is_bf16)
{
    if (isnan(f))
        return 0x7fff;
    const uint64_t sign = signbit(f) ? 0x8000 : 0;
    uint64_t bits = half_bits(fabsf(f), is_bf16);
    if (!isinf(f) && half_value(bits, is_bf16) > fabsf(f))
        bits--;
    return sign | bits;
}

/* The list once as a switch for the values and once as a table of the rest. */
static uint64_t expected_value(int which, uint64_t a, uint64_t b, uint64_t c)
{
    int i = 0;
#define CASE(result, body, value)                                                                  \
    if (which == i++)                                                                              \
        return (uint64_t)(value);
#define NEAR CASE
#include "ptx_arithmetic_cases.h"
#undef CASE
#undef NEAR
    return 0;
}

static const struct {
    const char *result, *body; /* result: register h0, r0, d0 or p0 */
    int approximate;
} cases[] = {
#define CASE(result, body, value) {result, body, 0},
#define NEAR(result, body, value) {result, body, 1},
#include "ptx_arithmetic_cases.h"
#undef CASE
#undef NEAR
};

enum { LANES = 256, OPERANDS = 3 };

/* Pairs of the patterns that matter most to fp32, special ones of every type, random bits. */
static void make_operands(uint64_t operands[LANES][OPERANDS])
{
    static const uint64_t special[] = {0,
                                       1,
                                       2,
                                       3,
                                       31,
                                       32,
                                       33,
                                       63,
                                       64,
                                       255,
                                       0x7fff,
                                       0x8000,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x7fffffffffffffff,
                                       0x8000000000000000,
                                       0xffffffffffffffff,
                                       0x3f800000,
                                       0xbf800000,
                                       0x3f000000,
                                       0x7f800000,
                                       0xff800000,
                                       0x7fc00000,
                                       0x00000001,
                                       0x80000001,
                                       0x00800000,
                                       0x007fffff,
                                       0x7f7fffff,
                                       0x4b000001,
                                       0x4effffff,
                                       0x4f000000,
                                       0x3e99999a,
                                       0x40490fdb,
                                       0xc2c80000,
                                       0x477fefff,
                                       0x477ff000,
                                       0x38800000,
                                       0x33000000,
                                       0x3ff0000000000000,
                                       0xbff0000000000000,
                                       0x7ff0000000000000,
                                       0x7ff8000000000000,
                                       0x0000000000000001,
                                       0x0010000000000000,
                                       0x400921fb54442d18,
                                       0x3810000000000001,
                                       0x47efffffffffffff,
                                       0x3c00,
                                       0x7c00,
                                       0xfc01,
                                       0x0400,
                                       0x03ff,
                                       0x7bff};
    const size_t count = sizeof(special) / sizeof(special[0]);
    static const uint64_t pairs[] = {0,          0x80000000, 1,          0x3f800000,
                                     0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001};
    uint64_t seed = 20260401;
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < OPERANDS; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t bits = seed >> 32;
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bits |= seed & 0xffffffff00000000u;
            /* Two in three are special; some of the rest are floats of ordinary size. */
            if (seed >> 40 & 1)
                bits = special[bits % count];
            else if (seed >> 41 & 1)
                bits = (bits & 0xbfffffff83ffffffu) | 0x3c00000038000000u;
            operands[lane][i] = bits;
        }
        if (lane < 64) {
            operands[lane][0] = pairs[lane % 8];
            operands[lane][1] = pairs[lane / 8];
        }
    }
}

static int equal(int approximate, char result, uint64_t got, uint64_t want)
{
    if (result == 'd' && isnan(f64(got)) && isnan(f64(want)))
        return 1; /* only fp32 has one NaN */
    if (!approximate || got == want)
        return got == want;
    return fabsf(f32(got) - f32(want)) <= 0x1p-22f * fabsf(f32(want));
}

static void every_instruction_gives_the_value_of_plain_c(void **state)
{
    static uint64_t operands[LANES][OPERANDS];
    make_operands(operands);
    const uint64_t in = sim_upload(operands, sizeof(operands)), out = sim_new(LANES * 8);
    static const char operands_of_lane[] =
        "mad.wide.u32 %d10, %r20, 24, %d20; mad.wide.u32 %d11, %r20, 8, %d21;"
        "ld.global.u64 %d1, [%d10]; ld.global.u64 %d2, [%d10+8]; ld.global.u64 %d3, [%d10+16];"
        "cvt.u32.u64 %r1, %d1; cvt.u32.u64 %r2, %d2; cvt.u32.u64 %r3, %d3;"
        "cvt.u16.u64 %h1, %d1; cvt.u16.u64 %h2, %d2; cvt.u16.u64 %h3, %d3;";
    int failures = 0;
    for (int i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++) {
        char body[2048];
        const char kind = cases[i].result[0];
        snprintf(body, sizeof(body), "%s%s\n%s\nst.global.u64 [%%d11], %%d0;", operands_of_lane,
                 cases[i].body,
                 kind == 'h'   ? "cvt.u64.u16 %d0, %h0;"
                 : kind == 'r' ? "cvt.u64.u32 %d0, %r0;"
                 : kind == 'p' ? "selp.b64 %d0, 1, 0, %p0;"
                               : "");
        sim_load_body(body);
        sim_assert_clean(sim_run((struct sim_shape){1, LANES, 0}, in, out, 0));
        uint64_t got[LANES];
        memcpy(got, sim_read(out, sizeof(got)), sizeof(got));
        for (int lane = 0; lane < LANES; lane++) {
            const uint64_t *o = operands[lane], want = expected_value(i, o[0], o[1], o[2]);
            if (equal(cases[i].approximate, kind, got[lane], want))
                continue;
            print_error("%s: a=%016llx b=%016llx c=%016llx: got %016llx, want %016llx\n",
                        cases[i].body, (unsigned long long)o[0], (unsigned long long)o[1],
                        (unsigned long long)o[2], (unsigned long long)got[lane],
                        (unsigned long long)want);
            failures++;
            break;
        }
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {SIM_TEST(every_instruction_gives_the_value_of_plain_c)};
    return cmocka_run_group_tests_name("ptx arithmetic", tests, NULL, NULL);
}
