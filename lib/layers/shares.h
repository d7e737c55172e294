/* Gradients that are sums over a batch, made as shares: images are taken in groups, each group adds
 * up a share of its own while what it is made of is in cache, and the shares are added in the order
 * of the groups. How many there are depends on the shapes alone, so the sums do not depend on the
 * threads. */
#ifndef SV_SHARES_H
#define SV_SHARES_H

#include "autograd/layer.h"

/* Images of one group of a batch of n, for shares of `bytes` each. */
size_t sv_share_images(size_t n, size_t bytes);

/* The most groups that any batch of up to n images has. */
size_t sv_share_groups_most(size_t n, size_t bytes);

/* A parameter and its shares [groups, elements]; SV_NO_PARAMETER: there is none. */
typedef struct sv_share {
    size_t parameter, elements;
    const real *shares;
} sv_share;

/* Adds the shares of `count` parameters to their gradients. */
void sv_add_shares(const sv_run *run, size_t groups, const sv_share *list, size_t count);

#endif
