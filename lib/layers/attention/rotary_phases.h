/* The phases of a rotary position embedding without learnt frequencies. */
#ifndef SV_ROTARY_PHASES_H
#define SV_ROTARY_PHASES_H

#include "layers/layers.h"

/* Writes sv_rotary.phases: [rows + columns, 2, head_dim / 2], cosines before sines. */
void sv_rotary_fixed_phases(real *phases, const sv_rotary_options *rotary, size_t head_dim);

#endif
