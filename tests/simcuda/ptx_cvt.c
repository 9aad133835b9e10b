/* SPDX-License-Identifier: Apache-2.0 */
/* cvt: every pair of types, and cvta, isspacep. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_parse.h"
#include "ptx_run.h"

/* insn->mode: how to round, and the options. */
enum {
    ROUND_NEAREST,
    ROUND_ZERO,
    ROUND_DOWN,
    ROUND_UP,
    ROUND_MASK = 3,
    TO_INTEGRAL = 4, /* .rni and so on, between floats */
    FLUSH = 8,
    SATURATE = 16,
    RELU = 32
};

const int ptx_rounding_modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

static float float_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof(f));
    return f;
}

static uint64_t bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return f != f ? 0x7fffffffu : bits;
}

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof(d));
    return d;
}

static uint64_t bits_of_double(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    return bits;
}

static bool is_float(struct ptx_type type)
{
    return type.kind == PTX_FLOAT || type.kind == PTX_BFLOAT;
}

static double integral(double x, unsigned mode)
{
    switch (mode & ROUND_MASK) {
    case ROUND_ZERO:
        return trunc(x);
    case ROUND_DOWN:
        return floor(x);
    case ROUND_UP:
        return ceil(x);
    default:
        return rint(x);
    }
}

/* The value of a float source: exact in a double. */
static double float_value(uint64_t bits, struct ptx_type from, unsigned mode)
{
    if (from.bytes == 8)
        return double_of(bits);
    const float f = from.kind == PTX_BFLOAT ? float_of(bits << 16)
                    : from.bytes == 2       ? float_of(ptx_f16_bits_to_f32((uint16_t)bits))
                                            : float_of(bits);
    return mode & FLUSH && fabsf(f) < 0x1p-126f ? copysign(0.0, (double)f) : (double)f;
}

static uint64_t integer_from_float(double x, struct ptx_type to, struct ptx_type from,
                                   unsigned mode)
{
    const unsigned bits = to.bytes * 8u;
    if (isnan(x)) /* PTX ISA: cvt */
        return from.bytes == 8 || to.bytes == 8 ? 1ull << (bits - 1) : 0;
    const double r = integral(x, mode);
    const double top = ldexp(1.0, (int)(to.kind == PTX_SIGNED ? bits - 1 : bits));
    if (to.kind == PTX_SIGNED)
        return r >= top    ? (1ull << (bits - 1)) - 1
               : r <= -top ? 1ull << (bits - 1)
                           : (uint64_t)(int64_t)r;
    return r <= 0 ? 0 : r >= top ? UINT64_MAX >> (64 - bits) : (uint64_t)r;
}

/* x to a multiple of its last place, in the current direction; `bits` counts the hidden bit. */
static double rounded_to(double x, int bits, int least_exponent)
{
    int exponent;
    if (x == 0 || !isfinite(x))
        return x;
    frexp(x, &exponent);
    if (exponent < least_exponent)
        exponent = least_exponent;
    return ldexp(rint(ldexp(x, bits - exponent)), exponent - bits);
}

/* To f16 or bf16, in the current direction. */
static uint64_t narrow_float(double x, struct ptx_type to)
{
    const bool bfloat = to.kind == PTX_BFLOAT;
    const double largest = bfloat ? 0x1.fep127 : 65504.0;
    const double r = rounded_to(x, bfloat ? 8 : 11, bfloat ? -125 : -13);
    const int direction = fegetround();
    const bool inward = direction == FE_TOWARDZERO || (direction == FE_DOWNWARD && x > 0) ||
                        (direction == FE_UPWARD && x < 0);
    const double kept = isfinite(x) && fabs(r) > largest && inward ? copysign(largest, x) : r;
    const uint32_t bits_of = (uint32_t)bits_of_float((float)kept);
    return bfloat ? ptx_f32_bits_to_bf16(bits_of) : ptx_f32_bits_to_f16(bits_of);
}

static uint64_t float_result(double x, struct ptx_type to, unsigned mode)
{
    if (mode & SATURATE)
        x = x > 0 ? (x < 1 ? x : 1) : 0;
    if (mode & RELU && !(x > 0) && !isnan(x))
        x = 0;
    if (mode & TO_INTEGRAL)
        x = integral(x, mode);
    if (to.bytes == 8)
        return bits_of_double(x);
    if (to.bytes == 2)
        return narrow_float(x, to);
    const float f = (float)x;
    return bits_of_float(mode & FLUSH && fabsf(f) < 0x1p-126f ? copysignf(0.0f, f) : f);
}

static uint64_t float_from_integer(uint64_t x, struct ptx_type to, struct ptx_type from)
{
    const bool is_signed = from.kind == PTX_SIGNED;
    const double d = is_signed ? (double)(int64_t)x : (double)x;
    if (to.bytes == 4) /* not by way of the double, which would round twice */
        return bits_of_float(is_signed ? (float)(int64_t)x : (float)x);
    return to.bytes == 8 ? bits_of_double(d) : narrow_float(d, to);
}

static uint64_t saturated(uint64_t x, struct ptx_type to, struct ptx_type from)
{
    const unsigned bits = to.bytes * 8u;
    const bool negative = from.kind == PTX_SIGNED && (int64_t)x < 0;
    if (to.kind == PTX_UNSIGNED) {
        const uint64_t most = UINT64_MAX >> (64 - bits);
        return negative ? 0 : x > most ? most : x;
    }
    const uint64_t most = (1ull << (bits - 1)) - 1;
    if (negative)
        return (int64_t)x < -(int64_t)most - 1 ? ~most : x;
    return x > most ? most : x;
}

static uint64_t convert(uint64_t x, const struct ptx_insn *in)
{
    x = ptx_extend(x, in->from);
    if (is_float(in->from)) {
        const double value = float_value(x, in->from, in->mode);
        return is_float(in->type) ? float_result(value, in->type, in->mode)
                                  : integer_from_float(value, in->type, in->from, in->mode);
    }
    if (is_float(in->type))
        return float_from_integer(x, in->type, in->from);
    return in->mode & SATURATE ? saturated(x, in->type, in->from) : x;
}

/* target: bytes of the destination register; src[3]: of the source register. */
static bool exec_convert(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    if ((in->mode & (ROUND_MASK | TO_INTEGRAL)) != 0 && is_float(in->type))
        fesetround(ptx_rounding_modes[in->mode & ROUND_MASK]);
    PTX_FOR_LANES(lane, mask)
    {
        const uint64_t x = convert(ptx_get(w, in->src[0], (uint8_t)in->src[3], lane), in);
        ptx_set(w, in->dst, (uint8_t)in->target, lane, ptx_extend(x, in->type));
    }
    fesetround(FE_TONEAREST);
    return true;
}

/* cvt.rn.bf16x2.f32 d, a, b: a is the upper half. */
static bool exec_convert_pair(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    fesetround(ptx_rounding_modes[in->mode & ROUND_MASK]);
    PTX_FOR_LANES(lane, mask)
    {
        const uint64_t high = convert(ptx_get(w, in->src[0], 4, lane), in);
        const uint64_t low = convert(ptx_get(w, in->src[1], 4, lane), in);
        ptx_set(w, in->dst, 4, lane, high << 16 | low);
    }
    fesetround(FE_TONEAREST);
    return true;
}

static void take_options(struct ptx_text *t, bool floats)
{
    static const char *const plain[] = {"rn", "rz", "rm", "rp", NULL};
    static const char *const whole[] = {"rni", "rzi", "rmi", "rpi", NULL};
    int mode = ptx_take_one(t, plain);
    const int integral_mode = ptx_take_one(t, whole);
    if (integral_mode >= 0)
        mode = integral_mode | (floats ? TO_INTEGRAL : 0);
    t->insn.mode =
        (uint8_t)((mode < 0 ? 0 : mode) | (ptx_take(t, "ftz") ? FLUSH : 0) |
                  (ptx_take(t, "sat") ? SATURATE : 0) | (ptx_take(t, "relu") ? RELU : 0));
}

static void decode_pair(struct ptx_parser *p, struct ptx_text *t, enum ptx_kind kind)
{
    take_options(t, true);
    t->insn.from = ptx_take_type(p, t);
    t->insn.type = (struct ptx_type){.kind = kind, .bytes = 2};
    if (t->insn.from.kind != PTX_FLOAT || t->insn.from.bytes != 4)
        ptx_fail(&p->lex, "unknown instruction \"%s\"", t->opcode);
    ptx_all_taken(p, t, 3);
    t->insn.src[0] = ptx_source(p, &t->operands[1], 4);
    t->insn.src[1] = ptx_source(p, &t->operands[2], 4);
    t->insn.dst = ptx_destination(p, &t->operands[0], 4);
    t->insn.exec = exec_convert_pair;
    t->insn.class = PTX_EXEC;
    ptx_emit(p, t);
}

/* Whether a lane function does it: only if the registers have the types' own widths. */
static bool decode_fast(struct ptx_parser *p, struct ptx_text *t, uint8_t to, uint8_t from)
{
    char name[PTX_WORD_MAX];
    size_t used = 0;
    for (const char *c = t->opcode; *c != '\0'; c++)
        name[used++] = *c == '.' ? '_' : *c;
    name[used] = '\0';
    for (size_t i = 0; i < p->alu_count; i++) {
        const struct ptx_alu *alu = p->alus[i];
        if (strcmp(alu->name, name) == 0 && alu->d == to && alu->s[0] == from) {
            t->insn.class = PTX_ALU;
            t->insn.alu = alu->fn;
            return true;
        }
    }
    return false;
}

static bool decode_cvt(struct ptx_parser *p, struct ptx_text *t)
{
    if (ptx_take(t, "bf16x2")) {
        decode_pair(p, t, PTX_BFLOAT);
        return true;
    }
    if (ptx_take(t, "f16x2")) {
        decode_pair(p, t, PTX_FLOAT);
        return true;
    }
    uint8_t to, from;
    t->insn.type = ptx_take_type(p, t);
    t->insn.from = ptx_take_type(p, t);
    if (t->insn.type.kind == PTX_PREDICATE || t->insn.from.kind == PTX_PREDICATE)
        ptx_fail(&p->lex, "unknown instruction \"%s\"", t->opcode);
    take_options(t, is_float(t->insn.type) && is_float(t->insn.from));
    ptx_all_taken(p, t, 2);
    t->insn.src[0] = ptx_source_wide(p, &t->operands[1], t->insn.from.bytes, &from);
    t->insn.dst = ptx_destination_wide(p, &t->operands[0], t->insn.type.bytes, &to);
    t->insn.src[3] = from;
    t->insn.target = to;
    t->insn.class = PTX_EXEC;
    if (!decode_fast(p, t, to, from))
        t->insn.exec = exec_convert;
    ptx_emit(p, t);
    return true;
}

/* ---- Address spaces ---- */

/* mode: 0 to the generic address, 1 from it; type: of the address. */
static bool exec_cvta(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const uint64_t window = in->target == PTX_GLOBAL ? 0 : PTX_WINDOW(in->target);
    PTX_FOR_LANES(lane, mask)
    {
        const uint64_t x = ptx_get(w, in->src[0], in->type.bytes, lane);
        ptx_set(w, in->dst, in->type.bytes, lane, in->mode == 0 ? x + window : x - window);
    }
    return true;
}

static bool exec_isspacep(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    PTX_FOR_LANES(lane, mask)
    {
        const uint64_t window = ptx_get(w, in->src[0], 8, lane) >> PTX_WINDOW_SHIFT;
        const bool hit = in->target == PTX_GLOBAL ? window == 0 : window == in->target;
        ptx_set_predicate(w, in->dst, 1u << lane, hit ? PTX_ALL_LANES : 0);
    }
    return true;
}

bool ptx_decode_convert(struct ptx_parser *p, struct ptx_text *t)
{
    static const char *const spaces[] = {"global", "const", "shared", "local", "param", NULL};
    static const enum ptx_space values[] = {PTX_GLOBAL, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL,
                                            PTX_PARAM};
    if (strcmp(t->base, "cvt") == 0)
        return decode_cvt(p, t);
    const bool test = strcmp(t->base, "isspacep") == 0;
    if (strcmp(t->base, "cvta") != 0 && !test)
        return false;
    t->insn.mode = ptx_take(t, "to");
    const int space = ptx_take_one(t, spaces);
    if (space < 0)
        ptx_fail(&p->lex, "unknown state space of \"%s\"", t->opcode);
    t->insn.target = values[space];
    t->insn.type = test ? (struct ptx_type){PTX_UNSIGNED, 8} : ptx_take_type(p, t);
    if (t->insn.type.bytes != 8)
        ptx_fail(&p->lex, "unknown instruction \"%s\": generic addresses have 64 bits", t->opcode);
    ptx_all_taken(p, t, 2);
    t->insn.src[0] = ptx_source(p, &t->operands[1], 8);
    t->insn.dst = ptx_destination(p, &t->operands[0], test ? 0 : 8);
    t->insn.class = PTX_EXEC;
    t->insn.exec = test ? exec_isspacep : exec_cvta;
    ptx_emit(p, t);
    return true;
}
