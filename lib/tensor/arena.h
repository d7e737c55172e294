/* A planned arena: the same function lays memory out twice, once to measure it and once to use it.
 */
#ifndef SV_ARENA_H
#define SV_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sv_arena {
    char *base;   /* NULL: only measure */
    size_t bytes; /* taken so far, a multiple of 64 */
    bool overflow;
} sv_arena;

/* rows * columns things of `size` bytes, 64-byte aligned; NULL while measuring. */
void *sv_arena_take(sv_arena *arena, size_t rows, size_t columns, size_t size);

#endif
