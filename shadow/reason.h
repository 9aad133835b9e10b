/* SPDX-License-Identifier: Apache-2.0 */
/* Why a due call was not recorded. Application threads only count; the drain thread names each
 * reason once in the log and in the trace.
 */
#ifndef MHCS_REASON_H
#define MHCS_REASON_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/log.h"
#include "shadow/shadow.h"

/* X(NAME, counter it falls under, key in the trace, log level, text of the log). */
#define MHCS_REASONS(X)                                                                            \
    X(NO_SLOT, MHCS_DROPPED, "no_slot", MHCS_LOG_INFO,                                             \
      "samples are dropped: no slot was free (raise MHCSHADOW_MEM_MB or lower MHCSHADOW_SAMPLE)")  \
    X(BUDGET, MHCS_DROPPED, "budget", MHCS_LOG_INFO,                                               \
      "samples are dropped: over MHCSHADOW_BUDGET (raise it or lower MHCSHADOW_SAMPLE)")           \
    X(ENTRIES, MHCS_DROPPED, "entries", MHCS_LOG_INFO,                                             \
      "entries of batched GEMMs are dropped: more were due in one call than it samples")           \
    X(ARMING, MHCS_DROPPED, "arming", MHCS_LOG_DEBUG,                                              \
      "samples are dropped while another thread sets up")                                          \
    X(STOPPED, MHCS_DROPPED, "stopped", MHCS_LOG_DEBUG, "the process is exiting")                  \
    X(CAPTURED, MHCS_CAPTURED, "captured", MHCS_LOG_WARN,                                          \
      "calls are captured into a CUDA graph and not checked (MHCSHADOW_GRAPHS=1 follows graphs)")  \
    X(CAPTURE_UNSEEN, MHCS_CAPTURED, "capture_unseen", MHCS_LOG_WARN,                              \
      "calls are captured into a CUDA graph and not checked: their capture began before any "      \
      "mixing GEMM was made, or not by cudaStreamBeginCapture of a shared libcudart (but by the "  \
      "driver's own function, or into a graph that was there already)")                            \
    X(CAPTURE_EARLY, MHCS_CAPTURED, "capture_early", MHCS_LOG_WARN,                                \
      "calls are captured into a CUDA graph and not checked: nothing was set up for their CUDA "   \
      "context when the capture began")                                                            \
    X(CAPTURE_DRIVER, MHCS_CAPTURED, "capture_driver", MHCS_LOG_WARN,                              \
      "calls are captured into a CUDA graph and not checked: the driver lacks a call for it, or "  \
      "refuses the kernels (CUDA 12.3 and later have all)")                                        \
    X(NO_DRIVER, MHCS_FAILED, "no_driver", MHCS_LOG_DEBUG, "the CUDA driver can't be used")        \
    X(NO_CONTEXT, MHCS_FAILED, "no_context", MHCS_LOG_WARN,                                        \
      "calls are not sampled: no CUDA context is current on their thread")                         \
    X(TOO_MANY_CONTEXTS, MHCS_FAILED, "too_many_contexts", MHCS_LOG_WARN,                          \
      "calls are not sampled: the process made more CUDA contexts than are followed")              \
    X(DISARMED, MHCS_FAILED, "disarmed", MHCS_LOG_DEBUG,                                           \
      "calls are not sampled in a context whose engine is disarmed")                               \
    X(SHAPE, MHCS_FAILED, "shape", MHCS_LOG_WARN,                                                  \
      "a mixing GEMM does not fit a slot and is not sampled: name its shape in MHCSHADOW_SHAPES")  \
    X(OPERAND, MHCS_FAILED, "operand", MHCS_LOG_WARN,                                              \
      "a GEMM is not sampled: an operand's rows lie outside of its CUDA allocation")               \
    X(STREAM, MHCS_FAILED, "stream", MHCS_LOG_WARN,                                                \
      "a GEMM is not sampled: the driver can't tell the state of its stream")                      \
    X(TYPES, MHCS_FAILED, "types", MHCS_LOG_WARN,                                                  \
      "a GEMM is not sampled: a scalar is missing, or something is not of type f32, bf16 or f16")  \
    X(ARGUMENTS, MHCS_FAILED, "arguments", MHCS_LOG_WARN,                                          \
      "a mixing GEMM is not sampled: a type, operation, pointer or leading dimension of it can't " \
      "be followed")                                                                               \
    X(HANDLE, MHCS_FAILED, "handle", MHCS_LOG_WARN,                                                \
      "a mixing GEMM is not sampled: its cuBLAS does not tell the stream and modes of its handle") \
    X(EPILOGUE, MHCS_FAILED, "epilogue", MHCS_LOG_WARN,                                            \
      "a cublasLtMatmul is not sampled: an epilogue, a scale pointer or an alpha vector makes "    \
      "its "                                                                                       \
      "result more than alpha*A*B + beta*C")                                                       \
    X(BATCH, MHCS_FAILED, "batch", MHCS_LOG_WARN,                                                  \
      "a batched GEMM is not sampled: it has more entries than are followed")                      \
    X(POINTERS, MHCS_FAILED, "pointers", MHCS_LOG_WARN,                                            \
      "a batched GEMM is not sampled: its matrices' addresses stand in device memory, and the "    \
      "driver refuses the kernels that could read them")                                           \
    X(UNWOUND, MHCS_FAILED, "unwound", MHCS_LOG_INFO,                                              \
      "a GEMM that was due was left by an exception or a longjmp; it is not sampled")              \
    X(GEMM, MHCS_FAILED, "gemm", MHCS_LOG_INFO,                                                    \
      "a GEMM that was due returned an error to the application; it is not sampled")               \
    X(CHILD, MHCS_UNFOLLOWED, "child", MHCS_LOG_WARN,                                              \
      "captured calls are not checked: their graph has become a node of another one")              \
    X(REFUSED, MHCS_UNFOLLOWED, "refused", MHCS_LOG_WARN,                                          \
      "captured calls are not checked: their graph is launched from the device, changed in a way " \
      "that can't be followed, or the driver refuses to enable a node of it")                      \
    X(TOO_MANY_GRAPHS, MHCS_UNFOLLOWED, "too_many_graphs", MHCS_LOG_WARN,                          \
      "captured calls are not checked: there are more CUDA graphs than are followed")              \
    X(TURNS, MHCS_DROPPED, "turns", MHCS_LOG_INFO,                                                 \
      "calls of a CUDA graph are dropped: more were due in one launch than it samples")            \
    X(CLASH, MHCS_FAILED, "clash", MHCS_LOG_WARN,                                                  \
      "a CUDA graph is launched by two threads at once; its replays are not sampled any more")     \
    X(REPLAY, MHCS_FAILED, "replay", MHCS_LOG_WARN,                                                \
      "the driver refuses to change a node for a replay; that graph is not sampled any more")      \
    X(LAUNCH, MHCS_FAILED, "launch", MHCS_LOG_DEBUG, "a snapshot could not be launched")           \
    X(LOST, MHCS_FAILED, "lost", MHCS_LOG_WARN,                                                    \
      "samples in flight were lost: their context failed or ended")                                \
    X(UNFINISHED, MHCS_FAILED, "unfinished", MHCS_LOG_INFO,                                        \
      "samples in flight at exit were not finished in time")                                       \
    X(NO_TRACE, MHCS_FAILED, "no_trace", MHCS_LOG_DEBUG, "sampling is off: no trace is written")

enum mhcs_reason {
#define MHCS_REASON_ENUM(name, counter, key, level, text) MHCS_REASON_##name,
    MHCS_REASONS(MHCS_REASON_ENUM)
#undef MHCS_REASON_ENUM
        MHCS_REASONS_COUNT,
    MHCS_REASON_NONE = MHCS_REASONS_COUNT
};

struct mhcs_reason_info {
    enum mhcs_counter counter;
    const char *key;
    enum mhcs_log_level level;
    const char *text;
};
extern const struct mhcs_reason_info mhcs_reason_info[MHCS_REASONS_COUNT];

/* Any thread: counts n times the reason and its counter. Lock-free. */
void mhcs_turn_away_many(enum mhcs_reason reason, uint64_t n);
static inline void mhcs_turn_away(enum mhcs_reason reason)
{
    mhcs_turn_away_many(reason, 1);
}

/* The same for due calls, and sees to it that the drain thread runs: there may never be a sample,
 * and someone must name the reason. The first one starts a thread. */
void mhcs_decline_many(enum mhcs_reason reason, uint64_t n);
static inline void mhcs_decline(enum mhcs_reason reason)
{
    mhcs_decline_many(reason, 1);
}

/* The same for GEMMs of a graph's launch, under the counters of those: DROPPED and FAILED of the
 * list are REPLAY_DROPPED and REPLAY_FAILED then. */
void mhcs_turn_away_replays(enum mhcs_reason reason, uint64_t n);

/* Drain thread: a call, or a GEMM of a graph's launch, counted as sampled is not recorded after
 * all. */
void mhcs_sample_lost(enum mhcs_reason reason, bool replay);

uint64_t mhcs_reason_value(enum mhcs_reason reason);

/* In a forked child: what the parent counted is the parent's. Registers itself. */
void mhcs_counters_reset(void);

#endif
