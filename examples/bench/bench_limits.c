/* shiftvit-bench --work limits: the peak arithmetic and bandwidth, by the number of threads. */
#include "bench_limits.h"

#include "bench_line.h"
#include "machine_bf16.h"
#include "machine_memory.h"
#include "machine_peak.h"

static void print_limits(const struct program *program, uint32_t threads)
{
    size_t buffer = machine_memory_buffer(threads);
    json_t *object = bench_line_new(program->context, "limits", threads);
    json_t *fma = json_object();
    for (size_t i = 0; machine_peak_vectors(i); i++)
        bench_line_real(fma, machine_peak_vectors(i), machine_peak_fma(i, threads));
    json_object_set_new(object, "fma_gflops", fma);
    json_t *bf16 = json_object();
    for (size_t i = 0; machine_bf16_isa(i); i++)
        bench_line_real(bf16, machine_bf16_isa(i), machine_bf16_peak(i, threads));
    json_object_set_new(object, "bf16_gflops", bf16);
    bench_line_real(object, "blas_gflops", machine_peak_blas(threads));
    bench_line_real(object, "read_gib_s", machine_memory_read(threads, buffer));
    bench_line_real(object, "triad_gib_s", machine_memory_triad(threads, buffer));
    bench_line_real(object, "buffer_mib", (double)buffer / (1 << 20));
    bench_line_print(object);
}

/* Returns the number of threads to measure after `threads`; `most` is the last one. */
static uint32_t next_count(uint32_t threads, uint32_t most)
{
    uint32_t next = threads < 4 ? threads + 1 : 2 * threads;
    return threads < most && next > most ? most : next;
}

void bench_limits(const struct program *program)
{
    uint32_t most = svit_context_threads(program->context);
    for (uint32_t threads = 1; threads <= most; threads = next_count(threads, most))
        print_limits(program, threads);
}
