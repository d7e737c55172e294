/* Arenas whose size is planned. */
#include "tensor/arena.h"

#include "base/memory.h"
#include "base/size.h"

void *sv_arena_take(sv_arena *arena, size_t rows, size_t columns, size_t size)
{
    size_t bytes, end, factors[] = {rows, columns, size};
    if (!sv_size_product(&bytes, factors, 3) || !sv_size_add(&bytes, bytes, SV_ALIGNMENT - 1) ||
        !sv_size_add(&end, arena->bytes, bytes / SV_ALIGNMENT * SV_ALIGNMENT)) {
        arena->overflow = true;
        return NULL;
    }
    void *memory = arena->base ? arena->base + arena->bytes : NULL;
    arena->bytes = end;
    return memory;
}
