/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/host_reference.h"

#include <errno.h>
#include <stdlib.h>

#include "kernels/mhc_metrics.h"

/* The row's operands as the metrics want them, and what is known of them. */
struct row {
    double raw[MHCS_PATHS][MHCS_COEFFICIENTS];
    double raw_change[MHCS_PATHS][MHCS_COEFFICIENTS]; /* production less that path */
    double mapped[MHCS_PATHS][MHCS_COEFFICIENTS];
    double change[MHCS_PATHS][MHCS_COEFFICIENTS]; /* the same, of mapped */
    double abs_dot[MHCS_PATHS][MHCS_COEFFICIENTS];
    double rms;
    bool present[MHCS_PATHS];
    bool x_finite;
    double y_norm[MHCS_PATHS];
    struct mhcs_y_sums_f64 y[MHCS_PATHS];
};

static void scale_dots(const struct mhcs_host_slot *slot, uint32_t r, struct mhcs_dots *dots)
{
    for (uint32_t j = 0; j < slot->coefficients; j++) {
        dots->dot[j] *= (double)slot->alpha;
        dots->abs_dot[j] *= fabs((double)slot->alpha);
        if (slot->old_c && slot->beta != 0) /* as in cuBLAS, beta 0 lets no NaN through */
            dots->dot[j] +=
                (double)slot->beta * (double)mhcs_element(slot->old_c, slot->c_dtype,
                                                          (size_t)r * slot->coefficients + j);
    }
}

/* raw and abs_dot of all rows, from the operands or from the checkpoint. 0, or -ENOMEM. */
static int reference_dots(const struct mhcs_host_slot *slot, bool checkpoint,
                          struct mhcs_dots *dots)
{
    const int rc = mhcs_host_dots(checkpoint ? slot->checkpoint : slot->fn,
                                  checkpoint ? slot->checkpoint_dtype : slot->fn_dtype, slot->x,
                                  slot->x_dtype, slot->coefficients, slot->k, slot->rows, dots);
    for (uint32_t r = 0; rc == 0 && r < slot->rows; r++)
        scale_dots(slot, r, &dots[r]);
    return rc;
}

/* y of all paths and the sums over it, by way of changes as in the kernel. */
static void sum_y(const struct mhcs_host_slot *slot, uint32_t r, struct row *row)
{
    const uint32_t hidden = slot->k / MHCS_STREAMS;
    const double *pre = row->mapped[MHCS_PRODUCTION];

    for (uint32_t d = 0; d < hidden; d++) {
        double x[MHCS_STREAMS], a = 0;
        for (uint32_t i = 0; i < MHCS_STREAMS; i++) {
            x[i] =
                (double)mhcs_element(slot->x, slot->x_dtype, (size_t)r * slot->k + i * hidden + d);
            row->x_finite = row->x_finite && x[i] - x[i] == 0;
            a += pre[i] * x[i];
        }
        for (int path = MHCS_OPERANDS; path < MHCS_PATHS; path++) {
            struct mhcs_y_sums_f64 *y = &row->y[path];
            double difference = 0;
            for (uint32_t i = 0; i < MHCS_STREAMS; i++)
                difference += row->change[path][i] * x[i];
            const double b = a - difference;
            y->aa += a * a;
            y->bb += b * b;
            y->dd += difference * difference;
            y->ds += difference * (a + b);
            y->ab += a * b;
        }
    }
    row->y_norm[MHCS_PRODUCTION] = sqrt(row->y[MHCS_OPERANDS].aa);
    for (int path = MHCS_OPERANDS; path < MHCS_PATHS; path++)
        row->y_norm[path] = sqrt(row->y[path].bb);
}

static void load_path(const struct mhcs_host_slot *slot, uint32_t r, struct row *row, int path,
                      const struct mhcs_dots *dots)
{
    for (uint32_t j = 0; j < MHCS_COEFFICIENTS; j++) {
        row->raw[path][j] = row->mapped[path][j] = row->abs_dot[path][j] = NAN;
        row->raw_change[path][j] = row->change[path][j] = NAN;
        if (j >= slot->coefficients)
            continue;
        if (path == MHCS_PRODUCTION) {
            row->raw[path][j] =
                (double)mhcs_element(slot->c, slot->c_dtype, (size_t)r * slot->coefficients + j);
        } else if (dots) {
            row->raw[path][j] = dots[r].dot[j];
            row->abs_dot[path][j] = dots[r].abs_dot[j];
        }
        row->raw_change[path][j] = row->raw[MHCS_PRODUCTION][j] - row->raw[path][j];
    }
    row->present[path] = path == MHCS_PRODUCTION || dots != NULL;
}

static void write_result(const struct mhcs_host_slot *slot, const struct mhcs_model_params *model,
                         const struct row *row, struct mhcs_row_result *result)
{
    const uint32_t n = slot->coefficients;
    bool finite[MHCS_PATHS];

    result->rms = (float)row->rms;
    result->nonfinite = row->x_finite ? 0 : MHCS_NONFINITE_X;
    for (int path = 0; path < MHCS_PATHS; path++) {
        for (uint32_t j = 0; j < MHCS_COEFFICIENTS; j++) {
            result->raw[path][j] = (float)row->raw[path][j];
            result->mapped[path][j] = (float)row->mapped[path][j];
        }
        finite[path] = mhcs_all_finite_f64(row->raw[path], n);
        if (row->present[path] && !finite[path])
            result->nonfinite |=
                path == MHCS_PRODUCTION ? MHCS_NONFINITE_PRODUCTION : MHCS_NONFINITE_REFERENCE;
        result->defect[path] =
            n == MHCS_COEFFICIENTS ? mhcs_defect_f64(row->mapped[path] + 8) : mhcs_nan();
        result->y_norm[path] = (float)row->y_norm[path];

        mhcs_metrics_clear(&result->against[path]);
        const struct mhcs_comparison_f64 of = {row->raw[path], row->raw_change[path],
                                               row->abs_dot[path], row->mapped[path],
                                               row->change[path]};
        if (path != MHCS_PRODUCTION && finite[MHCS_PRODUCTION] && finite[path] && row->x_finite)
            mhcs_measure_f64(&result->against[path], n, &of, row->rms * (double)model->scale[2],
                             &row->y[path]);
    }
}

static void map_paths(const struct mhcs_model_params *model, uint32_t coefficients, struct row *row)
{
    for (int path = 0; path < MHCS_PATHS; path++) {
        if (!row->present[path])
            continue;
        mhcs_map_change_f64(model, coefficients, row->rms, row->raw[path], row->raw_change[path],
                            row->mapped[path], row->change[path]);
        mhcs_settle_change_f64(model, coefficients, row->rms, row->raw_change[path],
                               row->mapped[path], row->mapped[MHCS_PRODUCTION], row->change[path]);
    }
}

static bool sample_is_normalised(const struct mhcs_host_slot *slot, const struct mhcs_dots *dots)
{
    double votes = 0, nonzero = 0;
    for (uint32_t r = 0; r < slot->rows; r++) {
        votes += mhcs_votes_normalised_f64(dots[r].square_sum, slot->k);
        nonzero += dots[r].square_sum != 0;
    }
    return mhcs_is_normalised_f64(votes, nonzero);
}

void mhcs_host_compare(const struct mhcs_host_slot *slot, const struct mhcs_model_params *model,
                       const struct mhcs_dots *operands, const struct mhcs_dots *checkpoint,
                       struct mhcs_row_result *results)
{
    const bool normalised = sample_is_normalised(slot, operands);

    for (uint32_t r = 0; r < slot->rows; r++) {
        struct row row = {.x_finite = true};
        row.rms = normalised ? 1
                             : mhcs_rms_factor_f64(operands[r].square_sum, slot->k,
                                                   (double)model->norm_eps);
        load_path(slot, r, &row, MHCS_PRODUCTION, NULL);
        load_path(slot, r, &row, MHCS_OPERANDS, operands);
        load_path(slot, r, &row, MHCS_CHECKPOINT, checkpoint);
        map_paths(model, slot->coefficients, &row);
        sum_y(slot, r, &row);
        write_result(slot, model, &row, &results[r]);
    }
}

int mhcs_host_reference(const struct mhcs_host_slot *slot, const struct mhcs_model_params *model,
                        struct mhcs_row_result *results)
{
    struct mhcs_dots *operands = calloc(slot->rows, sizeof(*operands));
    struct mhcs_dots *checkpoint =
        slot->checkpoint ? calloc(slot->rows, sizeof(*checkpoint)) : NULL;
    int rc = -ENOMEM;
    if (!operands || (slot->checkpoint && !checkpoint))
        goto out;
    rc = reference_dots(slot, false, operands);
    if (rc == 0 && checkpoint)
        rc = reference_dots(slot, true, checkpoint);
    if (rc == 0)
        mhcs_host_compare(slot, model, operands, checkpoint, results);
out:
    free(operands);
    free(checkpoint);
    return rc;
}

int mhcs_host_check(const struct mhcs_host_slot *slot, const float *raw, float *rel)
{
    struct mhcs_dots *exact = calloc(slot->rows, sizeof(*exact));
    const int rc = exact ? reference_dots(slot, false, exact) : -ENOMEM;

    for (uint32_t r = 0; rc == 0 && r < slot->rows; r++) {
        const uint32_t n = slot->coefficients;
        double off[MHCS_COEFFICIENTS];
        for (uint32_t j = 0; j < n; j++)
            off[j] = (double)raw[r * MHCS_COEFFICIENTS + j] - exact[r].dot[j];
        rel[r] = mhcs_all_finite_f64(off, n) ? mhcs_relative_f64(off, exact[r].dot, n) : mhcs_nan();
    }
    free(exact);
    return rc;
}
