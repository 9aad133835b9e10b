/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/model/maker.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shadow/model/round.h"
#include "tests/simcuda/rounding.h"

struct maker {
    char *header, *data;
    size_t header_size, data_size;
    FILE *header_stream, *data_stream;
};

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            perror(#condition);                                                                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

char *maker_dir(void)
{
    char *dir = strdup("/tmp/mhcs-model-XXXXXX");

    MUST(dir && mkdtemp(dir));
    return dir;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

void maker_remove_dir(char *dir)
{
    MUST(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
    free(dir);
}

const char *maker_path(const char *dir, const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];

    MUST(snprintf(path, sizeof(paths[0]), "%s/%s", dir, name) < (int)sizeof(paths[0]));
    return path;
}

void maker_write(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

struct maker *maker_new(void)
{
    struct maker *maker = calloc(1, sizeof(*maker));

    MUST(maker);
    maker->header_stream = open_memstream(&maker->header, &maker->header_size);
    maker->data_stream = open_memstream(&maker->data, &maker->data_size);
    MUST(maker->header_stream && maker->data_stream);
    fputc('{', maker->header_stream);
    return maker;
}

void maker_add(struct maker *maker, const char *name, uint32_t dtype, uint32_t rows,
               uint32_t columns, const float *values)
{
    static const char *const types[] = {"F32", "BF16", "F16"};
    const uint32_t size = mhcs_dtype_size(dtype);
    const size_t count = (size_t)rows * (columns ? columns : 1);
    const long begin = ftell(maker->data_stream);
    unsigned char stored[4];

    fprintf(maker->header_stream, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%u", begin ? "," : "",
            name, types[dtype], rows);
    if (columns)
        fprintf(maker->header_stream, ",%u", columns);
    fprintf(maker->header_stream, "],\"data_offsets\":[%ld,%ld]}", begin,
            begin + (long)(count * size));
    for (size_t i = 0; i < count; i++) {
        sim_float_store(dtype == MHCS_F32    ? SIM_F32
                        : dtype == MHCS_BF16 ? SIM_BF16
                                             : SIM_F16,
                        stored, values[i]);
        fwrite(stored, size, 1, maker->data_stream);
    }
    fflush(maker->data_stream);
}

void maker_finish(struct maker *maker, const char *path)
{
    FILE *f = fopen(path, "wb");
    uint64_t length;

    fputc('}', maker->header_stream);
    fclose(maker->header_stream);
    fclose(maker->data_stream);
    length = maker->header_size;
    MUST(f);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 0xff), f);
    MUST(fwrite(maker->header, 1, maker->header_size, f) == maker->header_size);
    MUST(fwrite(maker->data, 1, maker->data_size, f) == maker->data_size && fclose(f) == 0);
    free(maker->header);
    free(maker->data);
    free(maker);
}

void maker_fn(uint32_t site, float *to)
{
    for (uint32_t i = 0; i < MHCS_COEFFICIENTS * MAKER_K; i++) {
        const uint64_t z = mhcs_mix64(((uint64_t)site << 32) + i + 1);

        /* Rows of a site have norms of their own, and so do sites. */
        to[i] = (float)((int64_t)(z >> 40) - (1 << 23)) * 0x1p-27f *
                (1 + 0.1f * (float)site + 0.01f * (float)(i / MAKER_K));
    }
    to[7] = 0x1.002p-5f;
}

static void add_site(struct maker *maker, const char *prefix, uint32_t site, uint32_t dtype)
{
    const bool head = site == MAKER_SITES - 1;
    const uint32_t rows = head ? MHCS_COEFFICIENTS_HEAD : MHCS_COEFFICIENTS;
    float fn[MHCS_COEFFICIENTS * MAKER_K], base[MHCS_COEFFICIENTS], scale[3];
    char site_name[64], name[128];

    maker_fn(site, fn);
    for (uint32_t j = 0; j < rows; j++)
        base[j] = (float)site - (float)j;
    for (uint32_t i = 0; i < 3; i++)
        scale[i] = (float)(site + i + 1);
    if (head)
        snprintf(site_name, sizeof(site_name), "%shc_head", prefix);
    else
        snprintf(site_name, sizeof(site_name), "%slayers.%u.hc_%s", prefix, site / 2,
                 site % 2 ? "ffn" : "attn");
    snprintf(name, sizeof(name), "%s_fn", site_name);
    maker_add(maker, name, dtype, rows, MAKER_K, fn);
    snprintf(name, sizeof(name), "%s_base", site_name);
    maker_add(maker, name, MHCS_F32, rows, 0, base);
    snprintf(name, sizeof(name), "%s_scale", site_name);
    maker_add(maker, name, MHCS_F32, head ? 1 : 3, 0, scale);
}

void maker_model(const char *path, const char *prefix, uint32_t dtype)
{
    struct maker *maker = maker_new();

    for (uint32_t site = 0; site < MAKER_SITES; site++)
        add_site(maker, prefix, site, dtype);
    maker_finish(maker, path);
}
