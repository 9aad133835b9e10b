/* SPDX-License-Identifier: Apache-2.0 */
/* How the errors of comb add up over the sites of a forward pass: three estimates of the linear
 * path X' = comb^T X alone, without what attention and routing make of an error.
 *
 *   root     square root of the sum of squares: errors of the sites are independent
 *   sum      plain sum: they all point the same way
 *   product  |prod P^ - prod P| / |prod P| (Frobenius), P and P^ the comb matrices of the reference
 *            and of production: measured rows, one of each site in each of MHCS_SAMPLES chains; rms
 *            over chains
 *
 * gain bounds how much larger a change of the streams can become on the way, in their 2-norm: the
 * product over sites of sqrt(largest row sum * largest column sum), the largest of all chains. */
#ifndef MHCS_REPORT_CHAIN_H
#define MHCS_REPORT_CHAIN_H

#include "tools/report/collect.h"
#include "tools/report/maps.h"

struct mhcs_link {
    const struct mhcs_site_line *site;
    uint64_t rows;
    double comb, y;                  /* rms relative errors */
    double root, sum, product, gain; /* up to here; product and gain NaN: not known */
};

struct mhcs_chain {
    struct mhcs_link *link; /* sites that have a comb, in order */
    size_t links;
    const char *why_no_product; /* NULL: there is one */
};

/* `collect` is sorted, and was told to keep samples. 0 or -ENOMEM. */
int mhcs_chain_measure(const struct mhcs_collect *collect, const struct mhcs_maps *maps,
                       enum mhcs_path reference, struct mhcs_chain *ret_chain);
void mhcs_chain_free(struct mhcs_chain *chain);

#endif
