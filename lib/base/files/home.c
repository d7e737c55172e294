/* Where relative paths begin. */
#include "base/files/file.h"
#include "base/files/path.h"

#include <errno.h>
#include <string.h>

svit_status sv_path_home(char **out, const sv_allocator *allocator, const char *path,
                         svit_error *err)
{
    char folder[SV_PATH_MAX + 1] = "";
    if (*path && !sv_path_is_absolute(path)) {
        errno = sv_working_folder(folder);
        if (errno)
            return sv_fail_io(err, "find the working folder of", path);
        const size_t length = strlen(folder);
        if (!sv_path_is_separator(folder[length - 1]))
            memcpy(folder + length, "/", sizeof "/");
    }
    *out = sv_copy_text(allocator, folder);
    return *out ? SVIT_OK : sv_fail_memory(err, strlen(folder) + 1, "a folder's name");
}

svit_status sv_path_from(char **out, const sv_allocator *allocator, const char *home,
                         const char *path, svit_error *err)
{
    const size_t front = sv_path_is_absolute(path) ? 0 : strlen(home), back = strlen(path) + 1;
    char *joined = sv_allocate(allocator, front + back);
    if (!joined)
        return sv_fail_memory(err, front + back, "a file's name");
    memcpy(joined, home, front);
    memcpy(joined + front, path, back);
    *out = joined;
    return SVIT_OK;
}
