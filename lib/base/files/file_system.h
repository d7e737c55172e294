/* What file_calls.c has of an open file, and the calls of the system that it needs: file.c has
 * those of POSIX, windows/file.c those of Windows. Nothing else includes this. */
#ifndef SV_FILE_SYSTEM_H
#define SV_FILE_SYSTEM_H

#include "base/files/file.h"

struct sv_file {
    intptr_t system; /* the descriptor, or the HANDLE of Windows */
    uint64_t size;
    int64_t modified;
    char *path;
};

/* Opens a regular file and sets everything but `path`. */
svit_status sv_file_system_open(sv_file *out, const char *path, svit_error *err);
void sv_file_system_close(const sv_file *file);

#endif
