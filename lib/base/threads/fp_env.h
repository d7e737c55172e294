/* The floating-point environments of the library's arithmetic, which round to nearest and trap
 * nothing, whatever the program has set. Every forward, backward, optimiser step and task of the
 * pool flushes subnormal values to zero: subnormal operands make an addition up to a hundred times
 * slower, and a training whose loss nears zero has many of them. Every other public function that
 * computes, such as a loss, keeps subnormal values (SV_DEFAULT_FP_ENV). */
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

/* MXCSR: all exceptions masked; and flush-to-zero (results), denormals-are-zero (operands). */
enum { SV_FP_ENV_DEFAULT = 0x1F80, SV_FP_ENV_FLUSH_TO_ZERO = 0x1F80 | 0x8000 | 0x0040 };

/* The flags of exceptions that have occurred. */
#define SV_FP_ENV_FLAGS 0x3Fu

#elif defined(__aarch64__) || (defined(__arm__) && defined(__ARM_FP)) || defined(__s390x__) ||     \
    defined(__riscv_flen)

/* The register that controls the arithmetic, whose value is 0 in the default environment. Arm's FZ
 * makes subnormal operands and results zero; the others have no such bit. 64-bit Arm has the flags
 * in another register. */
#if defined(__aarch64__)
typedef uint64_t sv_fp_env;
#define SV_FP_ENV_READ "mrs %0, fpcr"
#define SV_FP_ENV_WRITE "msr fpcr, %0"
#define SV_FP_ENV_FLAGS 0u
enum { SV_FP_ENV_FLUSH_TO_ZERO = 1 << 24 };
#elif defined(__arm__)
typedef uint32_t sv_fp_env;
#define SV_FP_ENV_READ "vmrs %0, fpscr"
#define SV_FP_ENV_WRITE "vmsr fpscr, %0"
#define SV_FP_ENV_FLAGS 0xF800009Fu /* with those of the last comparison */
enum { SV_FP_ENV_FLUSH_TO_ZERO = 1 << 24 };
#elif defined(__s390x__)
typedef uint32_t sv_fp_env;
#define SV_FP_ENV_READ "efpc %0"
#define SV_FP_ENV_WRITE "sfpc %0"
#define SV_FP_ENV_FLAGS 0x00F8FF00u /* with the code of the last trap */
enum { SV_FP_ENV_FLUSH_TO_ZERO = 0 };
#else
typedef unsigned long sv_fp_env;
#define SV_FP_ENV_READ "frcsr %0"
#define SV_FP_ENV_WRITE "fscsr %0"
#define SV_FP_ENV_FLAGS 0x1Fu
enum { SV_FP_ENV_FLUSH_TO_ZERO = 0 };
#endif

enum { SV_FP_ENV_DEFAULT = 0 };

static inline sv_fp_env sv_fp_env_read(void)
{
    sv_fp_env state;
    __asm__ volatile(SV_FP_ENV_READ : "=r"(state));
    return state;
}

static inline void sv_fp_env_write(sv_fp_env state)
{
    __asm__ volatile(SV_FP_ENV_WRITE : : "r"(state));
}

#else

#include <fenv.h>

/* Other machines: the rounding mode alone. */
typedef int sv_fp_env;
#define SV_FP_ENV_FLAGS 0u
enum { SV_FP_ENV_DEFAULT = FE_TONEAREST, SV_FP_ENV_FLUSH_TO_ZERO = FE_TONEAREST };

static inline sv_fp_env sv_fp_env_read(void)
{
    return fegetround();
}

static inline void sv_fp_env_write(sv_fp_env state)
{
    fesetround(state);
}

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

/* What SV_DEFAULT_FP_ENV changes. On x86 the C library's conversions between numbers and text go by
 * the rounding mode of the x87, and trap as it does. */
typedef struct sv_callers_fp_env {
    sv_fp_env env;
    uint16_t x87;
} sv_callers_fp_env;

/* The two ends of SV_DEFAULT_FP_ENV. Reads and writes of arrays stay between them. */
sv_callers_fp_env sv_fp_env_enter_default(void);
void sv_fp_env_leave_default(const sv_callers_fp_env *before);

/* The first line of a function: it runs in the default environment, whose subnormal values are
 * kept, and leaves that of its caller as it was, wherever it returns. */
#define SV_DEFAULT_FP_ENV                                                                          \
    __attribute__((cleanup(sv_fp_env_leave_default), unused))                                      \
    const sv_callers_fp_env callers_fp_env = sv_fp_env_enter_default()

#endif
