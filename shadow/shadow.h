/* SPDX-License-Identifier: Apache-2.0 */
/* What interpose/ may ask of shadow/: hand over a GEMM, count what was not taken, read the
 * settings.
 *
 * Threads: every function here may be called from any application thread. Nothing here exits,
 * raises, prints to stdout or changes the application's CUDA or cuBLAS state. After the first
 * sampled call has armed the engine of its context, nothing here allocates, waits, takes a lock or
 * writes a file.
 */
#ifndef MHCS_SHADOW_H
#define MHCS_SHADOW_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "shadow/counters.h"

/* How the call declares its arithmetic: cublasComputeType_t and math mode in effect, folded
 * together. */
enum mhcs_compute {
    MHCS_COMPUTE_F32,
    MHCS_COMPUTE_F32_PEDANTIC,
    MHCS_COMPUTE_TF32,           /* FAST_TF32, or fp32 with the handle in TF32 math mode */
    MHCS_COMPUTE_BF16,           /* FAST_16BF: operands rounded to bf16 */
    MHCS_COMPUTE_F16,            /* FAST_16F */
    MHCS_COMPUTE_BF16X9,         /* EMULATED_16BFX9 */
    MHCS_COMPUTE_F16_ACCUMULATE, /* COMPUTE_16F: half accumulation */
    MHCS_COMPUTE_OTHER,
};

/* The cuBLAS that ran the call. Lives as long as the process. */
struct mhcs_cublas {
    const char *path; /* file as mapped, or "" */
    int version;      /* cublasGetVersion, e.g. 130100; 0 unknown */
};

/* One mixing GEMM, orientation and transposition folded into strides: c[T][M] = alpha * x fn^T +
 * beta * old_c. */
struct mhcs_gemm {
    struct mhcs_operand fn;    /* [M][K] */
    struct mhcs_operand x;     /* [T][K] */
    struct mhcs_operand c;     /* [T][M] */
    struct mhcs_operand old_c; /* [T][M], of c's dtype; the same memory as c but for cublasLt */
    int64_t tokens;            /* T >= 1 */
    uint32_t k, coefficients;
    const void *alpha, *beta; /* scalars of scalar_dtype, on the host unless scalars_on_device */
    uint32_t scalar_dtype;
    bool scalars_on_device;
    bool reduced_precision_reduction; /* allowed by the math mode (split-K partials in the output
                                         type) */
    enum mhcs_compute compute;
    void *stream; /* CUstream of the handle */
    const struct mhcs_cublas *cublas;
    int32_t weight_order; /* 0, 1, ... in order of first appearance of fn's address; -1 unknown */
};

/* A sample between the two halves of a call; lives on the caller's stack, opaque to it. */
struct mhcs_sample {
    uint64_t engine; /* its key: by the second half it may be gone. 0: nothing was taken */
    uint32_t slot;
    bool captured;        /* what follows instead of a slot (graph.h) */
    uint32_t parts_early; /* of the node that was inserted before the GEMM */
    uint64_t pair;        /* ties it to the one behind */
    float alpha, beta;    /* unless gemm.scalars_on_device */
    struct mhcs_gemm gemm;
};

/* Before the real GEMM: takes a slot and, where beta may be non-zero, snapshots the old C on the
 * stream. False: not sampled (already counted as dropped, captured or failed); call the real
 * function all the same. */
bool mhcs_shadow_before(struct mhcs_sample *sample, const struct mhcs_gemm *gemm);

/* After the real GEMM: snapshots on the stream and hands the slot over. `launched` is false if the
 * real function returned an error: the slot is given back and nothing is recorded. */
void mhcs_shadow_after(struct mhcs_sample *sample, bool launched);

/* In place of mhcs_shadow_after(), where the call was left by an exception or a longjmp, perhaps
 * long ago: its stream may be gone. The slot is given back once the device no longer writes to it.
 */
void mhcs_shadow_forget(struct mhcs_sample *sample);

enum mhcs_reference_kind { MHCS_REFERENCE_KERNEL, MHCS_REFERENCE_CUBLAS, MHCS_REFERENCE_HOST };

#define MHCS_SHAPES_MAX 16
struct mhcs_shape {
    uint32_t coefficients, k;
};

/* The environment, parsed once (interpose/env.c) and constant from then on. doc/design.md lists the
 * variables. */
struct mhcs_settings {
    bool enabled;  /* MHCSHADOW */
    double sample; /* MHCSHADOW_SAMPLE: probability 0..1 */
    uint32_t rows; /* MHCSHADOW_ROWS: 1..MHCS_ROWS_MAX */
    char dir[PATH_MAX];
    char model[PATH_MAX];
    struct mhcs_shape shapes[MHCS_SHAPES_MAX];
    uint32_t shape_count;
    enum mhcs_reference_kind reference;
    bool graphs, callsites, cupti, sync;
    uint32_t mem_mb, headroom_mb, max_mb;
    double budget; /* share of wall time the hook may take, 0..1; 0: no limit */
    char metrics[PATH_MAX];
    char label[256];
};

/* Objects of the process whose cuBLAS calls nobody hooks. */
#define MHCS_BYPASSES_MAX 8 /* more are not listed */
struct mhcs_bypass {
    char object[256]; /* path */
    bool is_static;   /* cuBLAS is linked into it; else its calls are bound past the hooks */
};
struct mhcs_bypasses { /* zero-initialise */
    uint64_t loads;    /* the linker's count of objects loaded, as of the last look; 0: look anew */
    uint32_t count;
    struct mhcs_bypass list[MHCS_BYPASSES_MAX];
};

/* Adds those not yet in the list. Waits for the linker's lock: not for application threads. */
typedef void mhcs_bypass_look(struct mhcs_bypasses *bypasses);

/* Set once by interpose/ before the first mhcs_shadow_before(); the pointers stay valid. `look` may
 * be NULL. */
void mhcs_shadow_configure(const struct mhcs_settings *settings, mhcs_bypass_look *look);

#endif
