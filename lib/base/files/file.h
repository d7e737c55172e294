/* Reading, replacing and listing files. No file outside of this folder opens files. Messages name
 * the path and the system's reason. Paths are in UTF-8 where the system has an encoding of its
 * own. */
#ifndef SV_FILE_H
#define SV_FILE_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* SVIT_E_IO with a message of what could not be done ("write", "open the folder"), the path and the
 * system's reason, errno; SVIT_E_MEMORY if that is ENOMEM. */
svit_status sv_fail_io(svit_error *err, const char *action, const char *path);

/* Whether there is nothing at `path`. False for a link that leads nowhere, and if the system cannot
 * say so: an optional file that it cannot read is not taken for one that is not there. */
bool sv_is_absent(const char *path);

/* Whether `path` leads to a folder. */
bool sv_is_folder(const char *path);

/* Whether `path` is a symbolic link to what does not exist. Files are not written there, and
 * folders are not made: the system's calls differ in what they would do. */
bool sv_is_dangling(const char *path);

/* SVIT_E_IO with a message of what could not be done, the link and its target. */
svit_status sv_fail_dangling(svit_error *err, const char *action, const char *path);

/* Reads a whole file into *data, allocates *bytes + 1 bytes for it and ends it with a NUL byte. The
 * caller releases *data with that size. SVIT_E_FORMAT if the file has more than `limit` bytes. */
svit_status sv_file_read(void **data, size_t *bytes, const sv_allocator *allocator,
                         const char *path, size_t limit, svit_error *err);

/* A regular file, open for reading at any offset. */
typedef struct sv_file sv_file;

/* Opens a file. A folder, FIFO, socket or device is SVIT_E_IO, without waiting. */
svit_status sv_file_open(sv_file **out, const sv_allocator *allocator, const char *path,
                         svit_error *err);
void sv_file_close(const sv_allocator *allocator, sv_file *file);

/* The size in bytes when the file was opened. */
uint64_t sv_file_size(const sv_file *file);

/* The time of the last modification when the file was opened, in nanoseconds since 1970. */
int64_t sv_file_modified(const sv_file *file);

/* Writes the size and the time of the last modification that an open file has now. SVIT_E_IO. */
svit_status sv_file_state(const sv_file *file, uint64_t *size, int64_t *modified, svit_error *err);

/* The path by which the file was opened. */
const char *sv_file_path(const sv_file *file);

/* Reads `bytes` bytes from `offset` on. SVIT_E_FORMAT if the file ends before offset + bytes. Any
 * thread may call it. */
svit_status sv_file_read_at(sv_file *file, uint64_t offset, void *data, size_t bytes,
                            svit_error *err);

/* replace.c: the atomic replacement of a file: a temporary file in the same folder, renamed at the
 * end. Several replacements of one path may be in progress; each has its own temporary file. */
typedef struct sv_replacement sv_replacement;

/* Creates the temporary file with the permissions of the file that it will replace, if there is
 * one. Its name is hidden and has a hash of the file's name; no other file is touched. A symbolic
 * link at `path` is followed; SVIT_E_IO if it leads nowhere. */
svit_status sv_replacement_begin(sv_replacement **out, const sv_allocator *allocator,
                                 const char *path, svit_error *err);

/* Appends to the temporary file. */
svit_status sv_replacement_write(sv_replacement *replacement, const void *data, size_t bytes,
                                 svit_error *err);

/* Flushes the temporary file to disk, renames it over `path`, flushes the folder, and frees the
 * replacement. SVIT_E_IO. If only the flush of the folder fails, the new file is in place. */
svit_status sv_replacement_commit(const sv_allocator *allocator, sv_replacement *replacement,
                                  svit_error *err);

/* Removes the temporary file and frees the replacement. NULL is allowed. */
void sv_replacement_abandon(const sv_allocator *allocator, sv_replacement *replacement);

/* Commits after `status` SVIT_OK, otherwise abandons. Returns the first failure. */
svit_status sv_replacement_end(const sv_allocator *allocator, sv_replacement *replacement,
                               svit_status status, svit_error *err);

/* Replaces a whole file so, for the calls of a context, whose memory its allocator provides. */
svit_status sv_file_replace(const sv_allocator *allocator, const char *path, const void *data,
                            size_t bytes, svit_error *err);

/* Appends to a file, or creates it, and flushes it to disk. If that fails, the file gets the size
 * that it had, as far as the system allows it. A symbolic link is followed; SVIT_E_IO if it leads
 * nowhere. */
svit_status sv_file_append(const char *path, const void *data, size_t bytes, svit_error *err);

/* listing.c: a list of names, such as the entries of a folder. All zero: empty. Besides the
 * characters of a name it takes 2 bytes and a pointer, and twice that at most while it grows. */
typedef struct sv_listing {
    char **names; /* [capacity] in `texts`; the byte before each name says whether it is a folder */
    size_t count, capacity;
    struct sv_text_block *texts; /* the blocks of memory that hold the names */
} sv_listing;

/* Lists a folder in byte order of the names, without "." and "..". Released by sv_listing_free. */
svit_status sv_folder_list(sv_listing *out, const sv_allocator *allocator, const char *path,
                           svit_error *err);
void sv_listing_free(const sv_allocator *allocator, sv_listing *listing);

/* Whether entry `i` is a folder or a symbolic link to one. */
bool sv_listing_is_folder(const sv_listing *listing, size_t i);

/* Appends the entry "folder/name", or "name" if `folder` is "". SVIT_E_MEMORY. */
svit_status sv_listing_add(sv_listing *listing, const sv_allocator *allocator, const char *folder,
                           const char *name, bool is_folder, svit_error *err);

/* Brings the entries from `first` on into byte order of their names. */
void sv_listing_sort(sv_listing *listing, size_t first);

/* folder.c: takes an entry of a folder. A failure ends the listing. */
typedef svit_status (*sv_entry_function)(void *user, const char *name, bool is_folder,
                                         svit_error *err);

/* Calls `take` for each entry of a folder but "." and "..", in the order of the file system. */
svit_status sv_folder_each(const char *path, sv_entry_function take, void *user, svit_error *err);

/* What tells a folder apart from all others, whatever path leads to it. */
typedef struct sv_folder_id {
    uint64_t device, number;
} sv_folder_id;

/* Finds the folder that `path` leads to, through symbolic links. SVIT_E_IO. */
svit_status sv_folder_identify(sv_folder_id *out, const char *path, svit_error *err);

#endif
