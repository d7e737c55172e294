/* An arena whose size is planned: the same sequence of sv_arena_take calls runs twice, first
 * without memory to measure the size, then to hand out addresses. Neither pass allocates. */
#ifndef SV_ARENA_H
#define SV_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sv_arena {
    char *base;    /* NULL: measure only */
    size_t bytes;  /* taken so far, a multiple of SV_ALIGNMENT */
    bool overflow; /* a size did not fit a size_t */
} sv_arena;

/* Takes rows * columns objects of `size` bytes, aligned to SV_ALIGNMENT. Returns NULL while
 * measuring. On overflow it returns NULL, sets `overflow` and takes nothing. */
void *sv_arena_take(sv_arena *arena, size_t rows, size_t columns, size_t size);

#endif
