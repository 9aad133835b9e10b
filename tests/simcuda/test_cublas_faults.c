/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated GEMM's accesses are checked like a kernel's: each case is a faulty client and what
 * must be reported, next to its good twin. A fault stays in its context, so every case runs in a
 * process of its own.
 */
#include <cublas_v2.h>
#include <cuda.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "simcuda.h"

/* 4 x 3 x 5: A stored 5 x 4 with lda 6, B 5 x 3 with ldb 7, C 4 x 3 with ldc 8. */
#define LDA     6
#define LDB     7
#define LDC     8
#define A_BYTES ((3 * LDA + 5) * 4)
#define B_BYTES ((2 * LDB + 5) * 4)
#define C_BYTES ((2 * LDC + 4) * 4)

struct client {
    cublasHandle_t handle;
    CUstream stream, other;
    CUevent event;
    CUdeviceptr a, b, c;
    float alpha, beta;
};

static const unsigned char zeros[256];

/* Depending on the order, the call that faults or a later one fails. */
static void must(unsigned result)
{
    if (result != 0)
        _exit(simcuda_fault_count() > 0 ? 1 : 3);
}

static CUdeviceptr device(size_t bytes)
{
    CUdeviceptr at;

    must(cuMemAlloc(&at, bytes));
    return at;
}

/* Waits: a copy from pageable memory may end after the call, and a non-blocking stream does not
 * wait for it. */
static void set(CUdeviceptr at, size_t bytes)
{
    must(cuMemcpyHtoD(at, zeros, bytes));
    must(cuCtxSynchronize());
}

/* Writes the columns of a matrix and leaves the gaps unset. */
static void set_columns(CUdeviceptr at, int rows, int columns, int ld)
{
    for (int i = 0; i < columns; i++)
        set(at + (size_t)(i * ld) * 4, (size_t)rows * 4);
}

static struct client client_new(void)
{
    struct client c = {.alpha = 1};

    must(cublasCreate(&c.handle));
    must(cuStreamCreate(&c.stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&c.other, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&c.event, CU_EVENT_DISABLE_TIMING));
    must(cublasSetStream(c.handle, c.stream));
    c.a = device(A_BYTES);
    c.b = device(B_BYTES);
    c.c = device(C_BYTES);
    set_columns(c.a, 5, 4, LDA);
    set_columns(c.b, 5, 3, LDB);
    return c;
}

static void multiply(const struct client *c)
{
    must(cublasSgemm(c->handle, CUBLAS_OP_T, CUBLAS_OP_N, 4, 3, 5, &c->alpha, (const float *)c->a,
                     LDA, (const float *)c->b, LDB, &c->beta, (float *)c->c, LDC));
}

static void copy_c(const struct client *c, CUstream stream)
{
    must(cuMemcpyDtoDAsync(device(16), c->c, 16, stream));
}

/* The cases. `good` runs the twin. */
static void gaps_and_old_c(bool good)
{
    struct client c = client_new();

    c.beta = good ? 0 : 1;
    multiply(&c);
}

static void old_c_with_beta(bool good)
{
    struct client c = client_new();

    c.beta = 1;
    if (good)
        set_columns(c.c, 4, 3, LDC);
    multiply(&c);
}

static void operand_unset(bool good)
{
    struct client c = client_new();

    c.b = device(B_BYTES);
    if (good)
        c.alpha = 0;
    multiply(&c);
}

static void operand_too_short(bool good)
{
    struct client c = client_new();

    c.a = device(good ? A_BYTES : A_BYTES - 4);
    set_columns(c.a, 5, 3, LDA);
    set(c.a + 3 * LDA * 4, good ? 20 : 16);
    multiply(&c);
}

static void result_too_short(bool good)
{
    struct client c = client_new();

    c.c = device(good ? C_BYTES : C_BYTES - 4);
    multiply(&c);
}

static void operand_freed(bool good)
{
    struct client c = client_new();

    multiply(&c);
    if (!good) {
        must(cuStreamSynchronize(c.stream));
        must(cuMemFree(c.a));
        multiply(&c);
    }
}

static void operand_on_the_host(bool good)
{
    struct client c = client_new();
    void *host = malloc(A_BYTES);

    if (!good)
        c.a = (uintptr_t)host;
    multiply(&c);
}

static void operand_misaligned(bool good)
{
    struct client c = client_new();

    c.b = device(B_BYTES + 2);
    set(c.b, B_BYTES + 2);
    c.b += good ? 0 : 2;
    multiply(&c);
}

static void c_read_on_another_stream(bool good)
{
    struct client c = client_new();

    set(c.c, C_BYTES); /* in the order lazy the copy comes first */
    multiply(&c);
    must(cuEventRecord(c.event, c.stream));
    if (good)
        must(cuStreamWaitEvent(c.other, c.event, 0));
    copy_c(&c, c.other);
    must(cuStreamSynchronize(c.other));
}

static void x_overwritten_on_another_stream(bool good)
{
    struct client c = client_new();

    multiply(&c);
    must(cuEventRecord(c.event, c.stream));
    if (good)
        must(cuStreamWaitEvent(c.other, c.event, 0));
    must(cuMemsetD8Async(c.b, 0, 4, c.other));
    must(cuStreamSynchronize(c.other));
}

/* The same in a graph: a GEMM is a node there, and a fill on a forked stream is beside it or not.
 */
static void x_overwritten_beside_its_node(bool good)
{
    struct client c = client_new();
    CUgraphExec exec;
    CUgraph graph;

    must(cuStreamBeginCapture(c.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    if (!good)
        must(cuEventRecord(c.event, c.stream));
    multiply(&c);
    if (good)
        must(cuEventRecord(c.event, c.stream));
    must(cuStreamWaitEvent(c.other, c.event, 0));
    must(cuMemsetD8Async(c.b, 0, 4, c.other));
    must(cuEventRecord(c.event, c.other));
    must(cuStreamWaitEvent(c.stream, c.event, 0));
    must(cuStreamEndCapture(c.stream, &graph));
    must(cuGraphInstantiate(&exec, graph, 0));
    must(cuGraphDestroy(graph));
    must(cuGraphLaunch(exec, c.stream));
    must(cuGraphLaunch(exec, c.other));
    must(cuStreamSynchronize(c.other));
}

static void scalar_unset(bool good)
{
    struct client c = client_new();
    CUdeviceptr scalars = device(8);

    must(cublasSetPointerMode(c.handle, CUBLAS_POINTER_MODE_DEVICE));
    set(scalars, good ? 8 : 4);
    must(cublasSgemm(c.handle, CUBLAS_OP_T, CUBLAS_OP_N, 4, 3, 5, (const float *)scalars,
                     (const float *)c.a, LDA, (const float *)c.b, LDB, (const float *)scalars + 1,
                     (float *)c.c, LDC));
}

static const struct fault_case {
    const char *name;
    void (*run)(bool good);
    const char *report; /* besides the function's name */
} cases[] = {
    {"old C is read only with beta", gaps_and_old_c, "uninitialised"},
    {"with beta, all of C must be set", old_c_with_beta, "uninitialised"},
    {"operands must be set, unless alpha is 0", operand_unset, "uninitialised"},
    {"A ends with its last column", operand_too_short, "out of bounds"},
    {"C ends with its last column", result_too_short, "out of bounds"},
    {"A was freed", operand_freed, "use after free"},
    {"A is on the host", operand_on_the_host, "not a device address"},
    {"B is misaligned", operand_misaligned, "misaligned"},
    {"C is read on another stream without a wait", c_read_on_another_stream, "race"},
    {"x is overwritten on another stream without a wait", x_overwritten_on_another_stream, "race"},
    {"x is overwritten beside its node of a graph", x_overwritten_beside_its_node, "race"},
    {"device scalars must be set", scalar_unset, "uninitialised"},
};

/* Runs a case in a child; returns its exit status and stderr. */
static int run_case(const struct fault_case *c, bool good, char *text, size_t size)
{
    int ends[2], status = -1;
    size_t used = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        c->run(good);
        _exit(cuCtxSynchronize() == CUDA_SUCCESS && simcuda_fault_count() == 0 ? 0 : 1);
    }
    close(ends[1]);
    while (used < size - 1 && (got = read(ends[0], text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void faults_are_reported_and_good_twins_pass(void **state)
{
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (run_case(&cases[i], true, text, sizeof text) != 0)
            fail_msg("%s: the good twin fails: %s", cases[i].name, text);
        if (run_case(&cases[i], false, text, sizeof text) != 1)
            fail_msg("%s: not found: %s", cases[i].name, text);
        if (strstr(text, cases[i].report) == NULL || strstr(text, "cublasSgemm_v2") == NULL)
            fail_msg("%s: reported as: %s", cases[i].name, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(faults_are_reported_and_good_twins_pass)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
