/* SPDX-License-Identifier: Apache-2.0 */
/* A shadow that only writes down what it is given, where the stream points to; of graphs, where the
 * handle points to. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "fakecublas.h"
#include "fakecudart.h"
#include "shadow/graph.h"
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

void mhcs_shadow_configure(const struct mhcs_settings *settings, mhcs_bypass_look *look)
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

/* ---- graphs: a known stream is followed from its capture on ---- */

atomic_int mhcs_captures, mhcs_graphs_followed;
atomic_uint_fast64_t mhcs_graph_nodes;

static unsigned begins; /* comes without a handle */

void mhcs_capture_begins(void)
{
    begins++;
}

void mhcs_capture_began(void *stream)
{
    struct fake_graphs *const seen = fake_graphs_of(stream);

    seen->begins += begins;
    seen->began++;
    seen->stream = stream;
    begins = 0;
    mhcs_captures++;
}

uint64_t mhcs_capture_id(void *stream)
{
    return 1234;
}

void mhcs_capture_ended(void *stream, uint64_t id)
{
    struct fake_graphs *const seen = fake_graphs_of(stream);

    seen->ended += id == 1234;
    seen->stream = stream;
    mhcs_captures--;
}

enum mhcs_capture mhcs_shadow_capture(struct mhcs_sample *sample, const struct mhcs_gemm *gemm)
{
    struct fake_shadow *const seen = gemm->stream;

    if (!seen->captured) {
        return MHCS_CAPTURE_NONE;
    }
    if (seen->refuse) {
        return MHCS_CAPTURE_DECLINED;
    }
    mhcs_shadow_before(sample, gemm);
    mhcs_graph_nodes++;
    return MHCS_CAPTURE_TAKEN;
}

void mhcs_graph_instantiated(void *exec, void *graph)
{
    struct fake_graphs *const seen = graph;

    seen->instantiated++;
    seen->exec = exec;
    mhcs_graphs_followed++;
}

void mhcs_graph_updated(void *exec, void *graph)
{
    ((struct fake_graphs *)graph)->updated++;
}

bool mhcs_graph_keep(void *graph, mhcs_graph_destroy *destroy)
{
    struct fake_graphs *const seen = graph;

    seen->destroy = destroy;
    return seen->keep;
}

struct mhcs_graph_left mhcs_graph_exec_destroyed(void *exec)
{
    struct fake_graphs *const seen = exec;

    mhcs_graphs_followed--;
    seen->exec_destroyed++;
    return (struct mhcs_graph_left){seen->destroy ? seen : NULL, seen->destroy};
}

void mhcs_replay_before(struct mhcs_replay *replay, void *exec, void *stream)
{
    struct fake_graphs *const seen = exec;

    seen->before++;
    seen->stream = stream;
    replay->exec = exec;
}

void mhcs_replay_after(struct mhcs_replay *replay, bool launched)
{
    struct fake_graphs *const seen = (struct fake_graphs *)replay->exec;

    seen->after++;
    seen->launched = launched;
}
