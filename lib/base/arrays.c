/* Arrays that are freed together. */
#include "base/arrays.h"

#include "base/status.h"

#include <assert.h>
#include <string.h>

svit_status sv_arrays_add(sv_arrays *arrays, void *out, size_t rows, size_t row_bytes,
                          svit_error *err)
{
    assert(arrays->count < sizeof arrays->list / sizeof *arrays->list);
    void **memory = &arrays->list[arrays->count].memory;
    SVIT_TRY(sv_allocate_array(arrays->allocator, memory, rows, row_bytes, "the arrays of a batch",
                               err));
    arrays->list[arrays->count++].bytes = rows * row_bytes;
    memcpy(out, memory, sizeof *memory);
    return SVIT_OK;
}

void sv_arrays_free(sv_arrays *arrays)
{
    for (; arrays->count > 0; arrays->count--)
        sv_release(arrays->allocator, arrays->list[arrays->count - 1].memory,
                   arrays->list[arrays->count - 1].bytes);
}
