/* SPDX-License-Identifier: Apache-2.0 */
/* Every vector (README.md) of $MHCSHADOW_TEST_VECTORS, by default of this folder: the oracle gives
 * the file's values, and the three back ends (fp64 on the host, the kernels, cuBLAS) and the fp32
 * maths on the host give the oracle's within their rounding, and so each other's.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "device.h"
#include "vector_file.h"

/* One way of computing all rows, held against the oracle. y: [MHCS_PATHS][R][K/4] or NULL. */
static int check_results(const char *name, const struct precision *precision,
                         const struct kernel_case *c, const struct oracle_row *want,
                         const struct mhcs_row_result *have, const float *y, bool zero_row)
{
    const size_t hidden = c->k / 4;
    int bad = 0;
    for (uint32_t r = 0; r < c->rows; r++) {
        if (zero_row && r == c->rows - 1) {
            bad += check_zero_row(name, &have[r]);
            continue;
        }
        const float *rows[MHCS_PATHS];
        for (size_t path = 0; y && path < MHCS_PATHS; path++)
            rows[path] = y + (path * c->rows + r) * hidden;
        bad += check_row(name, precision, c, r, &want[r], &have[r], y ? rows : NULL);
    }
    return bad;
}

static int check_vector(const char *name, const cJSON *json)
{
    struct kernel_case c = vector_case(json);
    const bool zero_row = vector_flag(json, "zero_row");
    const struct mhcs_host_slot slot = case_host_slot(&c);
    struct mhcs_row_result *const results = calloc(c.rows, sizeof(*results));
    struct oracle_row *const want = calloc(c.rows, sizeof(*want));
    float *const y = calloc((size_t)MHCS_PATHS * c.rows * (c.k / 4), sizeof(*y));
    int bad = 0;
    if (!results || !want || !y)
        abort();

    for (uint32_t r = 0; r < c.rows; r++) {
        want[r] = oracle_row(&c, r);
        bad += vector_check_oracle(name, json, &c, r, &want[r], zero_row && r == c.rows - 1);
        bad += check_maps(name, &c, r, &want[r]);
    }
    bad += mhcs_host_reference(&slot, &c.model, results) != 0;
    bad += check_results(name, &check_host, &c, want, results, NULL, zero_row);
    device_compare(&c, false, results, y);
    bad += check_results(name, &check_device, &c, want, results, y, zero_row);
    device_compare(&c, true, results, y);
    bad += check_results(name, &check_cublas, &c, want, results, y, zero_row);
    printf("%s: K %u, %u rows: %s\n", name, c.k, c.rows, bad ? "WRONG" : "as the oracle");

    for (uint32_t r = 0; r < c.rows; r++)
        oracle_free(&want[r]);
    free(want);
    free(results);
    free(y);
    case_free(&c);
    return bad;
}

int main(void)
{
    const char *const given = getenv("MHCSHADOW_TEST_VECTORS");
    const char *const directory = given ? given : TEST_VECTORS;
    struct dirent **entries;
    const int n = scandir(directory, &entries, NULL, alphasort);
    int vectors = 0, bad = 0;
    if (n < 0) {
        perror(directory);
        return 1;
    }
    device_open();
    for (int i = 0; i < n; i++) {
        const char *const name = entries[i]->d_name, *const end = strrchr(name, '.');
        char path[4096];
        if (end && strcmp(end, ".json") == 0) {
            snprintf(path, sizeof(path), "%s/%s", directory, name);
            cJSON *const json = vector_read(path);
            bad += json ? check_vector(name, json) : 1;
            cJSON_Delete(json);
            vectors++;
        }
        free(entries[i]);
    }
    free(entries);
    device_close();
    printf("%d vectors, %d values wrong\n", vectors, bad);
    return bad || !vectors;
}
