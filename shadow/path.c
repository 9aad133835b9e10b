/* SPDX-License-Identifier: Apache-2.0 */
/* Formats and parses the declared precision path; the grammar stands in path.h. */
#include "shadow/path.h"

#include <stdio.h>
#include <string.h>

static const char *const compute_names[] = {
    [MHCS_COMPUTE_F32] = "f32",
    [MHCS_COMPUTE_F32_PEDANTIC] = "f32-pedantic",
    [MHCS_COMPUTE_TF32] = "tf32",
    [MHCS_COMPUTE_BF16] = "bf16",
    [MHCS_COMPUTE_F16] = "f16",
    [MHCS_COMPUTE_BF16X9] = "bf16x9",
    [MHCS_COMPUTE_F16_ACCUMULATE] = "f16acc",
    [MHCS_COMPUTE_OTHER] = "other",
};
static const char *const dtype_names[] = {
    [MHCS_F32] = "f32", [MHCS_BF16] = "bf16", [MHCS_F16] = "f16"};
static const char reduced_suffix[] = "+reduced";

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

static const char *compute_name(enum mhcs_compute compute)
{
    return compute_names[(uint32_t)compute < COUNT(compute_names) ? compute : MHCS_COMPUTE_OTHER];
}

const char *mhcs_dtype_name(uint32_t dtype)
{
    return dtype < COUNT(dtype_names) ? dtype_names[dtype] : "other";
}

const char *mhcs_path_format(const struct mhcs_gemm *gemm, char text[MHCS_PATH_BYTES])
{
    const bool reduced = gemm->reduced_precision_reduction && gemm->c.dtype != MHCS_F32;

    snprintf(text, MHCS_PATH_BYTES, "%s*%s->%s/%s%s", mhcs_dtype_name(gemm->fn.dtype),
             mhcs_dtype_name(gemm->x.dtype), mhcs_dtype_name(gemm->c.dtype),
             compute_name(gemm->compute), reduced ? reduced_suffix : "");
    return text;
}

/* Takes the word before `end` (a literal; "": the rest of the text) off *text and finds it in
 * `names`; the number of names if it is not there. */
static uint32_t take(const char **text, const char *end, const char *const *names, uint32_t count)
{
    const char *stop = *end ? strstr(*text, end) : *text + strlen(*text);
    const char *word = *text;
    uint32_t i = 0;

    if (!stop)
        return count;
    *text = stop + strlen(end);
    while (i < count &&
           (strlen(names[i]) != (size_t)(stop - word) || strncmp(word, names[i], strlen(names[i]))))
        i++;
    return i;
}

bool mhcs_path_parse(const char *text, struct mhcs_precision *ret_precision)
{
    const char *suffix = strchr(text, '+');
    uint32_t compute;

    ret_precision->reduced = suffix != NULL;
    if (suffix && strcmp(suffix, reduced_suffix))
        return false;
    ret_precision->fn = take(&text, "*", dtype_names, COUNT(dtype_names));
    ret_precision->x = take(&text, "->", dtype_names, COUNT(dtype_names));
    ret_precision->out = take(&text, "/", dtype_names, COUNT(dtype_names));
    compute = take(&text, suffix ? reduced_suffix : "", compute_names, COUNT(compute_names));
    ret_precision->compute = (enum mhcs_compute)compute;
    return ret_precision->fn < COUNT(dtype_names) && ret_precision->x < COUNT(dtype_names) &&
           ret_precision->out < COUNT(dtype_names) && compute < COUNT(compute_names);
}
