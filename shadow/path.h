/* SPDX-License-Identifier: Apache-2.0 */
/* The declared precision path of a GEMM as one short string: the trace column `path`.
 *
 *   path    := fn "*" x "->" out "/" compute [ "+reduced" ]
 *   fn, x, out := "f32" | "bf16" | "f16"            storage type of weights, activations, output
 *   compute := "f32"            fp32 multiply and add (inputs of half precision are exact in it)
 *            | "f32-pedantic"   the same, and no other algorithm allowed
 *            | "tf32"           fp32 operands rounded to TF32, fp32 accumulation
 *            | "bf16"           fp32 operands rounded to bf16, fp32 accumulation
 *            | "f16"            fp32 operands rounded to fp16, fp32 accumulation
 *            | "bf16x9"         fp32 emulated by nine bf16 products
 *            | "f16acc"         half-precision accumulation
 *            | "other"
 *   "+reduced": the math mode allows split-K partial sums in the output type; only said where it
 *   changes something, that is for an output narrower than fp32.
 *
 * Examples: "bf16*bf16->bf16/f32+reduced" (PyTorch's default), "f32*f32->f32/tf32".
 */
#ifndef MHCS_PATH_H
#define MHCS_PATH_H

#include "shadow/shadow.h"

#define MHCS_PATH_BYTES 48

/* The longest path and its NUL fit. Returns `text`. */
const char *mhcs_path_format(const struct mhcs_gemm *gemm, char text[MHCS_PATH_BYTES]);

const char *mhcs_dtype_name(uint32_t dtype);

/* A path taken apart again. */
struct mhcs_precision {
    uint32_t fn, x, out; /* enum mhcs_dtype */
    enum mhcs_compute compute;
    bool reduced;
};
/* False: not of the grammar above. "other" is, as a compute type alone. */
bool mhcs_path_parse(const char *text, struct mhcs_precision *ret_precision);

#endif
