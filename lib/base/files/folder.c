/* Reads the entries of folders through the calls of POSIX. */
#include "base/files/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Says whether an entry is a folder or leads to one. Only links, and file systems that do not say
 * what an entry is, need a call of the system. A link that leads nowhere is no folder. */
static svit_status examine_entry(bool *is_folder, DIR *folder, const char *path,
                                 const struct dirent *entry, svit_error *err)
{
    struct stat state;
    *is_folder = entry->d_type == DT_DIR;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return SVIT_OK;
    if (fstatat(dirfd(folder), entry->d_name, &state, 0) == 0)
        *is_folder = S_ISDIR(state.st_mode);
    else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        return sv_fail_io(err, "list", path);
    return SVIT_OK;
}

static svit_status each_entry(DIR *folder, const char *path, sv_entry_function take, void *user,
                              svit_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry)
            return errno ? sv_fail_io(err, "list", path) : SVIT_OK;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        bool is_folder;
        SVIT_TRY(examine_entry(&is_folder, folder, path, entry, err));
        SVIT_TRY(take(user, entry->d_name, is_folder, err));
    }
}

svit_status sv_folder_each(const char *path, sv_entry_function take, void *user, svit_error *err)
{
    DIR *folder = opendir(path);
    if (!folder)
        return sv_fail_io(err, "open the folder", path);
    svit_status status = each_entry(folder, path, take, user, err);
    closedir(folder);
    return status;
}

svit_status sv_folder_identify(sv_folder_id *out, const char *path, svit_error *err)
{
    struct stat state;
    if (stat(path, &state) != 0)
        return sv_fail_io(err, "examine", path);
    *out = (sv_folder_id){(uint64_t)state.st_dev, (uint64_t)state.st_ino};
    return SVIT_OK;
}
