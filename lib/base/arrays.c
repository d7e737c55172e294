/* Arrays that are freed together. */
#include "base/arrays.h"

#include "base/status.h"

#include <string.h>

/* The arrays are a list, so that there is no limit which a new one could exceed. */
struct sv_array {
    sv_array *before; /* the one that was added before; NULL: this is the first */
    void *memory;     /* NULL: there was none */
    size_t bytes;
};

svit_status sv_arrays_add(sv_arrays *arrays, void *out, size_t rows, size_t row_bytes,
                          const char *what, svit_error *err)
{
    sv_array *array;
    SVIT_TRY(sv_allocate_array(arrays->allocator, (void **)&array, 1, sizeof *array, what, err));
    array->before = arrays->last;
    arrays->last = array;
    SVIT_TRY(sv_allocate_array(arrays->allocator, &array->memory, rows, row_bytes, what, err));
    array->bytes = rows * row_bytes;
    memcpy(out, &array->memory, sizeof array->memory);
    return SVIT_OK;
}

void sv_arrays_free(sv_arrays *arrays)
{
    while (arrays->last) {
        sv_array *array = arrays->last;
        arrays->last = array->before;
        sv_release(arrays->allocator, array->memory, array->bytes);
        sv_release(arrays->allocator, array, sizeof *array);
    }
}
