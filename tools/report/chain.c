/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products over the sites. */
#include "tools/report/chain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mhc_math.h"

/* ---- sums ---- */

static void add_link(struct mhcs_chain *chain, const struct mhcs_site_line *site,
                     enum mhcs_path reference)
{
    const struct mhcs_link *last = chain->links > 0 ? &chain->link[chain->links - 1] : NULL;
    struct mhcs_moments comb = {0}, y = {0};
    struct mhcs_link *link;

    for (int p = 0; p < MHCS_PHASES; p++)
        if (site->line[p]) {
            mhcs_moments_merge(&comb, &site->line[p]->comb_err[reference]);
            mhcs_moments_merge(&y, &site->line[p]->y_rel[reference]);
        }
    if (comb.count == 0)
        return;
    link = &chain->link[chain->links++];
    *link = (struct mhcs_link){
        .site = site,
        .rows = comb.count,
        .comb = mhcs_moments_rms(&comb),
        .y = mhcs_moments_rms(&y),
        .product = NAN,
        .gain = NAN,
    };
    link->root = hypot(last ? last->root : 0, link->comb);
    link->sum = (last ? last->sum : 0) + link->comb;
}

/* ---- products ---- */

struct matrix {
    double at[4][4];
};

/* Production's product and the reference's, and the bound on their gain. */
struct product {
    struct matrix production, reference;
    double gain;
};

static void get_comb(const struct mhcs_model_params *params, float rms, const float *raw,
                     struct matrix *ret_comb)
{
    double wide[MHCS_COEFFICIENTS], mapped[MHCS_COEFFICIENTS];

    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        wide[i] = (double)raw[i];
    mhcs_map_f64(params, MHCS_COEFFICIENTS, (double)rms, wide, mapped);
    memcpy(ret_comb->at, mapped + 8, sizeof(ret_comb->at));
}

/* product = comb^T product */
static void go_through(struct matrix *product, const struct matrix *comb)
{
    const struct matrix before = *product;

    for (int k = 0; k < 4; k++)
        for (int c = 0; c < 4; c++) {
            product->at[k][c] = 0;
            for (int j = 0; j < 4; j++)
                product->at[k][c] += comb->at[j][k] * before.at[j][c];
        }
}

static double norm_bound(const struct matrix *comb)
{
    double rows = 0, columns = 0;

    for (int i = 0; i < 4; i++) {
        double row = 0, column = 0;

        for (int j = 0; j < 4; j++) {
            row += comb->at[i][j];
            column += comb->at[j][i];
        }
        rows = fmax(rows, row);
        columns = fmax(columns, column);
    }
    return sqrt(rows * columns);
}

static double relative_difference(const struct product *product)
{
    double difference = 0, norm = 0;

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const double p = product->reference.at[i][j];
            const double d = product->production.at[i][j] - p;

            difference += d * d;
            norm += p * p;
        }
    return sqrt(difference / norm);
}

/* All chains go through one site. */
static void multiply_site(struct product product[MHCS_SAMPLES], struct mhcs_link *link,
                          const struct mhcs_model_params *params)
{
    const struct mhcs_samples *samples = link->site->samples;
    double squares = 0, gain = 0;

    for (uint32_t i = 0; i < MHCS_SAMPLES; i++) {
        const struct mhcs_sample_row *row = &samples->row[i % samples->count];
        struct matrix production, reference;

        get_comb(params, row->rms, row->production, &production);
        get_comb(params, row->rms, row->reference, &reference);
        go_through(&product[i].production, &production);
        go_through(&product[i].reference, &reference);
        product[i].gain *= norm_bound(&reference);
        squares += relative_difference(&product[i]) * relative_difference(&product[i]);
        gain = fmax(gain, product[i].gain);
    }
    link->product = sqrt(squares / MHCS_SAMPLES);
    link->gain = gain;
}

static void multiply(struct mhcs_chain *chain, const struct mhcs_maps *maps)
{
    struct product product[MHCS_SAMPLES];
    struct mhcs_model_params params;

    for (int i = 0; i < MHCS_SAMPLES; i++)
        product[i] = (struct product){
            .production.at = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}},
            .reference.at = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}},
            .gain = 1,
        };
    for (size_t i = 0; i < chain->links && !chain->why_no_product; i++) {
        struct mhcs_link *link = &chain->link[i];

        if (!mhcs_maps_find(maps, link->site->name, &params))
            chain->why_no_product = maps->unlike
                                        ? "the traces have unlike models"
                                        : "the traces do not tell scale and base of all sites";
        else if (!link->site->samples || link->site->samples->count == 0)
            chain->why_no_product = "a site has no row with all values finite";
        else
            multiply_site(product, link, &params);
    }
}

int mhcs_chain_measure(const struct mhcs_collect *collect, const struct mhcs_maps *maps,
                       enum mhcs_path reference, struct mhcs_chain *ret_chain)
{
    *ret_chain = (struct mhcs_chain){.link = calloc(collect->sites + 1, sizeof(struct mhcs_link))};
    if (!ret_chain->link)
        return -ENOMEM;
    for (size_t i = 0; i < collect->sites; i++)
        add_link(ret_chain, collect->site[i], reference);
    multiply(ret_chain, maps);
    return 0;
}

void mhcs_chain_free(struct mhcs_chain *chain)
{
    free(chain->link);
    *chain = (struct mhcs_chain){0};
}
