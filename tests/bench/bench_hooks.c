/* SPDX-License-Identifier: Apache-2.0 */
/* Nanoseconds that the preloaded library adds to a cuBLAS call, against a libcublas that does
 * nothing. Direct and hooked calls alternate in one process, so that a ratio compares like with
 * like on a busy machine; each figure is the median of many rounds.
 *
 *     bench_hooks LIBMHCSHADOW.SO
 */
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 101
#define CALLS  20000

typedef __typeof__(cublasGemmEx) gemm_ex;

static const struct mode {
    const char *name, *sample;
    int m;
} modes[] = {
    {"unmatched", "1/64", 4096},
    {"matched, not sampled", "1/1000000000", 24},
    {"matched, sampling off", "off", 24},
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns per call of one round. The fn address varies like a model's, 86 of them. */
static double round_of(gemm_ex *call, int m)
{
    static const float one = 1, zero = 0;
    static char weights[86], x, c;
    const double start = now();

    for (int i = 0; i < CALLS; i++) {
        call(NULL, CUBLAS_OP_T, CUBLAS_OP_N, m, 300, 16384, &one, &weights[i % 86], CUDA_R_16BF,
             16384, &x, CUDA_R_16BF, 16384, &zero, &c, CUDA_R_32F, m, CUBLAS_COMPUTE_32F,
             CUBLAS_GEMM_DEFAULT);
    }
    return (now() - start) / CALLS;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int measure(const struct mode *mode)
{
    double direct[ROUNDS], hooked[ROUNDS];
    void *const library = dlopen("libcublas.so.13", RTLD_LAZY | RTLD_NOLOAD);
    gemm_ex *const real = library ? (gemm_ex *)dlsym(library, "cublasGemmEx") : NULL;

    if (!real || real == cublasGemmEx) {
        fprintf(stderr, "bench_hooks: the library is not preloaded\n");
        return 1;
    }
    for (int i = 0; i < ROUNDS; i++) {
        direct[i] = round_of(real, mode->m);
        hooked[i] = round_of(cublasGemmEx, mode->m);
    }
    qsort(direct, ROUNDS, sizeof(double), ascending);
    qsort(hooked, ROUNDS, sizeof(double), ascending);
    printf("%-24s %10.1f %10.1f %10.1f %8.2f\n", mode->name, direct[ROUNDS / 2], hooked[ROUNDS / 2],
           hooked[ROUNDS / 2] - direct[ROUNDS / 2], hooked[ROUNDS / 2] / direct[ROUNDS / 2]);
    return 0;
}

static int run_preloaded(char **argv, const struct mode *mode)
{
    int status = 1;
    const pid_t child = fork();

    if (child == 0) {
        setenv("LD_PRELOAD", argv[1], 1);
        setenv("MHCSHADOW_SAMPLE", mode->sample, 1);
        execl("/proc/self/exe", argv[0], "--mode", mode->name, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const size_t count = sizeof(modes) / sizeof(modes[0]);
    int failed = 0;

    if (argc == 3 && strcmp(argv[1], "--mode") == 0) {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(modes[i].name, argv[2]) == 0) {
                return measure(&modes[i]);
            }
        }
    }
    if (argc != 2) {
        fprintf(stderr, "usage: bench_hooks LIBMHCSHADOW.SO\n");
        return 2;
    }
    printf("%-24s %10s %10s %10s %8s\n", "ns per call", "direct", "preloaded", "added", "ratio");
    fflush(stdout);
    for (size_t i = 0; i < count; i++) {
        failed |= run_preloaded(argv, &modes[i]);
    }
    return failed;
}
