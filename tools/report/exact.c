/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums, one value at a time and many at once. */
#include "tools/report/exact.h"

#define LOWEST_EXPONENT (-1074) /* of the smallest subnormal double */

static void add_from(struct mhcs_exact *sum, uint32_t index, uint64_t value)
{
    while (value != 0) {
        assert(index < MHCS_EXACT_LIMBS);
        value = __builtin_add_overflow(sum->limb[index], value, &sum->limb[index]);
        index++;
    }
}

void mhcs_exact_merge(struct mhcs_exact *sum, const struct mhcs_exact *other)
{
    for (uint32_t i = 0; i < MHCS_EXACT_LIMBS; i++)
        add_from(sum, i, other->limb[i]);
}

double mhcs_exact_value(const struct mhcs_exact *sum)
{
    uint32_t top = MHCS_EXACT_LIMBS;
    uint64_t leading, below = 0;
    int shift;

    while (top > 0 && sum->limb[top - 1] == 0)
        top--;
    if (top == 0)
        return 0;
    top--;
    /* The 64 leading bits; the lowest also stands for whatever lies below, so that the one rounding
     * of the conversion sees which side of a tie the sum is on. */
    leading = sum->limb[top];
    shift = __builtin_clzll(leading);
    if (top > 0) {
        below = sum->limb[top - 1];
        if (shift > 0) {
            leading = leading << shift | below >> (64 - shift);
            below <<= shift;
        }
        for (uint32_t i = 0; i + 1 < top; i++)
            below |= sum->limb[i];
    } else {
        leading <<= shift;
    }
    if (below != 0)
        leading |= 1;
    return ldexp((double)leading, (int)top * 64 - shift + LOWEST_EXPONENT);
}

/* ---- many at once ----
 * Two sums of doubles that are never rounded, and so have no order: of each value what is a
 * multiple of a unit goes to one, the rest to the other. Of 2^n values, all below 2^top, with a
 * unit of 2^(top + n - 53), the first sum is at most 2^53 units. What is left of a value is at most
 * half a unit, and a multiple of 2^last, where the values end: the second sum is at most 2^53 of
 * those if top - last <= SPAN(n). */
#define SPAN(n) (107 - 2 * (n))

struct split {
    int unit, last; /* exponents */
    double rounder; /* what is added to it loses all below a unit */
};

/* 2^exponent, which must be a normal double. */
static double power_of_two(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;

    memcpy(&power, &bits, sizeof(power));
    return power;
}

/* 2^n values from 2^last to below 2^top. */
static struct split split_at(int top, int last, int n)
{
    const int unit = top + n - 53;

    return (struct split){.unit = unit, .last = last, .rounder = power_of_two(unit + 52)};
}

/* The two sums as a multiple of 2^last. */
static unsigned __int128 join(const struct split *split, double units, double rest)
{
    const int64_t whole = (int64_t)(units * power_of_two(-split->unit));
    const int64_t part = (int64_t)(rest * power_of_two(-split->last)); /* may be negative */

    return ((unsigned __int128)whole << (split->unit - split->last)) + (unsigned __int128)part;
}

/* Of 101 bits at most. */
static void add_wide(struct mhcs_exact *sum, unsigned __int128 number, uint32_t position)
{
    const uint32_t shift = position % 64;
    uint64_t *limb = &sum->limb[position / 64];
    unsigned __int128 wide = ((unsigned __int128)(uint64_t)number << shift) + *limb;

    *limb++ = (uint64_t)wide;
    wide = ((unsigned __int128)(uint64_t)(number >> 64) << shift) + (uint64_t)(wide >> 64) + *limb;
    *limb++ = (uint64_t)wide;
    mhcs_exact_carry(limb, (uint64_t)(wide >> 64));
}

/* ---- addends ---- */

#define ADDENDS_LOG 6
_Static_assert(MHCS_ADDENDS_MAX == 1 << ADDENDS_LOG, "n of the addends");
/* Exponents beyond leave no room for those of units and last bits. */
#define FAR 900

static int exponent_of(uint64_t bits)
{
    return (int)(bits >> 52) - 1023;
}

/* False: the values are too small, too large, or too different. */
static MHCS_WIDE bool add_up(const double *values, uint32_t count, unsigned __int128 *ret_number,
                             uint32_t *ret_position)
{
    uint64_t least = UINT64_MAX, greatest = 0; /* bits; `least` less 1, but of zeros */
    double units = 0, rest = 0;
    struct split split;
    int top, last;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits;

        memcpy(&bits, &values[i], sizeof(bits));
        least = bits - 1 < least ? bits - 1 : least;
        greatest = bits > greatest ? bits : greatest;
    }
    top = exponent_of(greatest) + 1;
    last = exponent_of(least + 1) - 52;
    if (top > FAR || last < -FAR || top - last > SPAN(ADDENDS_LOG))
        return false;
    split = split_at(top, last, ADDENDS_LOG);
#pragma omp simd reduction(+ : units, rest)
    for (uint32_t i = 0; i < count; i++) {
        const double rounded = (values[i] + split.rounder) - split.rounder;

        units += rounded;
        rest += values[i] - rounded;
    }
    *ret_number = join(&split, units, rest);
    *ret_position = (uint32_t)(last - LOWEST_EXPONENT);
    return true;
}

void mhcs_addends_init(struct mhcs_addends *addends, const double *values, uint32_t count)
{
    assert(count <= MHCS_ADDENDS_MAX);
    addends->values = values;
    addends->count = count;
    addends->together = count > 1 && add_up(values, count, &addends->number, &addends->position);
}

void mhcs_exact_add_all(struct mhcs_exact *sum, const struct mhcs_addends *addends)
{
    if (addends->together)
        add_wide(sum, addends->number, addends->position);
    for (uint32_t i = 0; i < addends->count && !addends->together; i++)
        mhcs_exact_add(sum, addends->values[i]);
}

/* ---- squares of floats ---- */

#define SQUARES_LOG 10
_Static_assert(MHCS_SQUARES_MAX == 1 << SQUARES_LOG, "n of the squares");
/* Octaves from the least to the greatest value whose squares are added together: the square of a
 * float has 48 bits. */
#define REACH ((SPAN(SQUARES_LOG) - 48) / 2)

static uint32_t exponent_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits >> 23 & 0xff;
}

/* Values of 2^(exponent - REACH) to below 2^(exponent + 1), and zeros. */
static MHCS_WIDE void add_near(struct mhcs_exact *sum, const float *values, size_t count,
                               int exponent)
{
    const int top = 2 * (exponent + 1), last = 2 * (exponent - REACH - 23);
    const struct split split = split_at(top, last, SQUARES_LOG);
    double units = 0, rest = 0;

#pragma omp simd reduction(+ : units, rest)
    for (size_t i = 0; i < count; i++) {
        const double square = (double)values[i] * (double)values[i];
        const double rounded = (square + split.rounder) - split.rounder;

        units += rounded;
        rest += square - rounded;
    }
    add_wide(sum, join(&split, units, rest), (uint32_t)(last - LOWEST_EXPONENT));
}

/* Adds the squares of values below 2^(exponent - REACH) one by one; the others are what is left. */
static void add_far(struct mhcs_exact *sum, const float *values, size_t count, uint32_t exponent,
                    float *ret_near)
{
    for (size_t i = 0; i < count; i++) {
        const bool near = exponent_bits(values[i]) + REACH >= exponent;

        ret_near[i] = near ? values[i] : 0;
        if (!near)
            mhcs_exact_add(sum, (double)values[i] * (double)values[i]);
    }
}

void mhcs_exact_add_squares(struct mhcs_exact *sum, const float *values, size_t count, float least,
                            float greatest)
{
    const uint32_t exponent = exponent_bits(greatest);
    float near[MHCS_SQUARES_MAX];

    assert(count <= MHCS_SQUARES_MAX);
    if (exponent_bits(least) + REACH < exponent) {
        add_far(sum, values, count, exponent, near);
        values = near;
    }
    add_near(sum, values, count, (int)exponent - 127);
}
