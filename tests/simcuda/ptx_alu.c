/* SPDX-License-Identifier: Apache-2.0 */
/* The lane functions of ptx_alu_list.h, and comparisons; compiled once per instruction set. */
#include "ptx_alu.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* PTX_ALU_SET names the instruction set that this compilation is for. */
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

typedef uint32_t pred; /* a source of this type is one mask, not an array */

#define SHIFT_BITS(T)           ((uint32_t)sizeof(T) * 8)
#define SHIFT_OUT(T, n)         ((n) >= SHIFT_BITS(T))
#define SHIFT_CLAMP(T, n)       ((n) < SHIFT_BITS(T) ? (n) : SHIFT_BITS(T) - 1)
#define HIGH_SIGNED(UT, a, b)   ((UT)(((__int128)(a) * (b)) >> SHIFT_BITS(UT)))
#define HIGH_UNSIGNED(UT, a, b) ((UT)(((unsigned __int128)(a) * (b)) >> SHIFT_BITS(UT)))
#define UNSIGNED24(x)           ((uint64_t)((x)&0xffffffu))
#define SIGNED24(x)             ((int64_t)((int32_t)((x) << 8) >> 8))
#define SATURATE32(x)           ((int32_t)((x) > INT32_MAX ? INT32_MAX : (x) < INT32_MIN ? INT32_MIN : (x)))
#define PAIR(high, low)         ((uint64_t)(high) << 32 | (low))

#define SAME(x)          (x)
#define FLUSH(x)         flushed(x)
#define ONE_NAN(x)       one_nan(x)
#define FLUSH_ONE_NAN(x) flushed(one_nan(x))
#define UNIT(x)          unit(x)

static inline float the_nan(void)
{
    const uint32_t bits = 0x7fffffffu;
    float nan;
    memcpy(&nan, &bits, sizeof(nan));
    return nan;
}

static inline float one_nan(float x)
{
    return x != x ? the_nan() : x;
}

static inline float flushed(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x;
}

static inline float unit(float x) /* .sat: [0, 1], NaN and -0 give +0 */
{
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

/* The smaller, -0 below +0; of a number and a NaN the number. */
static inline float smaller(float a, float b)
{
    const float least = a < b || (a == b && signbit(a)) ? a : b;
    return a != a ? one_nan(b) : b != b ? a : least;
}

static inline double smaller_double(double a, double b)
{
    const double least = a < b || (a == b && signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : least;
}

static inline uint64_t reversed(uint64_t x)
{
    x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    return __builtin_bswap64(x);
}

static inline uint32_t top_bit(uint64_t x)
{
    return x == 0 ? UINT32_MAX : 63 - (uint32_t)__builtin_clzll(x);
}

/* bfe: `length` bits from `start`; the sign bit is the field's last, or the number's if beyond. */
static inline uint64_t bit_field(uint64_t x, uint32_t start, uint32_t length, uint32_t bits,
                                 bool is_signed)
{
    start &= 255;
    length &= 255;
    const uint32_t last = start + length - 1 < bits - 1 ? start + length - 1 : bits - 1;
    const uint64_t sign = is_signed && length > 0 ? x >> last & 1 : 0;
    const uint64_t field = start < bits ? x >> start : 0;
    const uint32_t have = start >= bits ? 0 : length < bits - start ? length : bits - start;
    const uint64_t mask = have >= 64 ? UINT64_MAX : (1ull << have) - 1;
    return (field & mask) | (sign ? ~mask : 0);
}

static inline uint64_t bit_insert(uint64_t from, uint64_t into, uint32_t start, uint32_t length,
                                  uint32_t bits)
{
    start &= 255;
    length &= 255;
    if (start >= bits)
        return into;
    if (length > bits - start)
        length = bits - start;
    const uint64_t mask = (length >= 64 ? UINT64_MAX : (1ull << length) - 1) << start;
    return (into & ~mask) | (from << start & mask);
}

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t bytes = PAIR(b, a);
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t pick = selector >> 4 * i & 15;
        uint32_t byte = (uint32_t)(bytes >> 8 * (pick & 7)) & 0xff;
        if (pick & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}

static inline uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t result = 0;
    for (uint32_t i = 0; i < 8; i++) {
        if (table >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    }
    return result;
}

static inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool a_signed, bool b_signed)
{
    for (uint32_t i = 0; i < 32; i += 8) {
        const int32_t x = a_signed ? (int8_t)(a >> i) : (uint8_t)(a >> i);
        const int32_t y = b_signed ? (int8_t)(b >> i) : (uint8_t)(b >> i);
        c += (uint32_t)(x * y);
    }
    return c;
}

/* Element i of a source of each type, and the bytes of one. */
#define AT_uint16_t(p, i) (((const uint16_t *)p)[i])
#define AT_uint32_t(p, i) (((const uint32_t *)p)[i])
#define AT_uint64_t(p, i) (((const uint64_t *)p)[i])
#define AT_int16_t(p, i)  (((const int16_t *)p)[i])
#define AT_int32_t(p, i)  (((const int32_t *)p)[i])
#define AT_int64_t(p, i)  (((const int64_t *)p)[i])
#define AT_float(p, i)    (((const float *)p)[i])
#define AT_double(p, i)   (((const double *)p)[i])
#define AT_pred(p, i)     (*(const uint32_t *)p >> i & 1)
#define WIDTH_pred        0
#define WIDTH_uint16_t    2
#define WIDTH_int16_t     2
#define WIDTH_uint32_t    4
#define WIDTH_int32_t     4
#define WIDTH_float       4
#define WIDTH_uint64_t    8
#define WIDTH_int64_t     8
#define WIDTH_double      8

/* Lanes are independent even where d is one of the sources. */
#if defined(__clang__)
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < PTX_LANES; i++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (int i = 0; i < PTX_LANES; i++)
#endif

/* A lane that is switched off computes as well, and keeps its old value. */
#define FUNCTION(name, D, sources, expression)                                                     \
    static void lane_##name(void *pd, const void *pa, const void *pb, const void *pc,              \
                            const void *pe, const uint32_t *lanes)                                 \
    {                                                                                              \
        (void)pa, (void)pb, (void)pc, (void)pe;                                                    \
        EACH_LANE                                                                                  \
        {                                                                                          \
            sources;                                                                               \
            const D old = ((D *)pd)[i];                                                            \
            const D new = (D)(expression);                                                         \
            ((D *)pd)[i] = lanes[i] ? new : old;                                                   \
        }                                                                                          \
    }
#define SOURCE(T, name)                 const T name = AT_##T(p##name, i)
#define ALU1(name, D, A, expression)    FUNCTION(name, D, SOURCE(A, a), expression)
#define ALU2(name, D, A, B, expression) FUNCTION(name, D, SOURCE(A, a); SOURCE(B, b), expression)
#define ALU3(name, D, A, B, C, expression)                                                         \
    FUNCTION(name, D, SOURCE(A, a); SOURCE(B, b); SOURCE(C, c), expression)
#define ALU4(name, D, A, B, C, E, expression)                                                      \
    FUNCTION(name, D, SOURCE(A, a); SOURCE(B, b); SOURCE(C, c); SOURCE(E, e), expression)
#include "ptx_alu_list.h"
#undef ALU1
#undef ALU2
#undef ALU3
#undef ALU4

#define ROW(name, count, ...)           {#name, lane_##name, count, __VA_ARGS__},
#define ALU1(name, D, A, expression)    ROW(name, 1, WIDTH_##D, {WIDTH_##A})
#define ALU2(name, D, A, B, expression) ROW(name, 2, WIDTH_##D, {WIDTH_##A, WIDTH_##B})
#define ALU3(name, D, A, B, C, expression)                                                         \
    ROW(name, 3, WIDTH_##D, {WIDTH_##A, WIDTH_##B, WIDTH_##C})
#define ALU4(name, D, A, B, C, E, expression)                                                      \
    ROW(name, 4, WIDTH_##D, {WIDTH_##A, WIDTH_##B, WIDTH_##C, WIDTH_##E})
static const struct ptx_alu alu_rows[] = {
#include "ptx_alu_list.h"
};

static const uint32_t lane_bit[PTX_LANES] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

#define TEST_FUNCTION(name, T, sources, condition)                                                 \
    static uint32_t test_##name(const void *pa, const void *pb)                                    \
    {                                                                                              \
        (void)pb;                                                                                  \
        uint32_t mask = 0;                                                                         \
        for (int i = 0; i < PTX_LANES; i++) {                                                      \
            sources;                                                                               \
            mask |= (condition) ? lane_bit[i] : 0;                                                 \
        }                                                                                          \
        return mask;                                                                               \
    }
#define TEST1(name, T, condition) TEST_FUNCTION(name, T, SOURCE(T, a), condition)
#define TEST2(name, T, condition) TEST_FUNCTION(name, T, SOURCE(T, a); SOURCE(T, b), condition)

#define EQUALITY(TYPE, T) TEST2(eq_##TYPE, T, a == b) TEST2(ne_##TYPE, T, a != b)
#define ORDER(TYPE, T)                                                                             \
    EQUALITY(TYPE, T)                                                                              \
    TEST2(lt_##TYPE, T, a < b)                                                                     \
    TEST2(le_##TYPE, T, a <= b) TEST2(gt_##TYPE, T, a > b) TEST2(ge_##TYPE, T, a >= b)
#define LOW_HIGH(TYPE, T)                                                                          \
    ORDER(TYPE, T)                                                                                 \
    TEST2(lo_##TYPE, T, a < b)                                                                     \
    TEST2(ls_##TYPE, T, a <= b) TEST2(hi_##TYPE, T, a > b) TEST2(hs_##TYPE, T, a >= b)
/* ne is false for NaN; the forms with u are true for it. */
#define FLOAT_ORDER(TYPE, T, F)                                                                    \
    TEST2(eq_##TYPE, T, F(a) == F(b))                                                              \
    TEST2(ne_##TYPE, T, F(a) < F(b) || F(a) > F(b))                                                \
    TEST2(lt_##TYPE, T, F(a) < F(b))                                                               \
    TEST2(le_##TYPE, T, F(a) <= F(b))                                                              \
    TEST2(gt_##TYPE, T, F(a) > F(b))                                                               \
    TEST2(ge_##TYPE, T, F(a) >= F(b))                                                              \
    TEST2(equ_##TYPE, T, !(F(a) < F(b) || F(a) > F(b)))                                            \
    TEST2(neu_##TYPE, T, !(F(a) == F(b)))                                                          \
    TEST2(ltu_##TYPE, T, !(F(a) >= F(b)))                                                          \
    TEST2(leu_##TYPE, T, !(F(a) > F(b)))                                                           \
    TEST2(gtu_##TYPE, T, !(F(a) <= F(b)))                                                          \
    TEST2(geu_##TYPE, T, !(F(a) < F(b)))                                                           \
    TEST2(num_##TYPE, T, a == a && b == b)                                                         \
    TEST2(nan_##TYPE, T, a != a || b != b)
#define CLASSES(TYPE, T, LEAST, MOST)                                                              \
    TEST1(finite_##TYPE, T, fabs(a) <= MOST)                                                       \
    TEST1(infinite_##TYPE, T, fabs(a) > MOST)                                                      \
    TEST1(number_##TYPE, T, a == a)                                                                \
    TEST1(notanumber_##TYPE, T, a != a)                                                            \
    TEST1(normal_##TYPE, T, fabs(a) >= LEAST && fabs(a) <= MOST)                                   \
    TEST1(subnormal_##TYPE, T, fabs(a) < LEAST && a != 0)
#define TESTS                                                                                      \
    EQUALITY(b16, uint16_t)                                                                        \
    EQUALITY(b32, uint32_t)                                                                        \
    EQUALITY(b64, uint64_t)                                                                        \
    ORDER(s16, int16_t)                                                                            \
    ORDER(s32, int32_t)                                                                            \
    ORDER(s64, int64_t)                                                                            \
    LOW_HIGH(u16, uint16_t)                                                                        \
    LOW_HIGH(u32, uint32_t)                                                                        \
    LOW_HIGH(u64, uint64_t)                                                                        \
    FLOAT_ORDER(f32, float, SAME)                                                                  \
    FLOAT_ORDER(ftz_f32, float, FLUSH)                                                             \
    FLOAT_ORDER(f64, double, SAME)                                                                 \
    CLASSES(f32, float, (double)FLT_MIN, (double)FLT_MAX)                                          \
    CLASSES(f64, double, DBL_MIN, DBL_MAX)

TESTS
#undef TEST1
#undef TEST2
#define TEST1(name, T, condition) {#name, test_##name, 1, WIDTH_##T},
#define TEST2(name, T, condition) {#name, test_##name, 2, WIDTH_##T},
static const struct ptx_test test_rows[] = {TESTS};

const struct ptx_alu *JOIN(ptx_alu_table_, PTX_ALU_SET)(size_t *ret_count);
const struct ptx_alu *JOIN(ptx_alu_table_, PTX_ALU_SET)(size_t *ret_count)
{
    *ret_count = sizeof(alu_rows) / sizeof(alu_rows[0]);
    return alu_rows;
}

const struct ptx_test *JOIN(ptx_test_table_, PTX_ALU_SET)(size_t *ret_count);
const struct ptx_test *JOIN(ptx_test_table_, PTX_ALU_SET)(size_t *ret_count)
{
    *ret_count = sizeof(test_rows) / sizeof(test_rows[0]);
    return test_rows;
}
