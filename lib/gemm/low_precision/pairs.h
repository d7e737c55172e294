/* The copies of the backend "pairs-int8" (int8_pairs.c), one for each instruction set. */
#ifndef SV_PAIRS_H
#define SV_PAIRS_H

#include "gemm/gemm.h"
#include "kernels/isa.h"

#define PAIRS_DECLARATION(suffix, isa) extern const sv_gemm sv_gemm_pairs_int8_##suffix;
SV_ISA_LIST(PAIRS_DECLARATION)

#endif
