/* SPDX-License-Identifier: Apache-2.0 */
/* From a call that may be a mixing GEMM to the shadow: match, draw, describe, hand over. */
#include "interpose/gate.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "interpose/env.h"
#include "interpose/filter.h"
#include "interpose/sample.h"
#include "shadow/reason.h"

/* Set on the way into the real function. Initial-exec: the general model calls __tls_get_addr,
 * which may allocate. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool inside;

/* Written once by configure(), constant from then on (pthread_once orders it). */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct mhcs_settings settings;
static struct mhcs_sampler sampler;
static bool tf32_allowed;

static void configure(void)
{
    mhcs_env_read(environ, &settings);
    tf32_allowed = mhcs_env_tf32_allowed(environ);
    mhcs_sampler_init(&sampler, settings.sample, mhcs_sampler_seed());
    mhcs_shadow_configure(&settings);
}

/* The whole of pass->gemm. False: declined, for a reason that is counted and named. */
static bool describe(struct mhcs_pass *pass, struct mhcs_library *library,
                     const struct mhcs_call *call, enum mhcs_side side)
{
    struct mhcs_gemm *const gemm = &pass->gemm;
    struct mhcs_handle_state state;

    if (!mhcs_filter_fold(call, side, gemm)) {
        mhcs_decline(MHCS_REASON_ARGUMENTS);
        return false;
    }
    /* The handle's state first: asked for the version of no handle, cuBLAS answers SUCCESS and
     * nothing else, and the version is kept. */
    gemm->cublas = library && mhcs_library_handle_state(library, call->handle, &state)
                       ? mhcs_library_cublas(library, call->handle)
                       : NULL;
    if (!gemm->cublas) {
        mhcs_decline(MHCS_REASON_HANDLE);
        return false;
    }
    gemm->stream = state.stream;
    gemm->scalars_on_device = state.scalars_on_device;
    gemm->compute = mhcs_filter_compute(call->compute, call->a_type, state.math_mode, tf32_allowed);
    gemm->reduced_precision_reduction =
        mhcs_filter_reduced_reduction(call->compute, state.math_mode);
    return true;
}

static bool take(struct mhcs_pass *pass, struct mhcs_library *library, const struct mhcs_call *call)
{
    enum mhcs_side side;

    pthread_once(&once, configure);
    if (!settings.enabled) {
        return false;
    }
    side = mhcs_filter_match(&settings, call->m, call->n, call->k);
    if (side == MHCS_SIDE_NONE) {
        return false;
    }
    mhcs_count(MHCS_MATCHED);
    return mhcs_sampler_draw(&sampler, mhcs_filter_weights(side, call), &pass->gemm.weight_order) &&
           describe(pass, library, call, side) && mhcs_shadow_before(&pass->sample, &pass->gemm);
}

void mhcs_gate_before(struct mhcs_pass *pass, struct mhcs_library *library,
                      const struct mhcs_call *call)
{
    const int saved_errno = errno;

    pass->outermost = !inside;
    pass->sampled = false;
    if (pass->outermost) {
        inside = true;
        pass->sampled = take(pass, library, call);
    }
    errno = saved_errno;
}

void mhcs_gate_after(struct mhcs_pass *pass, cublasStatus_t status)
{
    const int saved_errno = errno;

    if (pass->sampled) {
        mhcs_shadow_after(&pass->sample, &pass->gemm, status == CUBLAS_STATUS_SUCCESS);
    }
    if (pass->outermost) {
        inside = false;
    }
    errno = saved_errno;
}
