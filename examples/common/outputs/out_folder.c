/* A folder that is written, which must not be a class of the data that is read. */
#include "outputs/out_folder.h"

#include "data/class_links.h"
#include "data/split_folders.h"

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

/* Fails if a link among the classes of `folder` leads to where `inner` lies, the real path of
 * `out`. */
static svit_status check_links(struct program *self, const char *folder, const char *inner,
                               const char *out_name, const char *out)
{
    char link[PATH_CAPACITY];
    TRY(class_link_find(link, self, folder, inner));
    return link[0] ? program_fail(self, SVIT_E_ARGUMENT,
                                  "%s: '%s' is, or lies in, the folder to which the link '%s' "
                                  "leads, whose images are those of a class; another folder, "
                                  "elsewhere, is accepted",
                                  out_name, out, link)
                   : SVIT_OK;
}

static svit_status check(struct program *self, const char *folder, const char *out_name,
                         const char *out, int may_be_it)
{
    int whole, is_there;
    char *inner = existing_part(out, &whole), *outer = existing_part(folder, &is_there);
    const int is_known = inner && outer && is_there;
    const int lies_in = is_known && path_lies_in(inner, outer);
    const int is_it = lies_in && whole && strcmp(inner, outer) == 0;
    svit_status status = SVIT_OK;
    if (lies_in && !(is_it && may_be_it))
        status = program_fail(self, SVIT_E_ARGUMENT,
                              "%s: '%s' %s '%s', the folder of the data, whose subfolders are its "
                              "classes; another folder, elsewhere, is accepted",
                              out_name, out, is_it ? "is" : "lies in", folder);
    else if (is_known && !lies_in)
        status = check_links(self, folder, inner, out_name, out);
    free(outer);
    free(inner);
    return status;
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
