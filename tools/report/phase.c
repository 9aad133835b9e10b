/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report/phase.h"

enum mhcs_phase mhcs_phase_of(const struct mhcs_record *record)
{
    return record->graph || record->tokens <= MHCS_DECODE_TOKENS_MAX ? MHCS_DECODE : MHCS_PREFILL;
}

const char *mhcs_phase_name(enum mhcs_phase phase)
{
    return phase == MHCS_PREFILL ? "prefill" : "decode";
}
