/* The kernels are compiled once for each instruction set; each copy's names carry its suffix. */
#ifndef SV_ISA_H
#define SV_ISA_H

#ifndef SV_ISA_SUFFIX
#define SV_ISA_SUFFIX _baseline
#endif

#define SV_ISA_JOIN(name, suffix) name##suffix
#define SV_ISA_PASTE(name, suffix) SV_ISA_JOIN(name, suffix)
#define SV_ISA(name) SV_ISA_PASTE(name, SV_ISA_SUFFIX)

#endif
