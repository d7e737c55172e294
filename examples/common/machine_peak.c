/* What this machine can do at most, so that every other figure is a ratio. */
#include "machine_peak.h"

#include "progress.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 5, FMA_ROUNDS = 100000, GEMM_SIZE = 768, TRIAD_FLOATS = 8 << 20 };
static const double look_seconds = 0.12;

/* clang-format off */
#define FOR12(X) X(x0) X(x1) X(x2) X(x3) X(x4) X(x5) X(x6) X(x7) X(x8) X(x9) X(x10) X(x11)
#define START(x) vector x = m; m += 1;
#define STEP(x) x = x * d + e;
#define COLLECT(x) e += x;

/* Twelve chains x = x * d + e, more than the CPU has in flight, each in a register of its own
 * (an array of them would live in memory) and of a value of its own (equal ones would be computed
 * once). Returns the operations done. */
#define FMA_LOOP(name, attribute, lanes)                              \
    attribute static double name(float *sink)                         \
    {                                                                 \
        typedef float vector __attribute__((vector_size(4 * lanes))); \
        vector m = {0};                                               \
        vector d = m + 0.999f;                                        \
        vector e = m + *sink;                                         \
        FOR12(START)                                                  \
        for (int round = 0; round < FMA_ROUNDS; round++) {            \
            FOR12(STEP)                                               \
        }                                                             \
        FOR12(COLLECT)                                                \
        *sink = e[0];                                                 \
        return 2.0 * lanes * 12 * FMA_ROUNDS;                         \
    }
/* clang-format on */

#ifdef __x86_64__
FMA_LOOP(fma_avx512, __attribute__((target("avx512f"))), 16)
FMA_LOOP(fma_avx2, __attribute__((target("avx2,fma"))), 8)
#endif
FMA_LOOP(fma_baseline, , 4)

typedef double (*fma_function)(float *sink);

static fma_function choose_fma(const char **name)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
        *name = "avx512f";
        return fma_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *name = "avx2";
        return fma_avx2;
    }
#endif
    *name = "baseline";
    return fma_baseline;
}

const char *machine_peak_vectors(void)
{
    const char *name;
    choose_fma(&name);
    return name;
}

/* One thread's part of a look: its arrays, and what it did. */
typedef struct worker {
    double (*work)(struct worker *self); /* does a bit of it and returns how much */
    atomic_int *go;
    float *a, *b, *c;
    double done, seconds;
} worker;

static double work_fma(worker *self)
{
    const char *name;
    volatile float keep;
    float sink = self->done > 0 ? 0.001f : 0.002f;
    double done = choose_fma(&name)(&sink);
    keep = sink;
    (void)keep;
    return done;
}

static double work_gemm(worker *self)
{
    const int n = GEMM_SIZE;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, self->a, n, self->b, n, 0,
                self->c, n);
    return 2.0 * n * n * n;
}

static double work_triad(worker *self)
{
    float *restrict a = self->a;
    const float *restrict b = self->b;
    const float *restrict c = self->c;
    for (size_t i = 0; i < TRIAD_FLOATS; i++)
        a[i] = b[i] + 3 * c[i];
    return 12.0 * TRIAD_FLOATS;
}

static void *worker_run(void *argument)
{
    worker *self = argument;
    self->work(self);
    while (!atomic_load(self->go))
        sched_yield();
    double begin = progress_clock();
    do {
        self->done += self->work(self);
        self->seconds = progress_clock() - begin;
    } while (self->seconds < look_seconds);
    return NULL;
}

/* All threads at once, in units of 1e9 a second; those that could not be started add nothing. */
static double look(worker *workers, uint32_t threads)
{
    pthread_t handles[PEAK_THREADS];
    atomic_int go = 0;
    uint32_t started = 1;
    double rate = 0;
    for (uint32_t i = 0; i < threads; i++) {
        workers[i].go = &go;
        workers[i].done = 0;
    }
    while (started < threads &&
           pthread_create(&handles[started], NULL, worker_run, &workers[started]) == 0)
        started++;
    atomic_store(&go, 1);
    worker_run(&workers[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(handles[i], NULL);
    for (uint32_t i = 0; i < started; i++)
        rate += 1e-9 * workers[i].done / workers[i].seconds;
    return rate;
}

static float *new_array(size_t floats)
{
    float *array = aligned_alloc(64, (floats * sizeof *array + 63) / 64 * 64);
    for (size_t i = 0; array && i < floats; i++)
        array[i] = (float)(i % 17) * 0.1f - 0.8f;
    return array;
}

static double best_look(double (*work)(worker *self), uint32_t threads, size_t floats)
{
    static worker workers[PEAK_THREADS];
    double best = 0;
    int complete = 1;
    threads = threads < 1 ? 1 : threads > PEAK_THREADS ? PEAK_THREADS : threads;
    memset(workers, 0, sizeof workers);
    for (uint32_t i = 0; i < threads; i++) {
        worker *self = &workers[i];
        self->work = work;
        if (floats == 0)
            continue;
        self->a = new_array(floats);
        self->b = new_array(floats);
        self->c = new_array(floats);
        complete = complete && self->a && self->b && self->c;
    }
    for (int i = 0; i < LOOKS && complete; i++) {
        double rate = look(workers, threads);
        best = rate > best ? rate : best;
    }
    for (uint32_t i = 0; i < threads; i++) {
        free(workers[i].a);
        free(workers[i].b);
        free(workers[i].c);
    }
    return best;
}

double machine_peak_fma(uint32_t threads)
{
    return best_look(work_fma, threads, 0);
}

/* Sets the BLAS's own threads where it has such a call. Returns what they were, 0 if unknown. */
static int set_blas_threads(int threads)
{
    int (*get)(void) = NULL;
    void (*set)(int) = NULL;
    *(void **)&get = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
    *(void **)&set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    int before = get ? get() : 0;
    if (set)
        set(threads);
    return before;
}

double machine_peak_blas(uint32_t threads)
{
    int before = set_blas_threads(1);
    double peak = best_look(work_gemm, threads, (size_t)GEMM_SIZE * GEMM_SIZE);
    if (before > 0)
        set_blas_threads(before);
    return peak;
}

double machine_peak_triad(uint32_t threads)
{
    return best_look(work_triad, threads, TRIAD_FLOATS);
}
