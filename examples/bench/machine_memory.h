/* Measures the bandwidth of the memory. */
#ifndef EXAMPLE_MACHINE_MEMORY_H
#define EXAMPLE_MACHINE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of each thread's buffer: 256 MiB, or more until all buffers together are four
 * times the last-level cache, but together at most a quarter of the free memory. */
size_t machine_memory_buffer(uint32_t threads);

/* Returns the read bandwidth in GiB/s of `threads` threads at once, each with its own buffer of
 * `buffer` bytes. The best of a few short rounds counts. */
double machine_memory_read(uint32_t threads, size_t buffer);

/* Returns the bandwidth in GiB/s of a = b + 3 c over thirds of each buffer, as
 * machine_memory_read. Each of the three streams counts once, without the read of a cache line
 * before it is written. */
double machine_memory_triad(uint32_t threads, size_t buffer);

#endif
