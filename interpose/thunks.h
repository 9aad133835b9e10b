/* SPDX-License-Identifier: Apache-2.0 */
/* What the assembly of thunks.S knows of C; exports.c asserts that it is so. */
#ifndef MHCS_THUNKS_H
#define MHCS_THUNKS_H

/* Elsewhere the exports are C alone. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define MHCS_THUNKS 1
#else
#define MHCS_THUNKS 0
#endif

#define MHCS_THUNK_OUTER      24 /* MHCS_COEFFICIENTS */
#define MHCS_THUNK_OUTER_HEAD 4  /* MHCS_COEFFICIENTS_HEAD */

/* struct mhcs_call_site, and the hash of a return address that finds one. */
#define MHCS_CALL_SITE_BITS       8
#define MHCS_CALL_SITE_BYTES_LOG2 5
#define MHCS_CALL_SITE_CALLER     0
#define MHCS_CALL_SITE_FUNCTION   8
#define MHCS_CALL_SITE_SPREAD     0x9E3779B97F4A7C15

/* struct mhcs_tally */
#define MHCS_TALLY_SEEN 0

#endif
