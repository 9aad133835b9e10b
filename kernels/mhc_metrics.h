/* SPDX-License-Identifier: Apache-2.0 */
/* Every metric of one row (doc/metrics.md), once, for the device comparator, the host back end and
 * the tools: name_f32 and name_f64 from mhc_metrics_body.h, as in mhc_math.h.
 */
#ifndef MHCS_MHC_METRICS_H
#define MHCS_MHC_METRICS_H

#include "kernels/mhc_math.h"

static inline MHCS_HD void mhcs_metrics_clear(struct mhcs_row_metrics *metrics)
{
    float *values = (float *)metrics; /* it holds floats alone */
    for (size_t i = 0; i < sizeof(*metrics) / sizeof(*values); i++)
        values[i] = mhcs_nan();
}

#define MHCS_REAL     float
#define MHCS_FN(name) name##_f32
#include "kernels/mhc_metrics_body.h"
#undef MHCS_REAL
#undef MHCS_FN

#ifndef __CUDACC__
#define MHCS_REAL     double
#define MHCS_FN(name) name##_f64
#include "kernels/mhc_metrics_body.h"
#undef MHCS_REAL
#undef MHCS_FN
#endif

#endif
