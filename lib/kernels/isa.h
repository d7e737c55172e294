/* The instruction sets that kernels are compiled for, and the names of one compiled copy. */
#ifndef SV_ISA_H
#define SV_ISA_H

/* Every instruction set of instruction_sets in lib/kernels/meson.build, in the order of sv_isa:
 * X(suffix of the symbols, constant). */
#define SV_ISA_LIST(X) X(baseline, SV_ISA_BASELINE) SV_ISA_IF_AVX2(X) SV_ISA_IF_AVX512(X)
#ifdef SV_HAVE_AVX2
#define SV_ISA_IF_AVX2(X) X(avx2, SV_ISA_AVX2)
#else
#define SV_ISA_IF_AVX2(X)
#endif
#ifdef SV_HAVE_AVX512
#define SV_ISA_IF_AVX512(X) X(avx512, SV_ISA_AVX512)
#else
#define SV_ISA_IF_AVX512(X)
#endif

/* The build defines both for the copy that is compiled; tests that include kernel headers have the
 * baseline. */
#ifndef SV_ISA_SUFFIX
#define SV_ISA_SUFFIX _baseline
#define SV_ISA_CONSTANT SV_ISA_BASELINE
#endif

/* SV_ISA(sv_gelu) is sv_gelu_avx2 in the copy for AVX2. */
#define SV_ISA_JOIN(name, suffix) name##suffix
#define SV_ISA_PASTE(name, suffix) SV_ISA_JOIN(name, suffix)
#define SV_ISA(name) SV_ISA_PASTE(name, SV_ISA_SUFFIX)

#endif
