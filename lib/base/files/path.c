/* Paths of POSIX. */
#include "base/files/path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool sv_path_is_separator(char character)
{
    return character == '/';
}

const char *sv_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool sv_path_is_absolute(const char *path)
{
    return path[0] == '/';
}

bool sv_path_is_name(const char *text)
{
    return *text && !strchr(text, '/');
}

/* A folder outside of the process's root, of which Linux tells no absolute path, is ENOENT, as one
 * that has been removed. */
int sv_working_folder(char out[SV_PATH_MAX])
{
    if (!getcwd(out, SV_PATH_MAX))
        return errno == ERANGE ? ENAMETOOLONG : errno;
    return out[0] == '/' ? 0 : ENOENT;
}
