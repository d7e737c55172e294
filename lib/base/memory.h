/* The one door to the heap. Memory comes from the caller's allocator where there is one. */
#ifndef SV_MEMORY_H
#define SV_MEMORY_H

#include <shiftvit/allocator.h>
#include <shiftvit/status.h>

enum { SV_ALIGNMENT = 64 };

typedef struct sv_allocator {
    svit_allocate_function allocate;
    svit_release_function release;
    void *user;
} sv_allocator;

/* The C library's, as an sv_allocator. */
sv_allocator sv_allocator_default(void);

/* `bytes` at SV_ALIGNMENT, not cleared; NULL where there is none, and for 0 bytes a pointer that
 * must be released too. `bytes` at release is what was asked for. */
void *sv_allocate(const sv_allocator *allocator, size_t bytes);
void sv_release(const sv_allocator *allocator, void *memory, size_t bytes);

/* count * size bytes, cleared; fails, naming `what`, where they overflow or there are none. */
svit_status sv_allocate_array(const sv_allocator *allocator, void **out, size_t count, size_t size,
                              const char *what, svit_error *err);

/* A copy of a string, to be released with strlen + 1 bytes (sv_release_text). NULL where there is
 * no memory. */
char *sv_copy_text(const sv_allocator *allocator, const char *text);
void sv_release_text(const sv_allocator *allocator, char *text);

#endif
