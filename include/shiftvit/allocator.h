/* The memory functions that a program may supply to a context. */
#ifndef SHIFTVIT_ALLOCATOR_H
#define SHIFTVIT_ALLOCATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns `bytes` bytes of memory aligned to `alignment`, a power of two of at most 64 bytes, or
 * NULL if there is not enough memory. The contents may be arbitrary. `user` is the program's own
 * pointer from the configuration. The library calls it from any thread. `user` is used until the
 * last handle of the context is freed. The function must not call the library, which may hold a
 * lock meanwhile. It must not throw, nor leave by longjmp. */
typedef void *(*svit_allocate_function)(void *user, size_t bytes, size_t alignment);

/* Releases memory of the svit_allocate_function; `bytes` is the size that was requested. The
 * library calls it from any thread. Its `user` and its limits are those of
 * svit_allocate_function. */
typedef void (*svit_release_function)(void *user, void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
