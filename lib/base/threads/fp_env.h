/* The floating-point environment of the library's arithmetic: rounding to nearest, no traps, and
 * subnormal values flushed to zero. Every forward, backward, optimiser step and task of the pool
 * sets it, whatever the program has set. Subnormal operands make an addition up to a hundred times
 * slower, and a training whose loss nears zero has many of them. */
#ifndef SV_FP_ENV_H
#define SV_FP_ENV_H

#include <stdint.h>

#if defined(__SSE2__)

typedef uint32_t sv_fp_env;

static inline sv_fp_env sv_fp_env_read(void)
{
    return __builtin_ia32_stmxcsr();
}

static inline void sv_fp_env_write(sv_fp_env state)
{
    __builtin_ia32_ldmxcsr(state);
}

/* MXCSR: all exceptions masked, flush-to-zero (results), denormals-are-zero (operands). */
enum { SV_FP_ENV_FLUSH_TO_ZERO = 0x1F80 | 0x8000 | 0x0040 };

#elif defined(__aarch64__)

typedef uint64_t sv_fp_env;

static inline sv_fp_env sv_fp_env_read(void)
{
    sv_fp_env state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
}

static inline void sv_fp_env_write(sv_fp_env state)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(state));
}

/* FPCR: exceptions untrapped, FZ (subnormal operands and results become zero). */
enum { SV_FP_ENV_FLUSH_TO_ZERO = 1 << 24 };

#else

typedef int sv_fp_env;

static inline sv_fp_env sv_fp_env_read(void)
{
    return 0;
}

static inline void sv_fp_env_write(sv_fp_env state)
{
    (void)state;
}

enum { SV_FP_ENV_FLUSH_TO_ZERO = 0 };

#endif

/* Sets the environment for the calling thread. Returns the previous one for sv_fp_env_end. */
static inline sv_fp_env sv_fp_env_begin(void)
{
    sv_fp_env before = sv_fp_env_read();
    sv_fp_env_write(SV_FP_ENV_FLUSH_TO_ZERO);
    return before;
}

/* Restores the environment that sv_fp_env_begin returned. */
static inline void sv_fp_env_end(sv_fp_env before)
{
    sv_fp_env_write(before);
}

#endif
