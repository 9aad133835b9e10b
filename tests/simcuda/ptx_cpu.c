/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the lane functions for this processor; all sets give the same bits. */
#include "ptx_alu.h"

const struct ptx_alu *ptx_alu_table_base(size_t *ret_count);
const struct ptx_test *ptx_test_table_base(size_t *ret_count);
#ifdef PTX_HAVE_V3
const struct ptx_alu *ptx_alu_table_v3(size_t *ret_count);
const struct ptx_test *ptx_test_table_v3(size_t *ret_count);

static int has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}
#endif

const struct ptx_alu *ptx_alu_table(size_t *ret_count)
{
#ifdef PTX_HAVE_V3
    if (has_v3())
        return ptx_alu_table_v3(ret_count);
#endif
    return ptx_alu_table_base(ret_count);
}

const struct ptx_test *ptx_test_table(size_t *ret_count)
{
#ifdef PTX_HAVE_V3
    if (has_v3())
        return ptx_test_table_v3(ret_count);
#endif
    return ptx_test_table_base(ret_count);
}
