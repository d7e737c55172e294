/* Files mapped into memory: pages that are read on first access and can be discarded again. */
#ifndef SV_MAPPING_H
#define SV_MAPPING_H

#include "base/files/file.h"

/* A mapped file. All zero: none. */
typedef struct sv_mapping {
    char *base; /* the file's first byte */
    size_t bytes;
} sv_mapping;

/* Maps a whole file privately. The file may be closed afterwards. Pages that are only read are
 * shared with other processes; a write copies the page for this mapping and never reaches the file.
 * SVIT_E_IO. */
svit_status sv_mapping_create(sv_mapping *out, const sv_file *file, svit_error *err);

/* Ends a mapping and clears *mapping. Does nothing if there is none. */
void sv_mapping_free(sv_mapping *mapping);

/* Discards the pages that lie entirely in the `bytes` bytes at `from`. The next access reads them
 * from the file again, so what was written to them may be lost. */
void sv_mapping_discard(const void *from, size_t bytes);

/* Makes private copies of the pages that contain the `bytes` bytes at `from`, as a write to each
 * page would, so that later accesses do not fault. */
void sv_mapping_prefault(void *from, size_t bytes);

#endif
