/* The default floating-point environment around a function of the library. */
#include "base/threads/fp_env.h"

#if defined(__x86_64__) || defined(__i386__)
static inline uint16_t sv_x87_read(void)
{
    uint16_t control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return control;
}

/* Forgets exceptions that have occurred if `control` does not mask them, since the next instruction
 * of the x87 would trap. */
static inline void sv_x87_write(uint16_t control)
{
    uint16_t status;
    __asm__ volatile("fnstsw %0" : "=m"(status));
    if (status & ~control & 0x3F)
        __asm__ volatile("fnclex");
    __asm__ volatile("fldcw %0" : : "m"(control));
}
#else
static inline uint16_t sv_x87_read(void)
{
    return 0;
}

static inline void sv_x87_write(uint16_t control)
{
    (void)control;
}
#endif

/* The x87's control word: all exceptions masked, the precision of long double, to nearest. */
enum { SV_X87_DEFAULT = 0x037F };

/* The barriers hold where this is compiled into its callers. */
sv_callers_fp_env sv_fp_env_enter_default(void)
{
    sv_callers_fp_env before = {sv_fp_env_read(), sv_x87_read()};
    sv_fp_env_write(SV_FP_ENV_DEFAULT);
    if (before.x87 != SV_X87_DEFAULT)
        sv_x87_write(SV_X87_DEFAULT);
    __asm__ volatile("" : : : "memory");
    return before;
}

void sv_fp_env_leave_default(const sv_callers_fp_env *before)
{
    __asm__ volatile("" : : : "memory");
    if (before->x87 != SV_X87_DEFAULT)
        sv_x87_write(before->x87);
    sv_fp_env_write(before->env);
}
