/* Paths of POSIX. */
#include "base/files/path.h"

#include <string.h>

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
