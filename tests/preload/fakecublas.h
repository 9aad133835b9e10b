/* SPDX-License-Identifier: Apache-2.0 */
/* A libcublas and a libcublasLt that compute nothing: they write down what they were given and
 * answer as they are told. The handle that a test passes is its own struct fake_handle, and so are
 * the descriptors of cublasLt; nothing else is shared, so that a test can tell which of several
 * libraries was reached, and through which call.
 */
#ifndef FAKECUBLAS_H
#define FAKECUBLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/hooks.h"
#include "shadow/shadow.h"

#define FAKE_WORDS 23 /* of the longest parameter list */

struct fake_handle {
    /* What the library answers. */
    cublasStatus_t answer;
    int set_errno; /* 0: leaves it alone */
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    cublasMath_t math_mode;
    cublasStatus_t getter_answer;
    void (*within)(void *arg); /* runs inside the call, if set */
    void *arg;

    /* What it saw. */
    unsigned calls;
    int major;
    const char *function;
    int errno_at_entry;
    uint64_t words[FAKE_WORDS]; /* the arguments, in order */
};

/* cublasLt's descriptors and algorithm. */
struct fake_layout {
    uint32_t type, batch_mode;
    int32_t order, count;
    uint64_t rows, columns;
    int64_t ld, stride;
};

struct fake_operation {
    int32_t compute, scale_type, pointer_mode, transa, transb, transc;
    uint32_t epilogue;
    void *a_scale;
};

struct fake_algorithm {
    uint32_t reduction_scheme;
};

/* What the shadow's double sees: a test hands it over as the handle's stream. */
struct fake_shadow {
    bool refuse;   /* mhcs_shadow_before() answers false, mhcs_shadow_capture() DECLINED */
    bool captured; /* mhcs_shadow_capture() answers anything but NONE */

    unsigned before, after, forgotten;
    bool launched;
    struct mhcs_gemm gemm;
    struct mhcs_gemm entries[8];      /* of the first calls */
    uint64_t counters[MHCS_COUNTERS]; /* at the last mhcs_shadow_before() */
};

/* The arguments of a call as words, and a call with words for arguments. */
#define FAKE_WORD(type, name)    (uint64_t) name
#define FAKE_SEMICOLON()         ;
#define FAKE_SET(type, name)     x.name = (type)words[i++]
#define FAKE_GET(type, name)     x.name
#define FAKE_OF(what, kind)      FAKE_OF_KIND(what, kind)
#define FAKE_OF_KIND(what, kind) what##kind

#define HOOK(name, family, index)                                                                  \
    static inline cublasStatus_t fake_call_##name(mhcs_type_##name *function,                      \
                                                  const uint64_t *words)                           \
    {                                                                                              \
        struct {                                                                                   \
            MHCS_FAMILY_##family(MHCS_DECLARE, FAKE_SEMICOLON, index);                             \
        } x;                                                                                       \
        size_t i = 0;                                                                              \
                                                                                                   \
        MHCS_FAMILY_##family(FAKE_SET, FAKE_SEMICOLON, index);                                     \
        return function(MHCS_FAMILY_##family(FAKE_GET, MHCS_COMMA, index));                        \
    }
MHCS_HOOKS(HOOK)
#undef HOOK

/* Of the fake libcublas: calls cublasLt from within, through the PLT, as NVIDIA's does. */
cublasStatus_t fakecublas_calls_lt(const uint64_t words[FAKE_WORDS]);

/* Of caller.c, linked into programs and plugins. */
typedef cublasStatus_t fake_caller(enum mhcs_hook hook, const uint64_t words[FAKE_WORDS]);
fake_caller caller_call;

#endif
