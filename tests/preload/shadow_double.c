/* SPDX-License-Identifier: Apache-2.0 */
/* A shadow that only writes down what it is given, where the stream points to. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "fakecublas.h"
#include "shadow/log.h"
#include "shadow/reason.h"

static enum mhcs_log_level log_level = MHCS_LOG_WARN;

/* The counters are the shadow's own (counters.c). */

bool mhcs_shadow_before(struct mhcs_sample *sample, const struct mhcs_gemm *gemm)
{
    struct fake_shadow *const seen = gemm->stream;

    if (seen->before < sizeof(seen->entries) / sizeof(seen->entries[0])) {
        seen->entries[seen->before] = *gemm;
    }
    seen->before++;
    seen->gemm = *gemm;
    for (int i = 0; i < MHCS_COUNTERS; i++) {
        seen->counters[i] = mhcs_counter_value((enum mhcs_counter)i);
    }
    sample->engine = (uint64_t)(uintptr_t)seen;
    return !seen->refuse;
}

void mhcs_shadow_after(struct mhcs_sample *sample, bool launched)
{
    struct fake_shadow *const seen = (struct fake_shadow *)(uintptr_t)sample->engine;

    seen->after++;
    seen->launched = launched;
}

void mhcs_shadow_forget(struct mhcs_sample *sample)
{
    ((struct fake_shadow *)(uintptr_t)sample->engine)->forgotten++;
}

void mhcs_shadow_configure(const struct mhcs_settings *settings)
{
}

void mhcs_decline_many(enum mhcs_reason reason, uint64_t n)
{
    mhcs_turn_away_many(reason, n);
}

void mhcs_log_configure(enum mhcs_log_level level, const char *file)
{
    log_level = level;
}

void mhcs_log(enum mhcs_log_level level, const char *format, ...)
{
    char line[512];
    va_list args;
    int n;

    if (level > log_level) {
        return;
    }
    va_start(args, format);
    n = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    line[n++] = '\n';
    (void)!write(STDERR_FILENO, line, (size_t)n);
}
