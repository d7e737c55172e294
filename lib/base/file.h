/* The one door to files. Messages name the path and the system's reason. */
#ifndef SV_FILE_H
#define SV_FILE_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

/* Reads a whole file of at most `limit` bytes into memory of *bytes + 1 bytes, NUL-terminated; the
 * caller releases it with that size. SVIT_E_FORMAT where it is larger. */
svit_status sv_file_read(void **data, size_t *bytes, const sv_allocator *allocator,
                         const char *path, size_t limit, svit_error *err);

/* A regular file open for reading at any offset. A folder, FIFO, socket or device is SVIT_E_IO, at
 * once. */
typedef struct sv_file sv_file;
svit_status sv_file_open(sv_file **out, const sv_allocator *allocator, const char *path,
                         svit_error *err);
void sv_file_close(const sv_allocator *allocator, sv_file *file);
uint64_t sv_file_size(const sv_file *file);
int sv_file_descriptor(const sv_file *file); /* the file's own, closed with it */
svit_status sv_file_read_at(sv_file *file, uint64_t offset, void *data, size_t bytes,
                            svit_error *err);

/* A replacement of `path` in the making: a temporary file beside it, of a name that no other
 * replacement in progress has, with the permissions of the file that it replaces. Commit flushes
 * it to disk, renames it over `path` and flushes the folder; where only the last of these fails,
 * the new file is in place and the status is SVIT_E_IO. Both commit and abandon free it. */
typedef struct sv_replacement sv_replacement;
svit_status sv_replacement_begin(sv_replacement **out, const sv_allocator *allocator,
                                 const char *path, svit_error *err);
svit_status sv_replacement_write(sv_replacement *replacement, const void *data, size_t bytes,
                                 svit_error *err);
svit_status sv_replacement_commit(const sv_allocator *allocator, sv_replacement *replacement,
                                  svit_error *err);
void sv_replacement_abandon(const sv_allocator *allocator, sv_replacement *replacement);

/* The names in a folder, "." and ".." left out, in byte order; `folders` tells which are folders
 * (symbolic links followed). Released by sv_listing_free. */
typedef struct sv_listing {
    char **names;
    bool *folders;
    size_t count;
    size_t capacity;
} sv_listing;
svit_status sv_folder_list(sv_listing *out, const sv_allocator *allocator, const char *path,
                           svit_error *err);
void sv_listing_free(const sv_allocator *allocator, sv_listing *listing);

#endif
