/* SPDX-License-Identifier: Apache-2.0 */
/* The exported symbols on x86-64. A GEMM that is none of ours passes here and nowhere else.
 *
 * Three questions, and if all are answered yes the call is counted and goes on to the real function
 * by a jump: is neither m nor n a coefficient count (the 4th and 5th argument, in registers)? Does
 * the slot of the return address hold this call site? Has the thread a tally? Otherwise it goes, by
 * a jump too, to the C of exports.c, which can do anything. Either finds registers, stack and
 * return address as the caller left them; so nothing is to be told to an unwinder but that there is
 * no frame, and the caller in a backtrace is the application.
 *
 * rax, r10 and r11 are free: no argument and nothing of the caller's is in them.
 */
#include "interpose/hooks.h"
#include "interpose/thunks.h"

#if MHCS_THUNKS

#ifdef __CET__
#include <cet.h> /* _CET_ENDBR, and the note that keeps the process's CET on */
#else
#define _CET_ENDBR
#endif

.macro begin name
    .globl \name
    .type \name, @function
    .p2align 5
\name:
    .cfi_startproc
    _CET_ENDBR
.endm

.macro end name
    .cfi_endproc
    .size \name, . - \name
.endm

.set hook_number, 0

.macro thunk name, m, n
    begin \name
    cmp $MHCS_THUNK_OUTER, \m
    je 1f
    cmp $MHCS_THUNK_OUTER, \n
    je 1f
    cmp $MHCS_THUNK_OUTER_HEAD, \m
    je 1f
    cmp $MHCS_THUNK_OUTER_HEAD, \n
    je 1f
    mov (%rsp), %rax
    movabs $MHCS_CALL_SITE_SPREAD, %r11
    imul %rax, %r11
    lea mhcs_call_sites + (hook_number << (MHCS_CALL_SITE_BITS + MHCS_CALL_SITE_BYTES_LOG2))(%rip), %r10
    shr $(64 - MHCS_CALL_SITE_BITS), %r11
    shl $MHCS_CALL_SITE_BYTES_LOG2, %r11
    cmp %rax, MHCS_CALL_SITE_CALLER(%r10, %r11)
    jne 1f
    mov mhcs_own_tally@gottpoff(%rip), %rax
    mov %fs:(%rax), %rax
    test %rax, %rax
    je 1f
    incq MHCS_TALLY_SEEN(%rax)
    jmp *MHCS_CALL_SITE_FUNCTION(%r10, %r11)
1:  jmp mhcs_hooked_\name
    end \name
    .set hook_number, hook_number + 1
.endm

/* No shape in registers. */
.macro jump name
    begin \name
    jmp mhcs_hooked_\name
    end \name
    .set hook_number, hook_number + 1
.endm

    .hidden mhcs_call_sites
    .hidden mhcs_own_tally
#define HOOK(name, family, index) .hidden mhcs_hooked_##name;
    MHCS_HOOKS(HOOK)
#undef HOOK

    .text
#define HOOK(name, family, index)       HOOK_OF(name, MHCS_KIND_##family, index)
#define HOOK_OF(name, kind, index)      HOOK_OF_KIND(name, kind, index)
#define HOOK_OF_KIND(name, kind, index) HOOK_##kind(name, index)
#define HOOK_ONE(name, index)           THUNK_##index(name)
#define HOOK_BATCH(name, index)         THUNK_##index(name)
#define HOOK_GROUPS(name, index)        jump name;
#define HOOK_LT(name, index)            jump name;
#define THUNK_int(name)                 thunk name, %ecx, %r8d;
#define THUNK_int64_t(name)             thunk name, %rcx, %r8;
    MHCS_HOOKS(HOOK)

#endif

    .section .note.GNU-stack, "", @progbits
