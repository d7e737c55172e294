/* The open files of a dataset of shards. Any number of threads may use them. In a forked child
 * every call opens a file of its own, since another thread may have held the lock. */
#ifndef SV_SHARD_FILES_H
#define SV_SHARD_FILES_H

#include "base/files/file.h"

enum { SV_SHARD_FILES = 64 }; /* files that stay open; the least recently used is closed */

typedef struct sv_shard_files sv_shard_files;

/* `home` is where relative paths begin, by sv_path_home; it must outlive the files.
 * SVIT_E_MEMORY. */
svit_status sv_shard_files_create(sv_shard_files **out, const sv_allocator *allocator,
                                  const char *home, svit_error *err);

/* Closes all. NULL is allowed. */
void sv_shard_files_free(sv_shard_files *files);

/* A file that is in use. */
typedef struct sv_shard_file {
    sv_file *file;
    int slot; /* its slot among the files that stay open; -1: none, so it is closed when it is given
                 back */
} sv_shard_file;

/* Returns the file of shard number `shard`, whose path is `path`. The caller gives it back by
 * sv_shard_files_give. SVIT_E_IO, SVIT_E_MEMORY. */
svit_status sv_shard_files_take(sv_shard_file *out, sv_shard_files *files, size_t shard,
                                const char *path, svit_error *err);
void sv_shard_files_give(sv_shard_files *files, const sv_shard_file *taken);

#endif
