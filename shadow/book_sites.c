/* SPDX-License-Identifier: Apache-2.0 */
/* The book's weights: the checkpoint, the sites, and what is odd about them. */
#include "shadow/book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/log.h"
#include "shadow/path.h"
#include "shadow/process.h"

/* As an event for the report, and in the log for who reads that. */
static void tell(struct mhcs_book *book, const char *event, const char *text)
{
    struct mhcs_json *json = mhcs_book_begin_event(book, event);

    mhcs_json_string(json, "text", text);
    mhcs_json_end_object(json);
    mhcs_log(MHCS_LOG_WARN, "%s", text);
}

static void tell_unreadable(struct mhcs_book *book, const char *error)
{
    char text[MHCS_MODEL_ERROR + 128];

    snprintf(text, sizeof(text),
             "MHCSHADOW_MODEL can't be used: %s; there is no checkpoint reference from here on",
             error);
    tell(book, "model", text);
    book->model_failed = true;
}

void mhcs_book_open(struct mhcs_book *book)
{
    const char *path = mhcs_process_settings()->model;
    char error[MHCS_MODEL_ERROR], text[512];

    if (!*path) {
        return;
    }
    if (mhcs_model_open(&book->model, path, error) < 0) {
        book->model = NULL;
        tell_unreadable(book, error);
        return;
    }
    mhcs_log(MHCS_LOG_INFO, "model: %s, %zu weight matrices", path, book->model->site_count);
    if (*book->model->config.missing) {
        snprintf(
            text, sizeof(text),
            "config.json of MHCSHADOW_MODEL lacks %s: taken from the tensors, or as DeepSeek-V4 "
            "has them",
            book->model->config.missing);
        tell(book, "model", text);
    }
}

/* What the comparator's maps of this site were: those of the checkpoint's site that it resembles.
 */
static void write_maps(struct mhcs_json *json, const struct mhcs_model_params *params)
{
    mhcs_json_begin_array(json, "scale");
    for (int i = 0; i < 3; i++) {
        mhcs_json_number(json, NULL, (double)params->scale[i]);
    }
    mhcs_json_end_array(json);
    mhcs_json_begin_array(json, "base");
    for (int i = 0; i < MHCS_COEFFICIENTS; i++) {
        mhcs_json_number(json, NULL, (double)params->base[i]);
    }
    mhcs_json_end_array(json);
}

static void note_site(struct mhcs_book *book, const struct mhcs_site *site, const char *path)
{
    struct mhcs_json *json = mhcs_book_begin_item(&book->new_sites, "sites");
    char fingerprint[17];

    snprintf(fingerprint, sizeof(fingerprint), "%016llx", (unsigned long long)site->fingerprint);
    mhcs_json_int(json, "id", site->id);
    mhcs_json_string(json, "name", site->name);
    if (site->layer >= 0) {
        mhcs_json_int(json, "layer", site->layer);
    } else {
        mhcs_json_string(json, "layer", NULL);
    }
    mhcs_json_string(json, "role", site->role);
    mhcs_json_int(json, "coefficients", site->coefficients);
    mhcs_json_int(json, "k", site->k);
    mhcs_json_string(json, "dtype", mhcs_dtype_name(site->dtype));
    mhcs_json_string(json, "fingerprint", fingerprint);
    mhcs_json_number(json, "absmax", (double)site->absmax);
    mhcs_json_number(json, "rms", (double)site->rms);
    mhcs_json_int(json, "nonfinite", site->nonfinite);
    mhcs_json_int(json, "weight_order", site->weight_order);
    mhcs_json_string(json, "path", path);
    mhcs_json_string(json, "form", site->match.site ? mhcs_form_name(site->match.form) : NULL);
    if (site->match.site) {
        write_maps(json, &site->match.site->params);
    }
    mhcs_json_string(json, "difference", *site->match.difference ? site->match.difference : NULL);
    mhcs_json_end_object(json);
    if (site->id == MHCS_SITES_MAX) {
        mhcs_log(MHCS_LOG_WARN,
                 "more than %d weight matrices were seen; further ones share the site 'others' "
                 "(do the weights change while the server runs?)",
                 MHCS_SITES_MAX);
    } else if (*site->match.difference) {
        mhcs_log(MHCS_LOG_WARN, "%s: the server's weights are not the checkpoint's: %s", site->name,
                 site->match.difference);
    }
}

const struct mhcs_site *mhcs_book_site(struct mhcs_book *book, const struct mhcs_slot *slot)
{
    const struct mhcs_gemm *gemm = &slot->call.gemm;
    const struct mhcs_site *site;
    char path[MHCS_PATH_BYTES], finding[MHCS_FINDING_BYTES];
    bool is_new;

    if (!book->sites) {
        book->sites = mhcs_sites_new(book->model);
        book->places = mhcs_places_new();
    }
    if (!book->sites || !mhcs_book_trace(book)) {
        return NULL;
    }
    site = mhcs_sites_find(book->sites, slot->fingerprints, gemm->coefficients, gemm->k,
                           gemm->fn.dtype, gemm->weight_order, &is_new);
    if (is_new) {
        note_site(book, site, mhcs_path_format(gemm, path));
    }
    if (!book->model_failed && *mhcs_sites_error(book->sites)) {
        tell_unreadable(book, mhcs_sites_error(book->sites));
    }
    if (mhcs_places_note(book->places, gemm->weight_order, site, finding)) {
        tell(book, "weights", finding);
    }
    return site;
}

const char *mhcs_book_weights(struct mhcs_book *book, const struct mhcs_model_site *site, char *to)
{
    char error[MHCS_MODEL_ERROR];

    if (book->model_failed) {
        return NULL;
    }
    if (!to && !book->weights) {
        book->weights = malloc((size_t)MHCS_COEFFICIENTS * book->model->k * sizeof(float));
    }
    to = to ? to : book->weights;
    if (to && mhcs_model_read(book->model, site, 0, site->coefficients, to, error) < 0) {
        tell_unreadable(book, error);
        return NULL;
    }
    return to;
}

void mhcs_book_note_findings(struct mhcs_book *book)
{
    char finding[MHCS_FINDING_BYTES];

    while (mhcs_places_misplaced(book->places, book->model, finding)) {
        tell(book, "weights", finding);
    }
}

void mhcs_book_free_sites(struct mhcs_book *book)
{
    mhcs_places_free(book->places);
    mhcs_sites_free(book->sites);
    mhcs_model_close(book->model);
    free(book->weights);
}
