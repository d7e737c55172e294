/* A folder that is written, which must not be a class of the data that is read. */
#include "outputs/out_folder.h"

#include "data/split_folders.h"
#include "program/path_text.h"

#include <stdlib.h>
#include <string.h>

/* Returns the absolute path of the part of `path` that exists, NULL without memory. *whole is 1 if
 * all of it does. */
static char *existing_part(const char *path, int *whole)
{
    char *part = strdup(path), *real = NULL;
    *whole = 1;
    while (part && !(real = realpath(part, NULL))) {
        char *slash = strrchr(part, '/');
        *whole = 0;
        if (slash && slash != part) {
            *slash = '\0';
        } else {
            free(part);
            part = strdup(slash ? "/" : ".");
            real = part ? realpath(part, NULL) : NULL;
            break;
        }
    }
    free(part);
    return real;
}

static svit_status check(struct program *self, const char *folder, const char *out_name,
                         const char *out, int may_be_it)
{
    int whole, is_there;
    char *inner = existing_part(out, &whole), *outer = existing_part(folder, &is_there);
    const size_t length = outer && strcmp(outer, "/") != 0 ? strlen(outer) : 0;
    const int lies_in = inner && outer && is_there && strncmp(inner, outer, length) == 0 &&
                        (inner[length] == '/' || (inner[length] == '\0' && !(whole && may_be_it)));
    const int is_it = lies_in && whole && inner[length] == '\0';
    free(outer);
    free(inner);
    return lies_in ? program_fail(self, SVIT_E_ARGUMENT,
                                  "%s: '%s' %s '%s', the folder of the data, whose subfolders are "
                                  "its classes; another folder, elsewhere, is accepted",
                                  out_name, out, is_it ? "is" : "lies in", folder)
                   : SVIT_OK;
}

/* Checks each folder that has classes: the splits, or the folder itself. */
static svit_status check_splits(struct program *self, const char *folder,
                                const split_folders *found, const char *out_name, const char *out,
                                int may_be_it)
{
    char path[PATH_CAPACITY];
    if (!found->name[SVIT_SPLIT_TRAIN])
        return check(self, folder, out_name, out, may_be_it);
    for (size_t split = 0; split < 3; split++) {
        if (!found->name[split])
            continue;
        TRY(path_join(self, path, folder, found->name[split]));
        TRY(check(self, path, out_name, out, may_be_it));
    }
    return SVIT_OK;
}

svit_status out_folder_check(struct program *self, const data_option *data, const char *out_name,
                             const char *out, int may_be_it)
{
    const char *folder = data_spec_folder(data->spec);
    const int quiet = self->quiet;
    split_folders found;
    if (!folder)
        return SVIT_OK;
    self->quiet = 1; /* what is left out is said when the data are opened */
    svit_status status = split_folders_find(&found, self, folder);
    self->quiet = quiet;
    if (status == SVIT_OK)
        status = check_splits(self, folder, &found, out_name, out, may_be_it);
    split_folders_free(&found);
    return status;
}
