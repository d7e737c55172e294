/* Random numbers of layers: dropout masks and DropPath factors. Each is a function of the seed, the
 * forward's counter and its position alone, not of the number of threads. */
#ifndef SV_DROPOUT_BITS_H
#define SV_DROPOUT_BITS_H

#include "autograd/layer.h"
#include "kernels/kernels.h"

/* Converts a dropout rate to the threshold of a 16-bit random number, 0 for no dropout, and to the
 * scale of the elements that dropout keeps, 1 / (1 - rate) of the rounded rate. */
void sv_dropout_rate(uint32_t *threshold, real *scale, double rate);

/* Writes blocks `first` to first + blocks - 1 of mask `which` (0 or 1) of layer `number`:
 * words[blocks, c], bit b of block k being token 32 k + b. `words` points at block `first`, and
 * `threshold` is that of sv_dropout_rate. */
void sv_dropout_mask(const sv_run *run, uint32_t number, uint32_t which, uint32_t threshold,
                     uint32_t *words, size_t first, size_t blocks, size_t c);

/* scales[n]: 1 / (1 - rate) with probability 1 - rate, otherwise 0 (Huang et al. 2016). */
void sv_draw_drop_path_scales(const sv_run *run, uint32_t number, double rate, real *scales);

#endif
