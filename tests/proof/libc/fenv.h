/* The functions of fenv.h that decimal.c calls, which Frama-C's own header lacks. */
#ifndef SV_PROOF_FENV_H
#define SV_PROOF_FENV_H

enum { FE_TONEAREST = 0 };

/*@ assigns \nothing; */
int fegetround(void);

/*@ assigns \nothing; */
int fesetround(int rounding);

#endif
