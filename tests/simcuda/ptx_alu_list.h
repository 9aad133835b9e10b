/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic instructions: ALU1..ALU4(name, result type, source types, expression).
 * The name is PTX's with _ for the dots; the default .rn of add, sub and mul is left out.
 *
 * Included by ptx_alu.c once for the functions and once for the table. In the expression a, b, c, e
 * are the sources of the lane; a predicate source has type pred and is 0 or 1.
 */

/* clang-format off */
#define EACH_WIDTH(X) X(16) X(32) X(64)
#define EACH_SIGNED(X) X(s16, u16, int16_t, uint16_t) X(s32, u32, int32_t, uint32_t) X(s64, u64, int64_t, uint64_t)

#define INTEGERS(S, U, ST, UT) \
    ALU2(add_##S, UT, UT, UT, (UT)(a + b)) \
    ALU2(add_##U, UT, UT, UT, (UT)(a + b)) \
    ALU2(sub_##S, UT, UT, UT, (UT)(a - b)) \
    ALU2(sub_##U, UT, UT, UT, (UT)(a - b)) \
    ALU2(mul_lo_##S, UT, UT, UT, (UT)((uint64_t)a * b)) \
    ALU2(mul_lo_##U, UT, UT, UT, (UT)((uint64_t)a * b)) \
    ALU3(mad_lo_##S, UT, UT, UT, UT, (UT)((uint64_t)a * b + c)) \
    ALU3(mad_lo_##U, UT, UT, UT, UT, (UT)((uint64_t)a * b + c)) \
    ALU2(mul_hi_##S, UT, ST, ST, HIGH_SIGNED(UT, a, b)) \
    ALU2(mul_hi_##U, UT, UT, UT, HIGH_UNSIGNED(UT, a, b)) \
    ALU3(mad_hi_##S, UT, ST, ST, UT, (UT)(HIGH_SIGNED(UT, a, b) + c)) \
    ALU3(mad_hi_##U, UT, UT, UT, UT, (UT)(HIGH_UNSIGNED(UT, a, b) + c)) \
    ALU2(div_##U, UT, UT, UT, b == 0 ? (UT)-1 : (UT)(a / b)) \
    ALU2(rem_##U, UT, UT, UT, b == 0 ? a : (UT)(a % b)) \
    ALU2(div_##S, UT, ST, ST, b == 0 ? (UT)-1 : b == -1 ? (UT)(0 - (UT)a) : (UT)(a / b)) \
    ALU2(rem_##S, UT, ST, ST, b == 0 ? (UT)a : b == -1 ? (UT)0 : (UT)(a % b)) \
    ALU2(min_##S, ST, ST, ST, a < b ? a : b) \
    ALU2(min_##U, UT, UT, UT, a < b ? a : b) \
    ALU2(max_##S, ST, ST, ST, a > b ? a : b) \
    ALU2(max_##U, UT, UT, UT, a > b ? a : b) \
    ALU3(sad_##S, UT, ST, ST, UT, (UT)(c + (a > b ? (UT)((UT)a - (UT)b) : (UT)((UT)b - (UT)a)))) \
    ALU3(sad_##U, UT, UT, UT, UT, (UT)(c + (a > b ? a - b : b - a))) \
    ALU1(abs_##S, UT, ST, (UT)(a < 0 ? 0 - (UT)a : (UT)a)) \
    ALU1(neg_##S, UT, UT, (UT)(0 - a)) \
    ALU2(shr_##S, ST, ST, uint32_t, (ST)(a >> SHIFT_CLAMP(ST, b))) \
    ALU2(shr_##U, UT, UT, uint32_t, SHIFT_OUT(UT, b) ? (UT)0 : (UT)(a >> SHIFT_CLAMP(UT, b)))
EACH_SIGNED(INTEGERS)

#define BITS(W) \
    ALU1(mov_b##W, uint##W##_t, uint##W##_t, a) \
    ALU2(and_b##W, uint##W##_t, uint##W##_t, uint##W##_t, (uint##W##_t)(a & b)) \
    ALU2(or_b##W, uint##W##_t, uint##W##_t, uint##W##_t, (uint##W##_t)(a | b)) \
    ALU2(xor_b##W, uint##W##_t, uint##W##_t, uint##W##_t, (uint##W##_t)(a ^ b)) \
    ALU1(not_b##W, uint##W##_t, uint##W##_t, (uint##W##_t)~a) \
    ALU1(cnot_b##W, uint##W##_t, uint##W##_t, (uint##W##_t)(a == 0)) \
    ALU2(shl_b##W, uint##W##_t, uint##W##_t, uint32_t, SHIFT_OUT(uint##W##_t, b) ? (uint##W##_t)0 : (uint##W##_t)(a << SHIFT_CLAMP(uint##W##_t, b))) \
    ALU2(shr_b##W, uint##W##_t, uint##W##_t, uint32_t, SHIFT_OUT(uint##W##_t, b) ? (uint##W##_t)0 : (uint##W##_t)(a >> SHIFT_CLAMP(uint##W##_t, b))) \
    ALU3(selp_b##W, uint##W##_t, uint##W##_t, uint##W##_t, pred, c ? a : b) \
    ALU3(slct_b##W##_s32, uint##W##_t, uint##W##_t, uint##W##_t, int32_t, c >= 0 ? a : b) \
    ALU3(slct_b##W##_f32, uint##W##_t, uint##W##_t, uint##W##_t, float, c >= 0 ? a : b) \
    ALU3(slct_ftz_b##W##_f32, uint##W##_t, uint##W##_t, uint##W##_t, float, FLUSH(c) >= 0 ? a : b)
EACH_WIDTH(BITS)

ALU2(mul_wide_s16, int32_t, int16_t, int16_t, a * b)
ALU2(mul_wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)a * b)
ALU2(mul_wide_s32, int64_t, int32_t, int32_t, (int64_t)a * b)
ALU2(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a * b)
ALU3(mad_wide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)(a * b) + c)
ALU3(mad_wide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a * b + c)
ALU3(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a * b) + c)
ALU3(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a * b + c)
ALU2(mul24_lo_s32, uint32_t, uint32_t, uint32_t, (uint32_t)(SIGNED24(a) * SIGNED24(b)))
ALU2(mul24_lo_u32, uint32_t, uint32_t, uint32_t, (uint32_t)(UNSIGNED24(a) * UNSIGNED24(b)))
ALU2(mul24_hi_s32, uint32_t, uint32_t, uint32_t, (uint32_t)((uint64_t)(SIGNED24(a) * SIGNED24(b)) >> 16))
ALU2(mul24_hi_u32, uint32_t, uint32_t, uint32_t, (uint32_t)(UNSIGNED24(a) * UNSIGNED24(b) >> 16))
ALU3(mad24_lo_s32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(SIGNED24(a) * SIGNED24(b)) + c)
ALU3(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(UNSIGNED24(a) * UNSIGNED24(b)) + c)
ALU2(add_sat_s32, int32_t, int32_t, int32_t, SATURATE32((int64_t)a + b))
ALU2(sub_sat_s32, int32_t, int32_t, int32_t, SATURATE32((int64_t)a - b))

ALU1(popc_b32, uint32_t, uint32_t, (uint32_t)__builtin_popcount(a))
ALU1(popc_b64, uint32_t, uint64_t, (uint32_t)__builtin_popcountll(a))
ALU1(clz_b32, uint32_t, uint32_t, a == 0 ? 32u : (uint32_t)__builtin_clz(a))
ALU1(clz_b64, uint32_t, uint64_t, a == 0 ? 64u : (uint32_t)__builtin_clzll(a))
ALU1(brev_b32, uint32_t, uint32_t, (uint32_t)(reversed(a) >> 32))
ALU1(brev_b64, uint64_t, uint64_t, reversed(a))
ALU1(bfind_u32, uint32_t, uint32_t, top_bit(a))
ALU1(bfind_s32, uint32_t, int32_t, top_bit((uint32_t)(a < 0 ? ~a : a)))
ALU1(bfind_u64, uint32_t, uint64_t, top_bit(a))
ALU1(bfind_s64, uint32_t, int64_t, top_bit((uint64_t)(a < 0 ? ~a : a)))
ALU1(bfind_shiftamt_u32, uint32_t, uint32_t, a == 0 ? UINT32_MAX : 31 - top_bit(a))
ALU1(bfind_shiftamt_s32, uint32_t, int32_t, a == 0 || a == -1 ? UINT32_MAX : 31 - top_bit((uint32_t)(a < 0 ? ~a : a)))
ALU1(bfind_shiftamt_u64, uint32_t, uint64_t, a == 0 ? UINT32_MAX : 63 - top_bit(a))
ALU1(bfind_shiftamt_s64, uint32_t, int64_t, a == 0 || a == -1 ? UINT32_MAX : 63 - top_bit((uint64_t)(a < 0 ? ~a : a)))
ALU3(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)bit_field(a, b, c, 32, 0))
ALU3(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)bit_field(a, b, c, 32, 1))
ALU3(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, bit_field(a, b, c, 64, 0))
ALU3(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, bit_field(a, b, c, 64, 1))
ALU4(bfi_b32, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)bit_insert(a, b, c, e, 32))
ALU4(bfi_b64, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t, bit_insert(a, b, c, e, 64))
ALU3(prmt_b32, uint32_t, uint32_t, uint32_t, uint32_t, permute(a, b, c))
ALU4(lop3_b32, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, logic3(a, b, c, e))
ALU3(shf_l_clamp_b32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((PAIR(b, a) << (c < 32 ? c : 32)) >> 32))
ALU3(shf_l_wrap_b32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((PAIR(b, a) << (c & 31)) >> 32))
ALU3(shf_r_clamp_b32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(PAIR(b, a) >> (c < 32 ? c : 32)))
ALU3(shf_r_wrap_b32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(PAIR(b, a) >> (c & 31)))
ALU3(dp4a_u32_u32, uint32_t, uint32_t, uint32_t, uint32_t, dot4(a, b, c, 0, 0))
ALU3(dp4a_u32_s32, uint32_t, uint32_t, uint32_t, uint32_t, dot4(a, b, c, 0, 1))
ALU3(dp4a_s32_u32, uint32_t, uint32_t, uint32_t, uint32_t, dot4(a, b, c, 1, 0))
ALU3(dp4a_s32_s32, uint32_t, uint32_t, uint32_t, uint32_t, dot4(a, b, c, 1, 1))

/* Internal names: halves of a register, for mov with a {} operand. */
ALU2(pack_b32, uint32_t, uint16_t, uint16_t, (uint32_t)b << 16 | a)
ALU2(pack_b64, uint64_t, uint32_t, uint32_t, PAIR(b, a))
ALU4(pack4_b64, uint64_t, uint16_t, uint16_t, uint16_t, uint16_t, PAIR((uint32_t)e << 16 | c, (uint32_t)b << 16 | a))
ALU2(part_b16_b32, uint16_t, uint32_t, uint32_t, (uint16_t)(a >> 16 * b))
ALU2(part_b16_b64, uint16_t, uint64_t, uint32_t, (uint16_t)(a >> 16 * b))
ALU2(part_b32_b64, uint32_t, uint64_t, uint32_t, (uint32_t)(a >> 32 * b))

/* fp32: NaN results are the one NaN that a GPU returns; .ftz flushes sources and result. */
#define FLOATS(NAME, SOURCE, RESULT) \
    ALU2(add##NAME##_f32, float, float, float, RESULT(SOURCE(a) + SOURCE(b))) \
    ALU2(sub##NAME##_f32, float, float, float, RESULT(SOURCE(a) - SOURCE(b))) \
    ALU2(mul##NAME##_f32, float, float, float, RESULT(SOURCE(a) * SOURCE(b))) \
    ALU3(fma_rn##NAME##_f32, float, float, float, float, RESULT(fmaf(SOURCE(a), SOURCE(b), SOURCE(c))))
FLOATS(, SAME, ONE_NAN)
FLOATS(_ftz, FLUSH, FLUSH_ONE_NAN)
FLOATS(_sat, SAME, UNIT)
FLOATS(_ftz_sat, FLUSH, UNIT)
#define FLOATS_ROUNDED(NAME, SOURCE, RESULT) \
    ALU2(div_rn##NAME##_f32, float, float, float, RESULT(SOURCE(a) / SOURCE(b))) \
    ALU1(rcp_rn##NAME##_f32, float, float, RESULT(1.0f / SOURCE(a))) \
    ALU1(sqrt_rn##NAME##_f32, float, float, RESULT(sqrtf(SOURCE(a)))) \
    ALU1(neg##NAME##_f32, float, float, -SOURCE(a)) \
    ALU1(abs##NAME##_f32, float, float, fabsf(SOURCE(a))) \
    ALU2(min##NAME##_f32, float, float, float, ONE_NAN(smaller(SOURCE(a), SOURCE(b)))) \
    ALU2(max##NAME##_f32, float, float, float, ONE_NAN(-smaller(-SOURCE(a), -SOURCE(b)))) \
    ALU2(min##NAME##_NaN_f32, float, float, float, a != a || b != b ? the_nan() : smaller(SOURCE(a), SOURCE(b))) \
    ALU2(max##NAME##_NaN_f32, float, float, float, a != a || b != b ? the_nan() : -smaller(-SOURCE(a), -SOURCE(b)))
FLOATS_ROUNDED(, SAME, ONE_NAN)
FLOATS_ROUNDED(_ftz, FLUSH, FLUSH_ONE_NAN)
ALU2(copysign_f32, float, float, float, copysignf(b, a))

/* Approximations: PTX only bounds their error (at most 2^-22 relative or so); here they are rounded
 * from a double, which is within every such bound but not what a given GPU returns. */
#define APPROXIMATE(NAME, SOURCE, RESULT) \
    ALU1(ex2_approx##NAME##_f32, float, float, RESULT((float)exp2((double)SOURCE(a)))) \
    ALU1(lg2_approx##NAME##_f32, float, float, RESULT((float)log2((double)SOURCE(a)))) \
    ALU1(sin_approx##NAME##_f32, float, float, RESULT((float)sin((double)SOURCE(a)))) \
    ALU1(cos_approx##NAME##_f32, float, float, RESULT((float)cos((double)SOURCE(a)))) \
    ALU1(rsqrt_approx##NAME##_f32, float, float, RESULT((float)(1.0 / sqrt((double)SOURCE(a))))) \
    ALU1(rcp_approx##NAME##_f32, float, float, RESULT(1.0f / SOURCE(a))) \
    ALU1(sqrt_approx##NAME##_f32, float, float, RESULT(sqrtf(SOURCE(a)))) \
    ALU2(div_approx##NAME##_f32, float, float, float, RESULT(SOURCE(a) / SOURCE(b))) \
    ALU2(div_full##NAME##_f32, float, float, float, RESULT(SOURCE(a) / SOURCE(b)))
APPROXIMATE(, SAME, ONE_NAN)
APPROXIMATE(_ftz, FLUSH, FLUSH_ONE_NAN)
ALU1(tanh_approx_f32, float, float, ONE_NAN((float)tanh((double)a)))
ALU1(rcp_approx_ftz_f64, double, double, 1.0 / a)
ALU1(rsqrt_approx_f64, double, double, 1.0 / sqrt(a))
ALU1(rsqrt_approx_ftz_f64, double, double, 1.0 / sqrt(a))

ALU2(add_f64, double, double, double, a + b)
ALU2(sub_f64, double, double, double, a - b)
ALU2(mul_f64, double, double, double, a * b)
ALU3(fma_rn_f64, double, double, double, double, fma(a, b, c))
ALU2(div_rn_f64, double, double, double, a / b)
ALU1(rcp_rn_f64, double, double, 1.0 / a)
ALU1(sqrt_rn_f64, double, double, sqrt(a))
ALU1(neg_f64, double, double, -a)
ALU1(abs_f64, double, double, fabs(a))
ALU2(min_f64, double, double, double, smaller_double(a, b))
ALU2(max_f64, double, double, double, -smaller_double(-a, -b))
ALU2(copysign_f64, double, double, double, copysign(b, a))

/* The conversions of inner loops; the others are in ptx_cvt.c. */
ALU1(cvt_f32_bf16, uint32_t, uint16_t, (a & 0x7fffu) > 0x7f80u ? 0x7fffffffu : (uint32_t)a << 16)
ALU1(cvt_f32_f16, uint32_t, uint16_t, ptx_f16_bits_to_f32(a))
ALU1(cvt_rn_bf16_f32, uint16_t, uint32_t, ptx_f32_bits_to_bf16(a))
ALU1(cvt_rn_f16_f32, uint16_t, uint32_t, ptx_f32_bits_to_f16(a))
ALU1(cvt_f64_f32, double, float, (double)a)
ALU1(cvt_rn_f32_f64, float, double, ONE_NAN((float)a))
ALU1(cvt_rn_f32_s32, float, int32_t, (float)a)
ALU1(cvt_rn_f32_u32, float, uint32_t, (float)a)
ALU1(cvt_u64_u32, uint64_t, uint32_t, a)
ALU1(cvt_s64_s32, int64_t, int32_t, a)
ALU1(cvt_u32_u64, uint32_t, uint64_t, (uint32_t)a)
ALU1(cvt_u32_u16, uint32_t, uint16_t, a)
ALU1(cvt_u16_u32, uint16_t, uint32_t, (uint16_t)a)
/* clang-format on */
