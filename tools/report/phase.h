/* SPDX-License-Identifier: Apache-2.0 */
/* Prefill or decode: what a call served, as far as its size shows. */
#ifndef MHCS_REPORT_PHASE_H
#define MHCS_REPORT_PHASE_H

#include "shadow/trace/trace.h"

enum mhcs_phase { MHCS_PREFILL, MHCS_DECODE };
#define MHCS_PHASES            2
#define MHCS_DECODE_TOKENS_MAX 64 /* a call with more token rows, not from a graph, is prefill */
enum mhcs_phase mhcs_phase_of(const struct mhcs_record *record);
const char *mhcs_phase_name(enum mhcs_phase phase);

#endif
