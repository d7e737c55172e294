/* Heap memory, from the caller's allocator if the context has one. No other file calls malloc. */
#ifndef SV_MEMORY_H
#define SV_MEMORY_H

#include <shiftvit/allocator.h>
#include <shiftvit/status.h>

enum { SV_ALIGNMENT = 64 }; /* bytes: a cache line, and an AVX-512 register */

typedef struct sv_allocator {
    svit_allocate_function allocate;
    svit_release_function release;
    void *user;
} sv_allocator;

/* The allocator of the C library. */
sv_allocator sv_allocator_default(void);

/* Allocates `bytes` bytes, not cleared, aligned to SV_ALIGNMENT. For 0 bytes it returns a pointer
 * that must be released, too. NULL if there is no memory. */
void *sv_allocate(const sv_allocator *allocator, size_t bytes);

/* Releases memory. `bytes` is the size that was allocated. NULL is allowed. */
void sv_release(const sv_allocator *allocator, void *memory, size_t bytes);

/* Allocates count * size bytes, not cleared, into *out. SVIT_E_MEMORY, with a message that names
 * `what`, if the product overflows or there is no memory. It serves scratch of workers: the system
 * places a page of memory near the CPU that writes to it first. */
svit_status sv_allocate_uncleared(const sv_allocator *allocator, void **out, size_t count,
                                  size_t size, const char *what, svit_error *err);

/* The same, cleared by the calling thread. Large arrays that workers use: sv_pool_allocate. */
svit_status sv_allocate_array(const sv_allocator *allocator, void **out, size_t count, size_t size,
                              const char *what, svit_error *err);

/* Moves data[used], which has *capacity bytes and is NULL at first, to about twice as many bytes as
 * `needed`, so that appending takes linear time. Returns the new place; NULL, with nothing changed,
 * if there is no memory. */
void *sv_enlarge(const sv_allocator *allocator, void *data, size_t used, size_t *capacity,
                 size_t needed);

/* Copies a string. Release the copy with sv_release_text. NULL if there is no memory. */
char *sv_copy_text(const sv_allocator *allocator, const char *text);

/* Releases a copied string. NULL is allowed. */
void sv_release_text(const sv_allocator *allocator, char *text);

#endif
