/* Links by which the folders of classes have images of elsewhere. */
#include "data/class_links.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int path_lies_in(const char *inner, const char *outer)
{
    const size_t length = strcmp(outer, "/") != 0 ? strlen(outer) : 0;
    return strncmp(inner, outer, length) == 0 && (inner[length] == '/' || inner[length] == '\0');
}

typedef struct link_search {
    struct program *program;
    const char *inner; /* what is looked for */
    char *root;        /* the real path of the folder */
    char **targets;    /* [count] the real paths to which links have led so far */
    size_t count;
    char *link; /* [PATH_CAPACITY] the link that was found */
} link_search;

static int is_link(const char *path)
{
#ifdef S_ISLNK
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
#else
    (void)path;
    return 0;
#endif
}

/* Whether an entry can be a folder or a link to one. Most entries are files, and most file systems
 * say so in the listing. */
static int may_be_folder(const struct dirent *entry)
{
#ifdef DT_REG
    if (entry->d_type == DT_REG)
        return 0;
#endif
    return entry->d_name[0] != '.';
}

/* Notes a target, of which it takes ownership. *is_new is 0 if another link has led there. */
static svit_status note_target(link_search *self, char *real, int *is_new)
{
    *is_new = 1;
    for (size_t i = 0; i < self->count; i++)
        *is_new &= strcmp(self->targets[i], real) != 0;
    char **more = *is_new ? realloc(self->targets, (self->count + 1) * sizeof *more) : NULL;
    if (more) {
        self->targets = more;
        self->targets[self->count++] = real;
        return SVIT_OK;
    }
    free(real);
    return *is_new ? program_fail(self->program, SVIT_E_MEMORY, "no memory for links") : SVIT_OK;
}

/* Takes a link to a folder. *goes_on is 1 if the library reads what is there: it leaves out a
 * link to a folder that contains the classes. Where another link has led, there is nothing new. */
static svit_status take_link(link_search *self, const char *path, int *goes_on)
{
    char *real = realpath(path, NULL);
    *goes_on = 0;
    if (!real || path_lies_in(self->root, real)) {
        free(real);
        return SVIT_OK;
    }
    if (path_lies_in(self->inner, real))
        snprintf(self->link, PATH_CAPACITY, "%s", path);
    return note_target(self, real, goes_on);
}

/* Searches a folder, `depth` folders below the root, for links. The library reads folders up to 32
 * below a class, which is one below the root. */
static svit_status search(link_search *self, const char *folder, int depth)
{
    enum { DEPTH = 33 }; /* of the deepest that is read */
    char path[PATH_CAPACITY];
    svit_status status = SVIT_OK;
    const struct dirent *entry;
    DIR *entries = depth < DEPTH ? opendir(folder) : NULL;
    if (!entries)
        return SVIT_OK; /* why it cannot be read is said when the data are opened */
    while (status == SVIT_OK && !self->link[0] && (entry = readdir(entries))) {
        int goes_on = 1;
        if (!may_be_folder(entry))
            continue;
        status = path_join(self->program, path, folder, entry->d_name);
        if (status != SVIT_OK || !path_is_folder(path))
            continue;
        if (is_link(path))
            status = take_link(self, path, &goes_on);
        if (status == SVIT_OK && goes_on)
            status = search(self, path, depth + 1);
    }
    closedir(entries);
    return status;
}

svit_status class_link_find(char *link, struct program *self, const char *folder, const char *inner)
{
    link_search all = {
        .program = self, .inner = inner, .root = realpath(folder, NULL), .link = link};
    link[0] = '\0';
    svit_status status = all.root ? search(&all, folder, 0) : SVIT_OK;
    for (size_t i = 0; i < all.count; i++)
        free(all.targets[i]);
    free(all.targets);
    free(all.root);
    return status;
}
