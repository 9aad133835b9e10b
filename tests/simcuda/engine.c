/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's start (environment, device memory), its reports, and what becomes of it in a fork.
 */
#include "engine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_engine sim = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

_Thread_local struct sim_thread sim_thread;

/* Set in a forked child before it has other threads, read anywhere: relaxed is enough. */
static atomic_bool forked;

/* Raised under the lock, read by tests without it. */
static atomic_uint faults;

bool sim_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

static void after_fork(void)
{
    atomic_store_explicit(&forked, true, memory_order_relaxed);
}

/* Whoever waits for the lock holds the door, so that a thread which makes one call after the other
 * can't keep the others out: the mutex alone goes to whoever is running already. */
void sim_lock(void)
{
    static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&door);
    pthread_mutex_lock(&sim.lock);
    pthread_mutex_unlock(&door);
}

void sim_say(const char *format, ...)
{
    char line[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fprintf(stderr, "simcuda: %s\n", line);
}

void sim_report(CUcontext context, const struct sim_fault *fault)
{
    const CUresult code = fault->code ? (CUresult)fault->code : CUDA_ERROR_LAUNCH_FAILED;

    atomic_fetch_add_explicit(&faults, 1, memory_order_relaxed);
    sim_say("%s", fault->text);
    if (context->error == CUDA_SUCCESS)
        context->error = code;
    if (sim.abort_on_fault)
        abort();
}

void sim_complain(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    atomic_fetch_add_explicit(&faults, 1, memory_order_relaxed);
    sim_say("%s", text);
    if (sim.abort_on_fault)
        abort();
}

unsigned simcuda_fault_count(void)
{
    return atomic_load_explicit(&faults, memory_order_relaxed);
}

const char *sim_intern(const char *text)
{
    static struct sim_text {
        struct sim_text *next;
        char text[];
    } * all;
    struct sim_text *t = all;

    while (t && strcmp(t->text, text) != 0)
        t = t->next;
    if (!t && (t = malloc(sizeof(*t) + strlen(text) + 1))) {
        strcpy(t->text, text);
        t->next = all;
        all = t;
    }
    return t ? t->text : NULL;
}

/* A whole number from the environment within [low, high], or the default. */
static bool env_number(const char *name, long fallback, long low, long high, long *ret_value)
{
    const char *text = getenv(name);
    char *end;

    *ret_value = fallback;
    if (!text)
        return true;
    *ret_value = strtol(text, &end, 10);
    if (end != text && *end == '\0' && *ret_value >= low && *ret_value <= high)
        return true;
    sim_say("%s=%s is not a number from %ld to %ld", name, text, low, high);
    return false;
}

static bool env_compute_capability(void)
{
    const char *text = getenv("SIMCUDA_CC");
    int end = 0;

    if (!text)
        text = "9.0";
    if (sscanf(text, "%2d.%1d%n", &sim.cc_major, &sim.cc_minor, &end) == 2 && text[end] == '\0')
        return true;
    sim_say("SIMCUDA_CC=%s is not a compute capability such as 9.0", text);
    return false;
}

static bool env_flag(const char *name)
{
    const char *text = getenv(name);

    return text && *text != '\0' && strcmp(text, "0") != 0;
}

/* The version is asked for before cuInit, too. */
int sim_driver_version(void)
{
    long driver;

    return env_number("SIMCUDA_DRIVER", 13000, 11000, 13000, &driver) ? (int)driver : 13000;
}

CUresult sim_start(void)
{
    const char *order = getenv("SIMCUDA_ORDER");
    long devices, megabytes;

    if (sim.ready)
        return CUDA_SUCCESS;
    if (sim_order_parse(order ? order : "lazy") != CUDA_SUCCESS ||
        !env_number("SIMCUDA_DEVICES", 1, 0, SIM_DEVICES_MAX, &devices) ||
        !env_number("SIMCUDA_MEM_MB", 8192, 1, 1L << 20, &megabytes) || !env_compute_capability())
        return CUDA_ERROR_INVALID_VALUE;
    if (devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    sim.device_count = (int)devices;
    sim.device_bytes = (uint64_t)megabytes << 20;
    sim.abort_on_fault = env_flag("SIMCUDA_ABORT");
    sim.memory = sim_memory_new(sim.device_bytes * (uint64_t)devices);
    if (!sim.memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_atfork(NULL, NULL, after_fork);
    sim.ready = true;
    if (!env_flag("SIMCUDA_QUIET"))
        sim_say("this is a simulation of CUDA on the CPU, not a GPU (devices: %d, compute "
                "capability %d.%d, order %s); SIMCUDA_QUIET=1 hides this line",
                sim.device_count, sim.cc_major, sim.cc_minor, sim_order_name());
    return CUDA_SUCCESS;
}
