/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing GEMMs through doors of cuBLAS, in every form or in few: one line per call with its name,
 * the GEMMs it counts as, how far a sample may be off, and a checksum of the result, or the status
 * with which cuBLAS refused; and then ordinary GEMMs and empty ones through each of them. Shapes
 * are 24 x 64 and 4 x 64.
 *
 *     doors every|few PART PARTS     the hooks whose number is PART modulo PARTS
 */
#include <stdio.h>
#include <stdlib.h>

#include "problem.h"

#define K 64

static struct problem_handles handles;
static CUstream stream;

static void report(const struct problem *p, const char *form)
{
    const bool transposed = p->n == 24;
    uint64_t sum;
    const cublasStatus_t status = problem_try(p, &handles, stream, &sum);

    printf("%s:%s %lld %u %g ", problem_hook_name(p->hook), form,
           (long long)(transposed ? p->m : p->n), problem_gemms(p), problem_tolerance(p));
    if (status == CUBLAS_STATUS_SUCCESS) {
        printf("%016llx\n", (unsigned long long)sum);
    } else {
        printf("refused-%d\n", (int)status);
    }
}

static int64_t next_tokens(void)
{
    static int64_t tokens = 24;

    return ++tokens;
}

static struct problem plain(enum mhcs_hook hook, uint64_t seed)
{
    return (struct problem){
        .hook = hook, .m = 24, .n = next_tokens(), .k = K, .ta = true, .alpha = 1, .seed = seed};
}

/* Grouped GEMMs take host scalars alone. */
static bool takes_device_scalars(enum mhcs_hook hook)
{
    return hook < MHCS_HOOK_cublasGemmGroupedBatchedEx ||
           hook > MHCS_HOOK_cublasSgemmGroupedBatched_64;
}

static void forms_of(enum mhcs_hook hook, bool few)
{
    const struct problem p = plain(hook, 100 + (uint64_t)hook);
    struct problem q;

#define FORM(name, ...)                                                                            \
    q = p;                                                                                         \
    q.n = next_tokens();                                                                           \
    __VA_ARGS__;                                                                                   \
    report(&q, name)
    FORM("as-pytorch-calls-it", );
    FORM("all-at-once", q.ta = false; q.tb = true; q.gap = 3; q.offset = 3; q.alpha = 2;
         q.beta = -1);
    if (takes_device_scalars(hook)) {
        FORM("device-scalars", q.device_scalars = true; q.alpha = 0.5f; q.beta = 0.25f);
    }
    if (few) {
        return;
    }
    FORM("one-token", q.n = 1);
    FORM("the-head", q.m = 4);
    FORM("transposed-result", q.m = q.n; q.n = 24; q.ta = false);
    FORM("a-plain", q.ta = false);
    FORM("b-transposed", q.tb = true);
    FORM("a-plain-b-transposed", q.ta = false; q.tb = true);
    FORM("transposed-result-a-transposed-b-transposed", q.m = q.n; q.n = 24; q.tb = true);
    FORM("alpha", q.alpha = -1.5f);
    FORM("alpha-and-beta", q.alpha = 0.5f; q.beta = 0.25f);
    FORM("in-place", q.beta = 1; q.in_place = true);
    FORM("wide-columns", q.gap = 7);
    FORM("unaligned", q.offset = 1; q.gap = 1);
}

/* All 64 ways are tested on the descriptors alone. */
static void forms_of_lt(void)
{
    for (unsigned i = 0; i < 8; i++) {
        struct problem p = plain(MHCS_HOOK_cublasLtMatmul, 1000 + i);
        char form[64];

        p.a_row = i & 1;
        p.b_row = i & 2;
        p.d_row = i & 4;
        p.tb = i == 3 || i == 5;
        p.pointers = i % 3 == 0;
        p.alpha = 0.5f;
        p.beta = 0.25f;
        p.gap = 1;
        snprintf(form, sizeof(form), "tb%d-arow%d-brow%d-drow%d-pointers%d", p.tb, p.a_row, p.b_row,
                 p.d_row, p.pointers);
        report(&p, form);
    }
}

static void huge_n(void)
{
    struct problem p = plain(MHCS_HOOK_cublasGemmEx_64, 5000);

    p.n = 70001;
    report(&p, "huge-n");
}

/* No such shape; and nothing to do, which descriptors can't say. */
static unsigned ordinary(enum mhcs_hook hook)
{
    struct problem p = plain(hook, 9000);
    uint64_t sum;

    p.m = 32;
    problem_try(&p, &handles, stream, &sum);
    if (hook == MHCS_HOOK_cublasLtMatmul) {
        return 1;
    }
    p.m = 24;
    p.n = 0;
    problem_try(&p, &handles, stream, &sum);
    return 2;
}

int main(int argc, char **argv)
{
    const bool few = argc == 4 && strcmp(argv[1], "few") == 0;
    const int part = argc == 4 ? atoi(argv[2]) : 0, parts = argc == 4 ? atoi(argv[3]) : 1;
    unsigned others = 0;
    CUcontext context;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) {
        fprintf(stderr, "doors: no GPU\n");
        return 1;
    }
    problem_open(&handles);
    for (int hook = part; hook < MHCS_HOOK_COUNT; hook += parts) {
        /* A _64 twin differs in its integers alone. */
        forms_of((enum mhcs_hook)hook, few || strstr(hook_names[hook], "_64"));
        if (!few && hook == MHCS_HOOK_cublasLtMatmul) {
            forms_of_lt();
        }
        if (!few && hook == MHCS_HOOK_cublasGemmEx_64) {
            huge_n();
        }
        others += ordinary((enum mhcs_hook)hook);
    }
    printf("ordinary %u\n", others);
    problem_close(&handles);
    return 0;
}
