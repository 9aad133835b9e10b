/* SPDX-License-Identifier: Apache-2.0 */
/* A shadow that only writes down what it is given, where the stream points to. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "fakecublas.h"
#include "shadow/log.h"
#include "shadow/reason.h"

static atomic_uint_fast64_t counters[MHCS_COUNTERS];
static enum mhcs_log_level log_level = MHCS_LOG_WARN;

bool mhcs_shadow_before(struct mhcs_sample *sample, const struct mhcs_gemm *gemm)
{
    struct fake_shadow *const seen = gemm->stream;

    seen->before++;
    seen->gemm = *gemm;
    for (int i = 0; i < MHCS_COUNTERS; i++) {
        seen->counters[i] = mhcs_counter_value((enum mhcs_counter)i);
    }
    return !seen->refuse;
}

void mhcs_shadow_after(struct mhcs_sample *sample, const struct mhcs_gemm *gemm, bool launched)
{
    struct fake_shadow *const seen = gemm->stream;

    seen->after++;
    seen->launched = launched;
}

void mhcs_shadow_configure(const struct mhcs_settings *settings)
{
}

void mhcs_decline(enum mhcs_reason reason)
{
    mhcs_count(MHCS_FAILED);
}

void mhcs_count(enum mhcs_counter which)
{
    atomic_fetch_add_explicit(&counters[which], 1, memory_order_relaxed);
}

uint64_t mhcs_counter_value(enum mhcs_counter which)
{
    return atomic_load_explicit(&counters[which], memory_order_relaxed);
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
