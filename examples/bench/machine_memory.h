/* How fast this machine's memory is. */
#ifndef EXAMPLE_MACHINE_MEMORY_H
#define EXAMPLE_MACHINE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of each thread's buffer: 256 MiB, or more, until all of them together are four times the
 * last-level cache; but together no more than a quarter of the memory that is free. */
size_t machine_memory_buffer(uint32_t threads);

/* Bytes a second, in GiB/s, of `threads` threads at once, each over a buffer of its own of `buffer`
 * bytes: reading it, and a = b + 3 c over thirds of it, its three streams counted once each (what a
 * cache reads of a before it is written is not). The best of a few short looks. */
double machine_memory_read(uint32_t threads, size_t buffer);
double machine_memory_triad(uint32_t threads, size_t buffer);

#endif
