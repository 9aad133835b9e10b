/* SPDX-License-Identifier: Apache-2.0 */
/* Nanoseconds that the preloaded library adds to a cuBLAS call, against a libcublas that does
 * nothing.
 *
 *     bench_hooks LIBMHCSHADOW.SO
 */
#include <cublas_v2.h>

#include "bench.h"

#define PIECES 10 /* of a round */
#define CALLS  2000

/* parameter: m */
static const struct bench_mode modes[] = {
    {"no library, twice", true, 4096, {{NULL}}},
    {"unmatched", false, 4096, {{"MHCSHADOW_SAMPLE", "1/64"}}},
    {"matched, not sampled", false, 24, {{"MHCSHADOW_SAMPLE", "1/1000000000"}}},
    {"matched, sampling off", false, 24, {{"MHCSHADOW_SAMPLE", "off"}}},
};

/* The fn address varies like a model's, 86 of them. */
static void make_calls(int m)
{
    static const float one = 1, zero = 0;
    static char weights[86], x, c;

    for (int i = 0; i < CALLS; i++) {
        cublasGemmEx(NULL, CUBLAS_OP_T, CUBLAS_OP_N, m, 300, 16384, &one, &weights[i % 86],
                     CUDA_R_16BF, 16384, &x, CUDA_R_16BF, 16384, &zero, &c, CUDA_R_32F, m,
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    }
}

/* The median piece of a round, as whoever else uses the processor disturbs some. */
static double time_calls(const struct bench_mode *mode)
{
    double time[PIECES];

    for (int i = 0; i < PIECES; i++) {
        const double start = bench_now();

        make_calls((int)mode->parameter);
        time[i] = bench_now() - start;
    }
    return bench_spread(time, PIECES).median * 1e9 / CALLS;
}

int main(int argc, char **argv)
{
    static const struct bench bench = {
        .unit = "ns per call",
        .decimals = 1,
        .modes = modes,
        .count = sizeof(modes) / sizeof(modes[0]),
        .round = time_calls,
    };

    return bench_main(argc, argv, &bench);
}
