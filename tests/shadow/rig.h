/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a scenario in a child process with the simulated driver, as an application would, to its
 * ordinary exit; the parent then looks at the traces. Include after cmocka.h. */
#ifndef RIG_H
#define RIG_H

#include <cuda.h>

#include "child.h"
#include "traces.h"
#include "work.h"

#if defined(__has_feature)
#define RIG_SANITIZER(name) __has_feature(name##_sanitizer)
#else
#define RIG_SANITIZER(name) 0
#endif
/* Under ThreadSanitizer the simulation takes seconds for what it else does in tens of ms. */
#if defined(__SANITIZE_THREAD__) || RIG_SANITIZER(thread)
#define RIG_SLOW
#endif
/* The allocator of AddressSanitizer may be locked for ever behind a fork; ThreadSanitizer allows no
 * threads there. */
#if defined(RIG_SLOW) || defined(__SANITIZE_ADDRESS__) || RIG_SANITIZER(address)
#define RIG_NO_THREADS_BEHIND_FORK
#endif

#define RIG_ROWS 3 /* odd, so that what lies behind the results has to be aligned */
#define RIG_K    256

/* For a condition to come true, on a machine that does much else. */
#define RIG_SECONDS 60

struct rig {
    char dir[64];
    char log[80];                  /* the library's log lines, down to "info", of the last child */
    struct mhcs_settings settings; /* to be changed before rig_run() */
    const char *env[2][2];         /* set in the child: {NAME, VALUE} */
    struct work_shape shape;
    uint32_t calls;
    bool bare; /* no CUDA before the scenario */
    int pid;   /* of the last child */
};

int rig_set_up(void **state);
/* The same, but with copies in place of kernels where the interpreter is slow. */
int rig_set_up_quick(void **state);
/* With graphs followed. */
int rig_set_up_graphs(void **state);
int rig_tear_down(void **state);

/* Runs `scenario` in a child with a context current and the library configured; fails the test
 * unless the child exits with 0, the simulation saw no fault, and all is over in time. */
void rig_run(struct rig *rig, void (*scenario)(struct rig *rig));

/* In the child: until every sample so far is recorded or lost and its slot free again. At an exit,
 * what the library finishes in its two seconds depends on what else the machine does. */
void rig_wait_for_slots(void);

/* Scenario: rig->calls calls on a stream of their own, none of which is left to the exit. */
void rig_calls(struct rig *rig);

/* The trace of the last child, which must have come to its end. */
void rig_read_trace(const struct rig *rig, struct trace *trace);

/* The row is what the oracle says. */
void rig_check_row(const struct rig *rig, const struct trace_row *row);

/* `expected` rows in all, RIG_ROWS of each call recorded, and each is what the oracle says. */
void rig_check_rows(const struct rig *rig, const struct trace *trace, uint32_t expected);

/* Lines with `text` in the log of the last child. */
int rig_logged(const struct rig *rig, const char *text);

CUstream rig_stream(void);
CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned flags, CUdevice device);

#endif
