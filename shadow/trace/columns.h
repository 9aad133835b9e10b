/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a trace, in their order on disk. This list is the only one: schema, writer, tests
 * and the check of doc/trace.md are generated from it. New columns go to the end; a column never
 * changes its type or its name.
 *
 *     X(name, type, when, source, doc)
 *
 * type: MHCS_COL_<type>. when: the rows in which the column holds a value (null in the others; a
 * column that is always there is not nullable). source: an expression over `r`, a const struct
 * mhcs_record *. */
#ifndef MHCS_TRACE_COLUMNS_H
#define MHCS_TRACE_COLUMNS_H

#include <math.h>

#include "shadow/trace/trace.h"

/* Y(suffix, presence as an expression over r) */
#define MHCS_TRACE_WHEN(Y)                                                                         \
    Y(ALWAYS, true)                                                                                \
    Y(LAYER, r->layer >= 0)                                                                        \
    Y(ROLE, r->role != NULL)                                                                       \
    Y(CHECKPOINT, r->checkpoint)                                                                   \
    Y(CHECKED, !isnan(r->check))

/* clang-format off */
#define MHCS_TRACE_COLUMNS(X)                                                                      \
    X(time,       TIMESTAMP_NS,   ALWAYS,     r->time,      "unix time in ns, UTC")                \
    X(call,       INT64,          ALWAYS,     r->call,      "grows with each sampled call of the process") \
    X(site,       INT32,          ALWAYS,     r->site,      "weight matrix, numbered by first appearance") \
    X(site_name,  UTF8,           ALWAYS,     r->site_name, "its name in the checkpoint, or siteN") \
    X(layer,      INT16,          LAYER,      r->layer,     "layer; null: unknown")                \
    X(role,       UTF8,           ROLE,       r->role,      "attn, ffn or head; null: unknown")    \
    X(device,     INT16,          ALWAYS,     r->device,    "CUDA device ordinal")                 \
    X(tokens,     INT32,          ALWAYS,     r->tokens,    "token rows of the GEMM")              \
    X(row,        INT32,          ALWAYS,     r->row,       "token row sampled, 0 .. tokens - 1")  \
    X(graph,      BOOL,           ALWAYS,     r->graph,     "from the replay of a CUDA graph")     \
    X(path,       UTF8,           ALWAYS,     r->path,      "declared precision path, e.g. bf16*bf16->bf16/f32") \
    X(rms,        FLOAT32,        ALWAYS,     r->result->rms, "RMS factor 1/sqrt(mean(x^2) + norm_eps); 1 if x is normalised") \
    X(production, FLOAT32_LIST24, ALWAYS,     r->result->raw[MHCS_PRODUCTION], "raw coefficients as the GEMM wrote them; head: 4, rest NaN") \
    X(operands,   FLOAT32_LIST24, ALWAYS,     r->result->raw[MHCS_OPERANDS],   "fp32 reference of the operands that the GEMM got") \
    X(checkpoint, FLOAT32_LIST24, CHECKPOINT, r->result->raw[MHCS_CHECKPOINT], "fp32 reference with the checkpoint's weights; null: no checkpoint") \
    MHCS_TRACE_METRICS(X, operands,   ALWAYS,     r->result->against[MHCS_OPERANDS])               \
    MHCS_TRACE_METRICS(X, checkpoint, CHECKPOINT, r->result->against[MHCS_CHECKPOINT])             \
    X(defect_production, FLOAT32, ALWAYS,     r->result->defect[MHCS_PRODUCTION], "max abs(row sum - 1) of comb, production") \
    X(defect_reference,  FLOAT32, ALWAYS,     r->result->defect[MHCS_OPERANDS],   "the same of the operands reference") \
    X(nonfinite,  INT16,          ALWAYS,     (int16_t)r->result->nonfinite, "NaN or Inf in: 1 production, 2 reference, 4 x") \
    X(check,      FLOAT32,        CHECKED,    r->check,     "rel of the fp32 reference against fp64; null: not checked") \
    MHCS_TRACE_MORE_METRICS(X, operands,   ALWAYS,     r->result->against[MHCS_OPERANDS])          \
    MHCS_TRACE_MORE_METRICS(X, checkpoint, CHECKPOINT, r->result->against[MHCS_CHECKPOINT])        \
    X(padded,     BOOL,           ALWAYS,     r->padded,    "no token: x is zero, or repeats an earlier row of the call")

#define MHCS_TRACE_METRICS(X, reference, when, m)                                                  \
    X(reference##_rel,          FLOAT32, when, m.rel,          "norm2(c^ - c) / norm2(c), raw coefficients") \
    X(reference##_rel_pre,      FLOAT32, when, m.rel_pre,      "the same over the pre group")      \
    X(reference##_rel_post,     FLOAT32, when, m.rel_post,     "the same over the post group")     \
    X(reference##_rel_comb,     FLOAT32, when, m.rel_comb,     "the same over the comb group")     \
    X(reference##_max_abs,      FLOAT32, when, m.max_abs,      "max abs(c^ - c), unit of the GEMM's output") \
    X(reference##_backward,     FLOAT32, when, m.backward,     "max abs(c^ - c) / sum abs(x fn)")  \
    X(reference##_condition,    FLOAT32, when, m.condition,    "max sum abs(x fn) / abs(c)")       \
    X(reference##_ulp,          FLOAT32, when, m.ulp,          "max abs(c^ - c) in bf16 ulps")     \
    X(reference##_pre_err,      FLOAT32, when, m.pre_err,      "relative 2-norm error of pre after the maps") \
    X(reference##_post_err,     FLOAT32, when, m.post_err,     "the same of post")                 \
    X(reference##_comb_err,     FLOAT32, when, m.comb_err,     "the same of comb after Sinkhorn")  \
    X(reference##_comb_max_abs, FLOAT32, when, m.comb_max_abs, "max abs error of comb")            \
    X(reference##_y_rel,        FLOAT32, when, m.y_rel,        "relative 2-norm error of y")       \
    X(reference##_y_cosdist,    FLOAT32, when, m.y_cosdist,    "1 - cosine of y and the reference's y")

#define MHCS_TRACE_MORE_METRICS(X, reference, when, m)                                             \
    X(reference##_bias,         FLOAT32, when, m.bias,         "mean(c^ - c) / rms(c^ - c)")       \
    X(reference##_comb_tv,      FLOAT32, when, m.comb_tv,      "largest total variation of a row of comb") \
    X(reference##_bound,        FLOAT32, when, m.bound,        "first-order bound on the error of comb")
/* clang-format on */

enum mhcs_trace_column {
#define X(name, type, when, source, doc) MHCS_TRACE_COLUMN_##name,
    MHCS_TRACE_COLUMNS(X)
#undef X
        MHCS_TRACE_COLUMN_COUNT
};

enum mhcs_trace_when {
#define Y(suffix, presence) MHCS_TRACE_##suffix,
    MHCS_TRACE_WHEN(Y)
#undef Y
        MHCS_TRACE_WHEN_COUNT
};

#endif
