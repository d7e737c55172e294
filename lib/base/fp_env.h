/* How a thread's arithmetic rounds in a forward, a backward, a step or a task of the pool: to
 * nearest, whatever the program has set, and with numbers below the smallest normal one taken for
 * zero. A sum of such numbers may take a hundred times as long as another, and a training whose
 * loss nears zero is full of them. */
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

/* No exception traps; results below the smallest normal number become zero, and so do operands. */
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

/* No exception traps; operands and results below the smallest normal number become zero. */
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

/* Sets it for the calling thread; the end gives back what was set before. */
static inline sv_fp_env sv_fp_env_begin(void)
{
    sv_fp_env before = sv_fp_env_read();
    sv_fp_env_write(SV_FP_ENV_FLUSH_TO_ZERO);
    return before;
}

static inline void sv_fp_env_end(sv_fp_env before)
{
    sv_fp_env_write(before);
}

#endif
