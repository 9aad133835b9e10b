/* SPDX-License-Identifier: Apache-2.0 */
/* The translation unit of all kernels: one fatbin. Compiled without contraction (-fmad=false) and
 * with nvcc's default IEEE division, square root and denormals, see mhc_math.h.
 */
#include "kernels/snapshot.cuh"
#include "kernels/reference.cuh"
#include "kernels/compare.cuh"
#include "kernels/fingerprint.cuh"
#include "kernels/widen.cuh"
