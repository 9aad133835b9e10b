/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows no cuBLAS: a plugin brings it along, makes mixing GEMMs, leaves some of them
 * in flight, and is closed; again and again. Prints a checksum for each round.
 *
 *     plugin_host PLUGIN
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

#define ROUNDS 3
#define CALLS  5

static void *plugin;

static void *function(const char *name)
{
    void *const found = dlsym(plugin, name);

    if (!found) {
        fprintf(stderr, "plugin_host: %s\n", dlerror());
        exit(1);
    }
    return found;
}

#define OF_PLUGIN(name) ((__typeof__(&name))function(#name))

static void run(CUstream stream)
{
    struct problem p = {
        .hook = MHCS_HOOK_cublasGemmEx, .m = 24, .n = 3, .k = 64, .ta = true, .alpha = 1};
    struct problem_handles handles;
    struct problem_call *call;

    OF_PLUGIN(problem_open)(&handles);
    for (p.seed = 0; p.seed < CALLS; p.seed++) {
        printf("%016llx\n", (unsigned long long)OF_PLUGIN(problem_run)(&p, &handles, stream));
    }
    call = OF_PLUGIN(problem_prepare)(&p, stream);
    for (int i = 0; i < CALLS; i++) {
        OF_PLUGIN(problem_make)(call, &handles, stream);
    }
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUstream stream;

    if (argc != 2 || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
        cuCtxSetCurrent(context) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) {
        return 2;
    }
    for (int i = 0; i < ROUNDS; i++) {
        plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "plugin_host: %s\n", dlerror());
            return 1;
        }
        run(stream);
        dlclose(plugin);
    }
    cuCtxSynchronize();
    printf("made %d\n", ROUNDS * 2 * CALLS);
    return 0;
}
