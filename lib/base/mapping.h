/* A file's bytes as memory: pages that are read when they are touched, and may be dropped. */
#ifndef SV_MAPPING_H
#define SV_MAPPING_H

#include "base/file.h"

/* All zero: no file. */
typedef struct sv_mapping {
    char *base; /* the file's first byte */
    size_t bytes;
} sv_mapping;

/* Maps a whole file, which may be closed then. What is only read stays the system's and is shared
 * with other processes; a write copies the page, for this mapping alone, and never reaches the
 * file. SVIT_E_IO. */
svit_status sv_mapping_create(sv_mapping *out, const sv_file *file, svit_error *err);

/* Ends a mapping; does nothing where there is none. */
void sv_mapping_free(sv_mapping *pages);

/* Gives back the pages that lie wholly within the `bytes` bytes at `from`. Touched again, they are
 * read from the file again: what was written to them is lost. */
void sv_mapping_discard(const void *from, size_t bytes);

/* Copies the pages that hold the `bytes` bytes at `from`, as writing to each would. */
void sv_mapping_prefault(void *from, size_t bytes);

#endif
