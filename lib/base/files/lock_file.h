/* Lock files, and the folders that they lie in: what context/folder_lock.c needs of the system.
 * Codes are 0 or errno values. */
#ifndef SV_LOCK_FILE_H
#define SV_LOCK_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* A locked file, open. */
typedef intptr_t sv_lock_file;
enum { SV_NO_LOCK_FILE = -1 };

/* Opens the file at `path`, creates it unless it exists, and locks it; *out is SV_NO_LOCK_FILE if
 * that fails. EBUSY: it is locked, by another process or by this one. EAGAIN or ENOENT: the owner
 * has removed it or its folder meanwhile. On a file system without locks the file stays open
 * unlocked. If the system cannot say whether the open file is the one at `path`, the file is
 * removed if `is_new_folder`. `path` is changed during the call. */
int sv_lock_file_open(sv_lock_file *out, char *path, bool is_new_folder);

/* Unlocks and closes a file. One that is empty, as sv_lock_file_open creates it, and still lies at
 * `path`, is removed before. */
void sv_lock_file_close(sv_lock_file file, const char *path);

/* Closes a forked child's copy of a locked file, which stays locked by the parent. */
void sv_lock_file_abandon(sv_lock_file file);

/* Makes a folder whose name a power failure does not undo, and says in *made whether it did, also
 * on failure: then its name could not be flushed. `path` is changed during the call. A folder that
 * is there, or a link to one, is no failure. ENOENT: another process has just removed the folder or
 * its parent, or the system makes no folders there. */
int sv_folder_make(bool *made, char *path);

/* Removes a folder if it is empty. */
void sv_folder_remove(const char *path);

/* Says whether there is anything at `path`, be it a link that leads nowhere. A path that the system
 * takes for too long has nothing. */
int sv_path_examine(bool *exists, const char *path);

/* Removes a file, or a link. ENOENT: there is none. */
int sv_file_remove(const char *path);

#endif
