/* Where memory comes from: the functions that a program may give to a context. */
#ifndef SHIFTVIT_ALLOCATOR_H
#define SHIFTVIT_ALLOCATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `alignment` is a power of two, 64 at the most; NULL says that there is no memory. Both functions
 * may be called from any thread. `bytes` at release is what was asked for. */
typedef void *(*svit_allocate_function)(void *user, size_t bytes, size_t alignment);
typedef void (*svit_release_function)(void *user, void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
