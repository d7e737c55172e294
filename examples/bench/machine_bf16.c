/* Measures the peak bfloat16 arithmetic of this machine. */
#include "machine_bf16.h"

#include "throughput.h"

#include <string.h>

/* The build defines BENCH_HAS_AVX512_BF16 and BENCH_HAS_AMX if the compiler supports them. */
#if defined(BENCH_HAS_AVX512_BF16) || defined(BENCH_HAS_AMX)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20000, TILE_BYTES = 1024 };

/* Fills an AMX tile with random bfloat16 values of both signs, 0.5 to 2 in magnitude. */
static void draw(uint16_t values[TILE_BYTES / 2], uint32_t state)
{
    for (size_t i = 0; i < TILE_BYTES / 2; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (uint16_t)((state >> 16 & 0x80ff) | 0x3f00);
    }
}
#endif

typedef struct bf16_isa {
    const char *name;
    double (*dots)(float *sink); /* returns the operations done */
} bf16_isa;

#ifdef BENCH_HAS_AVX512_BF16

/* clang-format off */
#define FOR12(X) X(x0) X(x1) X(x2) X(x3) X(x4) X(x5) X(x6) X(x7) X(x8) X(x9) X(x10) X(x11)
/* clang-format on */
#define START(x) __m512 x = _mm512_setzero_ps();
#define STEP(x) x = _mm512_dpbf16_ps(x, a, b);
#define COLLECT(x) sum = _mm512_add_ps(sum, x);
/* Makes the compiler believe that x changes, because it would compute equal chains only once. */
#define APART(x) __asm__("" : "+v"(x));

/* Runs twelve independent chains, more than the CPU has in flight, each in its own register. */
__attribute__((target("avx512f,avx512bf16"))) static double dots_avx512(float *sink)
{
    uint16_t values[TILE_BYTES / 2];
    __m512bh a, b;
    __m512 sum = _mm512_setzero_ps();
    draw(values, 1);
    memcpy(&a, values, sizeof a);
    memcpy(&b, values + 32, sizeof b);
    FOR12(START)
    FOR12(APART)
    for (int round = 0; round < ROUNDS; round++) {
        FOR12(STEP)
    }
    FOR12(COLLECT)
    *sink = sum[0];
    return 2.0 * 2 * 16 * 12 * ROUNDS;
}

static int has_avx512_bf16(void)
{
    unsigned a, b, c, d;
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && a >= 1 &&
           __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1 << 5));
}
#endif

#ifdef BENCH_HAS_AMX

/* The operand of LDTILECFG: eight tiles of 16 rows of 64 bytes. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

/* The compilers' AMX intrinsics do not declare which memory they read and write. */
static void touch_memory(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Four tiles of sums, two of A and two of B, as in a matmul. */
__attribute__((target("amx-tile,amx-bf16"))) static double dots_amx(float *sink)
{
    uint16_t values[TILE_BYTES / 2];
    float sums[TILE_BYTES / sizeof(float)];
    tile_config config = {.palette = 1};
    for (size_t i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    draw(values, 1);
    touch_memory();
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, values, 64);
    _tile_loadd(6, values, 64);
    draw(values, 2);
    touch_memory();
    _tile_loadd(5, values, 64);
    _tile_loadd(7, values, 64);
    for (int round = 0; round < ROUNDS; round++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(3, sums, 64);
    touch_memory();
    _tile_release();
    *sink = sums[0];
    return 2.0 * 32 * 16 * 16 * 4 * ROUNDS;
}

/* Asks Linux (5.16 or later) for the AMX registers: arch_prctl(ARCH_REQ_XCOMP_PERM,
 * XFEATURE_XTILEDATA). Returns 1 if the process may use them. */
static int has_amx(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_BF16) && (d & AMX_TILE) &&
           syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}
#endif

/* Lists the instruction sets that run here and returns their number. */
static size_t find_isas(bf16_isa found[BF16_ISAS])
{
    size_t count = 0;
    memset(found, 0, BF16_ISAS * sizeof *found);
#ifdef BENCH_HAS_AMX
    if (has_amx())
        found[count++] = (bf16_isa){"amx", dots_amx};
#endif
#ifdef BENCH_HAS_AVX512_BF16
    if (has_avx512_bf16())
        found[count++] = (bf16_isa){"avx512_bf16", dots_avx512};
#endif
    return count;
}

const char *machine_bf16_isa(size_t index)
{
    bf16_isa found[BF16_ISAS];
    return index < find_isas(found) ? found[index].name : NULL;
}

static double work_dots(throughput_worker *self)
{
    const bf16_isa *chosen = self->kind->input;
    volatile float keep;
    float sink = 0;
    double done = chosen->dots(&sink);
    keep = sink;
    (void)keep;
    return done;
}

double machine_bf16_peak(size_t index, uint32_t threads)
{
    bf16_isa found[BF16_ISAS];
    if (index >= find_isas(found))
        return 0;
    throughput_kernel kind = {.work = work_dots, .input = &found[index]};
    return 1e-9 * throughput_best(&kind, threads);
}
