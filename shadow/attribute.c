/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/attribute.h"

#include <errno.h>

#include "shadow/pipeline.h"

static const struct mhcs_model_params *params_of(const struct mhcs_site *site)
{
    return site->match.site ? &site->match.site->params : &mhcs_model_unknown;
}

/* Whether the buffers hold this site's weights, or can be filled with them now. */
static bool can_use_buffers(const struct mhcs_engine *engine, const struct mhcs_model_site *site)
{
    return engine->drain.uploading < 0 || engine->drain.uploaded == site;
}

static uint64_t bytes_of(const struct mhcs_model_site *site, uint32_t k)
{
    return (uint64_t)site->coefficients * k * mhcs_dtype_size(site->dtype);
}

/* Fills the buffers, if need be. *ret_there false, and no error: the weights can't be had. */
static CUresult upload(struct mhcs_book *book, struct mhcs_engine *engine,
                       const struct mhcs_model_site *site, uint32_t k, bool *ret_there)
{
    const uint64_t bytes = bytes_of(site, k);

    *ret_there = engine->drain.uploaded == site;
    if (*ret_there || bytes > engine->weights_bytes) {
        return CUDA_SUCCESS;
    }
    engine->drain.uploaded = NULL;
    if (!mhcs_book_weights(book, site, engine->weights)) {
        return CUDA_SUCCESS;
    }
    engine->drain.uploaded = site;
    *ret_there = true;
    return engine->driver->cuMemcpyHtoDAsync_v2(engine->weights_address, engine->weights, bytes,
                                                engine->spare);
}

static CUresult launch(struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i)
{
    struct mhcs_slot *slot = &engine->slots[i];
    struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_model_site *weights = call->site->match.site;
    CUresult result = CUDA_SUCCESS;

    if (weights) {
        result = upload(book, engine, weights, call->gemm.k, &call->checkpoint);
    }
    if (call->checkpoint && result == CUDA_SUCCESS) {
        engine->drain.uploading = (int)i;
        result = mhcs_pipeline_checkpoint(engine, slot, weights->dtype);
    }
    if (result == CUDA_SUCCESS) {
        result = mhcs_pipeline_compare(engine, slot, params_of(call->site));
    }
    return result == CUDA_SUCCESS ? engine->driver->cuEventRecord(slot->done, engine->spare)
                                  : result;
}

enum mhcs_attribution mhcs_attribute(struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i,
                                     CUresult *ret_result)
{
    struct mhcs_slot *slot = &engine->slots[i];

    *ret_result = CUDA_SUCCESS;
    if (!slot->call.site) {
        slot->call.site = mhcs_book_site(book, slot);
    }
    if (!slot->call.site) {
        return MHCS_ATTRIBUTE_LOST;
    }
    if (slot->call.site->match.site && !can_use_buffers(engine, slot->call.site->match.site)) {
        return MHCS_ATTRIBUTE_LATER;
    }
    slot->call.compared = true;
    *ret_result = launch(book, engine, i);
    return *ret_result == CUDA_SUCCESS ? MHCS_ATTRIBUTED : MHCS_ATTRIBUTE_FAILED;
}

int mhcs_attribute_host(struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i)
{
    struct mhcs_slot *slot = &engine->slots[i];
    struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_model_site *site;
    const char *weights = NULL;

    mhcs_pipeline_host_fingerprint(slot);
    call->site = mhcs_book_site(book, slot);
    if (!call->site) {
        return -ENOMEM;
    }
    site = call->site->match.site;
    if (site) {
        weights = mhcs_book_weights(book, site, NULL);
    }
    call->checkpoint = weights != NULL;
    return mhcs_pipeline_host_compare(engine, slot, params_of(call->site), weights,
                                      site ? site->dtype : 0);
}
