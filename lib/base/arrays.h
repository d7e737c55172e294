/* Arrays that are freed together. */
#ifndef SV_ARRAYS_H
#define SV_ARRAYS_H

#include "base/memory.h"

/* One of the arrays. */
typedef struct sv_array sv_array;

typedef struct sv_arrays {
    const sv_allocator *allocator;
    sv_array *last; /* that was added; NULL: there are none */
} sv_arrays;

/* Allocates [rows, row_bytes], all zero, and writes its address to the pointer at `out`.
 * SVIT_E_MEMORY, with a message that names `what`. */
svit_status sv_arrays_add(sv_arrays *arrays, void *out, size_t rows, size_t row_bytes,
                          const char *what, svit_error *err);

/* Frees the arrays; none are left. */
void sv_arrays_free(sv_arrays *arrays);

#endif
