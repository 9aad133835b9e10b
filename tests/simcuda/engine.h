/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of the simulated CUDA: devices, contexts, streams, events, and the order in which the
 * operations queued on streams run.
 *
 * One lock guards everything here. A driver call takes it on entry (api.c) and holds it until it
 * returns; only waiting and host functions let go of it. Operations run under it, on the thread
 * that waits, or in the order `threads` on the device's worker.
 *
 * Happens-before. Every stream is an actor with a component in a vector clock. An operation's clock
 * is fixed when it is queued: it joins its predecessor in the stream, the tasks it was told to
 * follow (cuStreamWaitEvent, the legacy stream's rules) and what the host has waited for. So
 * whether two accesses are ordered never depends on the order in which they happened to run.
 * The host has one clock for all its threads: how they hand work to each other (a mutex, an atomic
 * flag) is invisible here, and a clock for each would report races in correct programs.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Declares the functions under the names the library exports (cuMemAlloc_v2, not a macro for it),
 * older versions and the per-thread default stream twins too. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "memory.h"
#include "simcuda.h"
#include "table.h"

#define SIM_DEVICES_MAX 8
#define SIM_STACK_MAX   64 /* contexts pushed by one thread */

#define SIM_PRIORITY_LEAST    0
#define SIM_PRIORITY_GREATEST (-5)

/* Shared memory of a block: what it gets unasked, and with the attribute for more. */
#define SIM_SHARED_DEFAULT (48 << 10)
#define SIM_SHARED_MOST    (227 << 10)

enum sim_order { SIM_LAZY, SIM_RANDOM, SIM_EAGER, SIM_THREADS };

enum sim_task_state { SIM_QUEUED, SIM_RUNNING, SIM_DONE };

/* What to queue: simcuda_body and its argument, plus what only the engine's own callers need. */
struct sim_work {
    const char *what;   /* valid for ever: race reports name operations long gone */
    simcuda_body *body; /* NULL: only an ordering point */
    void *arg;
    void (*drop)(void *arg); /* NULL: free() */
    CUgraphNodeType type;    /* of the node it becomes while its stream is captured */
    bool host_function;      /* runs without the lock, skipped after a fault; must not call CUDA */
};

/* A queued operation. Alive while queued, and as long as someone holds a reference: an event, the
 * stream for its last one, a task that follows it. */
struct sim_task {
    struct sim_op op;
    uint32_t clock[SIM_CLOCKS_MAX];
    struct sim_work work;
    CUstream stream;                /* until done */
    struct sim_task *next, *before; /* in the stream's queue */
    struct sim_task *todo;          /* order.c's list while it marks what is wanted */
    struct sim_task **after;
    uint32_t after_count, after_capacity;
    enum sim_task_state state;
    bool wanted; /* something the host waits for, or asked about, needs it */
    unsigned refs;
    struct timespec finished;
};

/* Nodes of a graph, each once; see graph.h. */
struct sim_nodes {
    struct sim_node **at;
    uint32_t count, capacity;
};

/* The driver's opaque handles are the engine's structs themselves. */
struct CUstream_st {
    CUcontext context;
    CUstream next; /* in sim.streams */
    uint64_t id;
    uint64_t thread; /* owner of a per-thread default stream, else 0 */
    uint32_t actor;
    int priority;
    bool blocking;           /* takes part in the legacy stream's ordering */
    bool destroyed;          /* waits here until its queue is empty */
    struct sim_task *queue;  /* oldest task that isn't done */
    struct sim_task *newest; /* end of the queue */
    struct sim_task *last;   /* the last one ever queued, done or not: carries the stream's clock */
    struct sim_capture *capture; /* NULL: the stream is not captured; see capture.h */
    struct sim_nodes tips;       /* what the next node captured here follows */
    CUgraphNode *told;           /* the array that cuStreamGetCaptureInfo gave away */
};

struct CUevent_st {
    CUcontext context;
    struct sim_task *record; /* NULL: never recorded, counts as complete */
    uint64_t capture;        /* id of the capture it was last recorded in; 0: of none */
    struct sim_nodes tips;   /* then: what waiting for it means */
    bool timing;
};

struct CUctx_st {
    int device;
    unsigned flags, api_version;
    unsigned retained; /* primary context only */
    bool primary, alive;
    CUcontext older; /* in sim.contexts */
    CUresult error;  /* sticky */
    uint64_t id;
    size_t limits[CU_LIMIT_MAX];
    CUstream legacy;
    uint32_t retired[SIM_CLOCKS_MAX]; /* joined clocks of streams that were destroyed */
};

struct sim_device {
    struct CUctx_st primary;
    uint64_t used; /* bytes allocated */
    bool worker;   /* its thread runs (order threads) */
};

struct sim_allocation {
    uint64_t base, bytes;
    CUcontext context;
    enum sim_memory_space space;
    unsigned flags;
    bool adopted; /* the application's own memory, registered */
    bool freeing; /* cuMemFreeAsync is queued */
    uint64_t id;
};

/* What handles.c can find again. */
enum sim_kind {
    SIM_STREAM,
    SIM_EVENT,
    SIM_CONTEXT,
    SIM_MODULE,
    SIM_FUNCTION,
    SIM_LIBRARY,
    SIM_KERNEL,
    SIM_GRAPH, /* graphs, nodes and executable graphs: by number, see graph.h */
    SIM_NODE,
    SIM_EXEC,
    SIM_KINDS
};

struct sim_engine {
    pthread_mutex_t lock;   /* guards all that follows, and the objects above */
    pthread_cond_t changed; /* a task was queued or is done */
    bool ready;             /* cuInit succeeded */
    enum sim_order order;
    uint64_t random; /* state of the order's generator */
    int cc_major, cc_minor;
    uint64_t device_bytes; /* of each device */
    bool abort_on_fault;
    int device_count;
    struct sim_device devices[SIM_DEVICES_MAX];
    struct sim_memory *memory;
    struct sim_table handles[SIM_KINDS];
    struct sim_table allocations; /* by base address */
    uint32_t host[SIM_CLOCKS_MAX];
    uint32_t ticks[SIM_CLOCKS_MAX]; /* last tick of each actor; survives the actor's reuse */
    bool actors[SIM_CLOCKS_MAX];    /* taken */
    uint32_t next_actor;
    uint32_t op_id;
    uint64_t object_id;
    CUcontext contexts; /* all that cuCtxCreate made, also destroyed ones, newest first */
    CUstream streams;   /* of all contexts, newest first; destroyed ones until they are empty */
    struct sim_capture *captures; /* that have begun and not ended */
};

extern struct sim_engine sim;

/* What a host thread carries. */
struct sim_thread {
    CUcontext stack[SIM_STACK_MAX];
    unsigned depth;
    uint64_t id;
    bool per_thread_default; /* stream 0 of this call is the thread's own */
    bool in_host_function;
    CUstreamCaptureMode capture_mode;
};

extern _Thread_local struct sim_thread sim_thread;

/* engine.c: start and reports */
CUresult sim_start(void);
int sim_driver_version(void); /* 13000, or what SIMCUDA_DRIVER lowers it to; needs no lock */
bool sim_forked(void); /* CUDA was initialised by the parent: unusable here, as with the driver */
void sim_lock(void);   /* for calls from outside; pthread_mutex_unlock(&sim.lock) ends it */
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Counts and reports, and puts the context in its sticky error. */
void sim_report(CUcontext context, const struct sim_fault *fault);
/* The same for a call that the rules of CUDA forbid: no context is to blame. */
void sim_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A copy that lives as long as the process, one for each text. NULL if out of memory. */
const char *sim_intern(const char *text);

/* task.c: queueing and finishing */
void sim_clock_join(uint32_t *clock, const uint32_t *other);
/* Queues the work; takes over `arg`, also on failure. May run operations, this one included, as the
 * order says. ret_task, unless NULL, gets a reference. */
CUresult sim_enqueue(CUstream stream, const struct sim_work *work, struct sim_task **ret_task);
/* As sim_enqueue(), behind these tasks too, and runs nothing yet: sim_order_queued() goes with it.
 */
CUresult sim_queue(CUstream stream, const struct sim_work *work, struct sim_task *const *after,
                   size_t after_count, struct sim_task **ret_task);
void sim_work_drop(const struct sim_work *work); /* lets go of the argument, unused */
bool sim_task_ready(const struct sim_task *task);
void sim_task_run(struct sim_task *task);
struct sim_task *sim_task_ref(struct sim_task *task);
void sim_task_unref(struct sim_task *task); /* NULL is fine */

/* order.c: who runs next */
CUresult sim_order_parse(const char *text);
const char *sim_order_name(void);
void sim_order_queued(void); /* a task was queued */
/* Until the task is done; the host then happens after it. NULL is fine. */
void sim_wait(struct sim_task *task);
/* Runs at most one operation that the task needs; true if the task is done, and then the host
 * happens after it. This is what makes polling end. */
bool sim_poll(struct sim_task *task);

/* stream.c */
CUresult sim_stream_new(CUcontext context, bool blocking, int priority, CUstream *ret_stream);
void sim_stream_destroy(CUstream stream);
void sim_stream_reap(CUstream stream); /* frees it if destroyed and empty */
/* 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a live handle, else CUDA_ERROR_INVALID_HANDLE. */
CUresult sim_stream_resolve(CUstream handle, CUstream *ret_stream);

/* context.c */
CUcontext sim_context_current(void); /* NULL: none */
CUresult sim_context_open(CUcontext context, int device, unsigned flags);
void sim_context_close(CUcontext context);
void sim_context_wait(CUcontext context);

/* handles.c: which pointers are live objects */
bool sim_handle_add(enum sim_kind kind, const void *object);
bool sim_handle_is(enum sim_kind kind, const void *object);
void sim_handle_remove(enum sim_kind kind, const void *object);

/* allocation.c */
CUresult sim_allocation_new(CUcontext context, uint64_t bytes, enum sim_memory_space space,
                            unsigned flags, struct sim_allocation **ret_allocation);
/* Pinned memory that the application brings (cuMemHostRegister). */
CUresult sim_allocation_adopt(CUcontext context, void *host, uint64_t bytes, unsigned flags);
/* The allocation that holds the address, or NULL. */
struct sim_allocation *sim_allocation_find(uint64_t address);
void sim_allocation_free(struct sim_allocation *allocation);
void sim_allocations_close(CUcontext context);

/* module.c */
void sim_modules_close(CUcontext context);

#endif
