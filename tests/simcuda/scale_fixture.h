/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's fixture and a kernel in PTX. */
#ifndef SIM_SCALE_FIXTURE_H
#define SIM_SCALE_FIXTURE_H

#include "engine_fixture.h"

/* x[i] = x[i] * times + plus for the threads below WORDS, as run_affine() of the fixture does. */
static const char scale_ptx[] = ".version 8.0\n"
                                ".target sm_80\n"
                                ".address_size 64\n"
                                ".visible .entry scale(\n"
                                "    .param .u64 scale_param_0,\n"
                                "    .param .u32 scale_param_1,\n"
                                "    .param .u32 scale_param_2\n"
                                ")\n"
                                "{\n"
                                "    .reg .pred %p<2>;\n"
                                "    .reg .b32 %r<8>;\n"
                                "    .reg .b64 %rd<5>;\n"
                                "    ld.param.u64 %rd1, [scale_param_0];\n"
                                "    ld.param.u32 %r1, [scale_param_1];\n"
                                "    ld.param.u32 %r2, [scale_param_2];\n"
                                "    mov.u32 %r3, %ctaid.x;\n"
                                "    mov.u32 %r4, %ntid.x;\n"
                                "    mov.u32 %r5, %tid.x;\n"
                                "    mad.lo.s32 %r6, %r3, %r4, %r5;\n"
                                "    setp.gt.u32 %p1, %r6, 63;\n"
                                "    @%p1 bra $L__BB0_2;\n"
                                "    cvta.to.global.u64 %rd2, %rd1;\n"
                                "    mul.wide.u32 %rd3, %r6, 4;\n"
                                "    add.s64 %rd4, %rd2, %rd3;\n"
                                "    ld.global.u32 %r7, [%rd4];\n"
                                "    mad.lo.s32 %r7, %r7, %r1, %r2;\n"
                                "    st.global.u32 [%rd4], %r7;\n"
                                "$L__BB0_2:\n"
                                "    ret;\n"
                                "}\n";

struct scale_params {
    CUdeviceptr x;
    uint32_t times, plus;
};

static inline CUfunction scale(void)
{
    CUmodule module;
    CUfunction function;

    OK(cuModuleLoadData(&module, scale_ptx));
    OK(cuModuleGetFunction(&function, module, "scale"));
    return function;
}

static inline CUresult launch(CUfunction function, CUstream stream, CUdeviceptr x, uint32_t times,
                              uint32_t plus)
{
    void *params[] = {&x, &times, &plus};

    return cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

#endif
