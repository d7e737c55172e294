/* Arrays that are freed together. */
#ifndef SV_ARRAYS_H
#define SV_ARRAYS_H

#include "base/memory.h"

typedef struct sv_arrays {
    const sv_allocator *allocator;
    struct {
        void *memory;
        size_t bytes;
    } list[10];
    size_t count;
} sv_arrays;

/* Allocates [rows, row_bytes], all zero, and writes its address to the pointer at `out`. */
svit_status sv_arrays_add(sv_arrays *arrays, void *out, size_t rows, size_t row_bytes,
                          svit_error *err);

/* Frees the arrays; none are left. */
void sv_arrays_free(sv_arrays *arrays);

#endif
