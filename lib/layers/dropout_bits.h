/* What layers draw: dropout masks and DropPath factors, each a function of its place alone. */
#ifndef SV_DROPOUT_BITS_H
#define SV_DROPOUT_BITS_H

#include "autograd/layer.h"
#include "kernels/kernels.h"

/* A dropout rate as the masks know it: a threshold of 65536, 0 for none, and the factor of what is
 * kept. */
void sv_dropout_rate(uint32_t *threshold, real *scale, double rate);

/* words[first.., c] of mask number `which` of layer `number`: `blocks` blocks of 32 rows, from
 * block `first`; `words` points at that block. */
void sv_dropout_mask(const sv_run *run, uint32_t number, uint32_t which, uint32_t threshold,
                     uint32_t *words, size_t first, size_t blocks, size_t c);

/* path[image] = 1 / (1 - rate) with probability 1 - rate, else 0. */
void sv_draw_drop_path_scales(const sv_run *run, uint32_t number, double rate, real *path);

#endif
