/* Measures the bandwidth of the memory. */
#include "machine_memory.h"

#include "throughput.h"

#include <stdio.h>
#include <unistd.h>

/* A buffer is worked through in slices, so that a round of the measurement ends in time. */
enum { SLICE_FLOATS = 1 << 18, LANES = 16, CHAINS = 4, MIB = 1 << 20, BUFFER_MIB = 256 };
static const double gib = 1024.0 * MIB;

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* Returns the bytes that the system can give without swapping, the page cache included. */
static size_t available_bytes(void)
{
    char line[128];
    unsigned long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file) &&
           sscanf(line, "MemAvailable: %lu kB", &kib) != 1)
        ;
    if (file)
        fclose(file);
    if (kib > 0)
        return (size_t)kib * 1024;
    return (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t machine_memory_buffer(uint32_t threads)
{
    size_t most = available_bytes() / 4 / threads;
    size_t wanted = (size_t)BUFFER_MIB * MIB;
#ifdef _SC_LEVEL3_CACHE_SIZE
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t share = cache > 0 ? 4 * (size_t)cache / threads : 0;
    wanted = share > wanted ? share : wanted;
#endif
    return wanted < most ? wanted : most;
}

/* Returns the offset of the next slice in arrays of `floats` elements, and starts again after the
 * last whole one. */
static size_t next_slice(throughput_worker *self, size_t floats)
{
    if (self->next + SLICE_FLOATS > floats)
        self->next = 0;
    size_t first = self->next;
    self->next += SLICE_FLOATS;
    return first;
}

/* Adds up a slice in several chains, because a single chain waits for the latency of each
 * addition. */
static double work_read(throughput_worker *self)
{
    const float *array = self->array + next_slice(self, self->kind->floats);
    const lanes *values = (const lanes *)(const void *)array;
    lanes sums[CHAINS] = {{0}};
    for (size_t i = 0; i < SLICE_FLOATS / LANES; i += CHAINS)
        for (size_t chain = 0; chain < CHAINS; chain++)
            sums[chain] += values[i + chain];
    volatile float keep = sums[0][0] + sums[1][0] + sums[2][0] + sums[3][0];
    (void)keep;
    return SLICE_FLOATS * sizeof(float);
}

/* a = b + 3 c over one slice. */
static double work_triad(throughput_worker *self)
{
    size_t third = self->kind->floats / 3 / LANES * LANES;
    float *restrict a = self->array + next_slice(self, third);
    const float *restrict b = a + third;
    const float *restrict c = b + third;
    for (size_t i = 0; i < SLICE_FLOATS; i++)
        a[i] = b[i] + 3 * c[i];
    return 3.0 * SLICE_FLOATS * sizeof(float);
}

static double measure(double (*work)(throughput_worker *self), uint32_t threads, size_t buffer)
{
    size_t floats = buffer / sizeof(float);
    size_t least = 3 * (SLICE_FLOATS + LANES);
    throughput_kernel kind = {.work = work, .floats = floats < least ? least : floats};
    return throughput_best(&kind, threads) / gib;
}

double machine_memory_read(uint32_t threads, size_t buffer)
{
    return measure(work_read, threads, buffer);
}

double machine_memory_triad(uint32_t threads, size_t buffer)
{
    return measure(work_triad, threads, buffer);
}
