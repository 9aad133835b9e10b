/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the process facts. */
#include "shadow/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shadow/clock.h"
#include "shadow/model/model.h"
#include "shadow/pipeline.h"
#include "shadow/process.h"
#include "shadow/revision.h"

#define COMMAND_BYTES   16384 /* the rest of a longer command line is left out */
#define ENVIRONMENT_MAX 64
#define DAY             86400 /* seconds */

/* Copies of "NAME=value", made by the application thread that starts the drain thread. */
static char *environment[ENVIRONMENT_MAX];
static int environment_count;

void mhcs_facts_note_environment(void)
{
    static const char *const prefixes[] = {"NVIDIA_TF32_OVERRIDE=", "CUBLAS_", "CUBLASLT_",
                                           "TORCH_ALLOW_TF32_", "CUDA_MPS_"};

    environment_count = 0; /* it was of the process that forked this one */
    for (char **e = environ; e && *e; e++) {
        for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
            if (strncmp(*e, prefixes[i], strlen(prefixes[i])) == 0 &&
                environment_count < ENVIRONMENT_MAX) {
                char *const copy = strdup(*e);

                if (copy) {
                    environment[environment_count++] = copy;
                }
            }
        }
    }
}

struct date {
    int year, month, day;
};

/* The Gregorian date of a day since 1970-01-01, not before it. gmtime_r() takes a lock of the C
 * library's that fork() leaves held in the child, where the application's next localtime() would
 * wait for it for ever.
 *
 * Years that begin in March put the leap day last: then a year's months have 31 30 31 30 31 days,
 * twice over and a bit, of which 153 * month + 2 over 5 are the days before each. */
static struct date date_of(int64_t day_since_1970)
{
    const int64_t era_days = 146097;             /* 400 years */
    const int64_t day = day_since_1970 + 719468; /* since 0000-03-01 */
    const int64_t of_era = day % era_days;
    const int64_t year_of_era =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / (era_days - 1)) / 365;
    const int of_year = (int)(of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100));
    const int month = (5 * of_year + 2) / 153; /* 0: March */

    return (struct date){
        .year = (int)(day / era_days * 400 + year_of_era) + (month >= 10 ? 1 : 0),
        .month = month < 10 ? month + 3 : month - 9,
        .day = of_year - (153 * month + 2) / 5 + 1,
    };
}

const char *mhcs_facts_time(int64_t unix_ns, char text[MHCS_TIME_BYTES])
{
    const int64_t seconds = unix_ns / MHCS_SECOND;
    const unsigned of_day = (unsigned)(seconds % DAY), fraction = (unsigned)(unix_ns % MHCS_SECOND);
    const struct date date = date_of(seconds / DAY);

    snprintf(text, MHCS_TIME_BYTES, "%04d-%02d-%02dT%02u:%02u:%02u.%09uZ", date.year, date.month,
             date.day, of_day / 3600, of_day / 60 % 60, of_day % 60, fraction);
    return text;
}

/* Up to size - 1 bytes of a file in /proc, NUL-terminated; 0 if it can't be read. */
static size_t read_proc(const char *path, char *text, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got = 1;

    while (fd >= 0 && n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0) {
        n += (size_t)got;
    }
    if (fd >= 0) {
        close(fd);
    }
    text[n] = '\0';
    return n;
}

static void put_host(struct mhcs_json *json)
{
    char host[HOST_NAME_MAX + 1] = "";
    char boot[64];
    char time[MHCS_TIME_BYTES];
    char *command = malloc(COMMAND_BYTES);

    (void)gethostname(host, sizeof(host) - 1);
    read_proc("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    boot[strcspn(boot, "\n")] = '\0';
    mhcs_json_string(json, "host", host);
    mhcs_json_int(json, "pid", getpid());
    mhcs_json_string(json, "boot_id", boot);
    mhcs_json_begin_array(json, "command");
    if (command) {
        const size_t n = read_proc("/proc/self/cmdline", command, COMMAND_BYTES);

        for (size_t i = 0; i < n; i += strlen(command + i) + 1) {
            mhcs_json_string(json, NULL, command + i);
        }
        free(command);
    }
    mhcs_json_end_array(json);
    mhcs_json_string(json, "label", mhcs_process_settings()->label);
    mhcs_json_string(json, "start", mhcs_facts_time(mhcs_clock(CLOCK_REALTIME), time));
    mhcs_json_string(json, "clock", "realtime");
}

static bool simulated(const struct mhcs_driver *driver, int device)
{
    char name[128] = "";

    return driver->cuDeviceGetName(name, sizeof(name), device) == CUDA_SUCCESS &&
           strstr(name, "simcuda");
}

void mhcs_facts_gpu(struct mhcs_json *json, const struct mhcs_driver *driver, int device)
{
    char name[128] = "";
    char text[64];
    CUuuid uuid;
    int sm = 0, major = 0, minor = 0;

    driver->cuDeviceGetName(name, sizeof(name), device);
    driver->cuDeviceGetAttribute(&sm, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    mhcs_json_begin_object(json, "gpu");
    mhcs_json_int(json, "device", device);
    mhcs_json_string(json, "name", name);
    if (driver->cuDeviceGetUuid_v2 && driver->cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS) {
        int n = snprintf(text, sizeof(text), "GPU-");

        for (int i = 0; i < 16; i++) {
            n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%02x",
                          i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                          (unsigned char)uuid.bytes[i]);
        }
        mhcs_json_string(json, "uuid", text);
    }
    mhcs_json_int(json, "sm_count", sm);
    snprintf(text, sizeof(text), "%d.%d", major, minor);
    mhcs_json_string(json, "cc", text);
    mhcs_json_bool(json, "simulated", simulated(driver, device));
    mhcs_json_end_object(json);
}

static void put_libraries(struct mhcs_json *json, const struct mhcs_driver *driver, int device)
{
    const struct mhcs_cublas *cublas = mhcs_process_cublas();
    int version = 0;

    if (driver) {
        if (device >= 0) {
            mhcs_facts_gpu(json, driver, device);
        }
        driver->cuDriverGetVersion(&version);
        mhcs_json_begin_object(json, "driver");
        mhcs_json_int(json, "version", version);
        mhcs_json_bool(json, "simulated", device >= 0 && simulated(driver, device));
        mhcs_json_end_object(json);
    }
    if (cublas) {
        mhcs_json_begin_object(json, "cublas");
        mhcs_json_string(json, "path", cublas->path);
        mhcs_json_int(json, "version", cublas->version);
        mhcs_json_end_object(json);
    }
    mhcs_json_begin_object(json, "environment");
    for (int i = 0; i < environment_count; i++) {
        char name[64];
        const size_t n = strcspn(environment[i], "=");

        if (environment[i][n] == '=' && n < sizeof(name)) {
            memcpy(name, environment[i], n);
            name[n] = '\0';
            mhcs_json_string(json, name, environment[i] + n + 1);
        }
    }
    mhcs_json_end_object(json);
}

static void put_model(struct mhcs_json *json, const struct mhcs_model *model)
{
    const struct mhcs_model_params *params = model ? &model->sites[0].params : &mhcs_model_unknown;

    mhcs_json_begin_object(json, "model");
    mhcs_json_string(json, "source", model ? model->path : "none");
    if (model) {
        mhcs_json_string(json, "model_type", model->config.model_type);
        mhcs_json_int(json, "layers", (int64_t)model->config.layers);
        mhcs_json_int(json, "hidden", (int64_t)model->config.hidden);
        mhcs_json_int(json, "sites", (int64_t)model->site_count);
        mhcs_json_string(json, "missing", model->config.missing);
    }
    mhcs_json_number(json, "hc_eps", (double)params->hc_eps);
    mhcs_json_number(json, "norm_eps", (double)params->norm_eps);
    mhcs_json_int(json, "iterations", params->iterations);
    mhcs_json_end_object(json);
}

static void put_settings(struct mhcs_json *json)
{
    static const char *const references[] = {"kernel", "cublas", "host"};
    const struct mhcs_settings *s = mhcs_process_settings();

    mhcs_json_begin_object(json, "settings");
    mhcs_json_number(json, "sample", s->sample);
    mhcs_json_int(json, "rows", s->rows);
    mhcs_json_begin_array(json, "shapes");
    for (uint32_t i = 0; i < s->shape_count; i++) {
        char shape[32];

        snprintf(shape, sizeof(shape), "%ux%u", s->shapes[i].coefficients, s->shapes[i].k);
        mhcs_json_string(json, NULL, shape);
    }
    mhcs_json_end_array(json);
    mhcs_json_string(json, "reference", references[s->reference]);
    mhcs_json_int(json, "mem_mb", s->mem_mb);
    mhcs_json_int(json, "headroom_mb", s->headroom_mb);
    mhcs_json_int(json, "max_mb", s->max_mb);
    mhcs_json_number(json, "budget", s->budget);
    mhcs_json_bool(json, "graphs", s->graphs);
    mhcs_json_bool(json, "callsites", s->callsites);
    mhcs_json_bool(json, "cupti", s->cupti);
    mhcs_json_bool(json, "sync", s->sync);
    mhcs_json_string(json, "dir", s->dir);
    mhcs_json_string(json, "model", s->model);
    mhcs_json_end_object(json);
}

void mhcs_facts_process(struct mhcs_json *json, const struct mhcs_driver *driver, int device,
                        const struct mhcs_model *model)
{
    mhcs_json_begin_object(json, NULL);
    mhcs_json_string(json, "format", "mhcshadow");
    mhcs_json_int(json, "version", 1);
    mhcs_json_string(json, "library", MHCS_VERSION);
    mhcs_json_string(json, "revision", MHCS_REVISION);
    put_host(json);
    put_libraries(json, driver, device);
    put_model(json, model);
    put_settings(json);
    mhcs_json_end_object(json);
}
