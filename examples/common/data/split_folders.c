/* Finds the subfolders of a data set that are its splits. */
#include "data/split_folders.h"

#include "program/path_text.h"
#include "program/shown.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NO_SPLIT = -1 };

/* Whether a name is a split's word, alone or with "set" behind it: "Test", "test_set". */
static int is_word(const char *name, const char *word)
{
    const size_t length = strlen(word);
    if (strncasecmp(name, word, length) != 0)
        return 0;
    name += length;
    if (*name == '_' || *name == '-')
        return strcasecmp(name + 1, "set") == 0;
    return *name == '\0' || strcasecmp(name, "set") == 0;
}

/* The split that a subfolder of this name holds. */
static int32_t split_of(const char *name)
{
    static const struct {
        const char *name;
        int32_t split;
    } NAMES[] = {
        {"train", SVIT_SPLIT_TRAIN},
        {"training", SVIT_SPLIT_TRAIN},
        {"val", SVIT_SPLIT_VALIDATION},
        {"valid", SVIT_SPLIT_VALIDATION},
        {"validation", SVIT_SPLIT_VALIDATION},
        {"dev", SVIT_SPLIT_VALIDATION},
        {"test", SVIT_SPLIT_TEST},
        {"testing", SVIT_SPLIT_TEST},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (is_word(name, NAMES[i].name))
            return NAMES[i].split;
    return NO_SPLIT;
}

int split_folders_hide(const char *const *names, size_t count)
{
    size_t splits[3] = {0, 0, 0}, others = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t split = split_of(names[i]);
        if (split == NO_SPLIT)
            others++;
        else if (++splits[split] > 1)
            return 1;
    }
    return others == 0 && splits[SVIT_SPLIT_TRAIN] > 0 &&
           splits[SVIT_SPLIT_TEST] + splits[SVIT_SPLIT_VALIDATION] > 0;
}

svit_status split_folders_look(folder_contents *out, struct program *self, const char *folder,
                               const char *name)
{
    char path[PATH_CAPACITY];
    TRY(path_join(self, path, folder, name));
    *out = (folder_contents){0, 0};
    DIR *entries = opendir(path);
    if (!entries)
        return program_fail(self, SVIT_E_IO, "cannot open the folder '%s': %s", path,
                            strerror(errno));
    svit_status status = SVIT_OK;
    for (const struct dirent *entry; status == SVIT_OK && (entry = readdir(entries));) {
        char inner[PATH_CAPACITY];
        if (entry->d_name[0] == '.')
            continue;
        status = path_join(self, inner, path, entry->d_name);
        if (status == SVIT_OK && path_is_folder(inner))
            out->folders = 1;
        else if (path_is_image(entry->d_name))
            out->images = 1;
    }
    closedir(entries);
    return status;
}

/* The subfolders that are no splits. */
typedef struct others {
    size_t count;
    char first[256];
} others;

static svit_status take_subfolder(split_folders *out, others *beside, struct program *self,
                                  const char *folder, const char *name)
{
    char path[PATH_CAPACITY];
    TRY(path_join(self, path, folder, name));
    const int32_t split = split_of(name);
    if (split != NO_SPLIT && path_is_dangling(path))
        return program_fail(self, SVIT_E_IO,
                            "cannot open the folder '%s': it is a symbolic link that leads "
                            "nowhere; no link, or a link to what exists, is accepted",
                            path);
    if (!path_is_folder(path))
        return SVIT_OK;
    if (split == NO_SPLIT) {
        if (beside->count++ == 0)
            snprintf(beside->first, sizeof beside->first, "%s", name);
        return SVIT_OK;
    }
    if (out->name[split])
        return program_fail(self, SVIT_E_FORMAT, "'%s' has both %s/ and %s/; one is accepted",
                            folder, out->name[split], name);
    out->name[split] = strdup(name);
    return out->name[split] ? SVIT_OK : program_fail(self, SVIT_E_MEMORY, "no memory for a name");
}

static svit_status list_subfolders(split_folders *out, others *beside, struct program *self,
                                   const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0)
        return program_fail(self, SVIT_E_IO, "cannot open the folder '%s': %s", folder,
                            strerror(errno));
    svit_status status = SVIT_OK;
    for (int i = 0; i < count; i++) {
        if (status == SVIT_OK && entries[i]->d_name[0] != '.')
            status = take_subfolder(out, beside, self, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* Finds the split to validate or to test whose folder has subfolders and no images, so that these
 * are classes: *name is that folder's, or NULL. */
static svit_status find_classes_beside(const char **name, const split_folders *found,
                                       struct program *self, const char *folder)
{
    *name = NULL;
    for (size_t split = SVIT_SPLIT_TEST; !*name && split <= SVIT_SPLIT_VALIDATION; split++) {
        folder_contents has = {0, 0};
        if (found->name[split])
            TRY(split_folders_look(&has, self, folder, found->name[split]));
        if (has.folders && !has.images)
            *name = found->name[split];
    }
    return SVIT_OK;
}

static void note_others(const others *beside, const struct program *self, const char *folder)
{
    char shown[SHOWN_CAPACITY];
    char name[SHOWN_CAPACITY];
    if (beside->count > 0 && !self->quiet)
        fprintf(stderr,
                "%s: warning: '%s': %zu left out, such as '%s': a subfolder beside train/ is no "
                "split\n",
                option_program_name, shown_text(shown, folder), beside->count,
                shown_text(name, beside->first));
}

/* The training folder has images directly in it, so it and the folders beside it are classes. Fails
 * if all of them have the names of splits, which classes hardly do. */
static svit_status take_as_class(const split_folders *found, const others *beside,
                                 struct program *self, const char *folder)
{
    char shown[SHOWN_CAPACITY];
    const char *train = found->name[SVIT_SPLIT_TRAIN];
    const char *other = found->name[SVIT_SPLIT_VALIDATION] ? found->name[SVIT_SPLIT_VALIDATION]
                                                           : found->name[SVIT_SPLIT_TEST];
    if (other && beside->count == 0)
        return program_fail(self, SVIT_E_FORMAT,
                            "'%s/%s' is beside %s/ and has images in no folder of a class; "
                            "%s/CLASS, or a list (list:FILE.csv), is needed",
                            folder, train, other, train);
    if (!self->quiet)
        fprintf(stderr,
                "%s: warning: '%s/%s' has images directly in it and is taken as a class, not as a "
                "split\n",
                option_program_name, shown_text(shown, folder), train);
    return SVIT_OK;
}

svit_status split_folders_find(split_folders *out, struct program *self, const char *folder)
{
    others beside = {0, ""};
    folder_contents has = {0, 0};
    const char *holder = NULL;
    svit_status status = SVIT_OK;
    *out = (split_folders){{NULL, NULL, NULL}};
    TRY(list_subfolders(out, &beside, self, folder));
    TRY(find_classes_beside(&holder, out, self, folder));
    const char *train = out->name[SVIT_SPLIT_TRAIN];
    if (!train && holder)
        return program_fail(self, SVIT_E_FORMAT,
                            "'%s' has %s/ and no train/; a folder with train/, or '%s/%s' by "
                            "itself, is accepted",
                            folder, holder, folder, holder);
    if (train)
        TRY(split_folders_look(&has, self, folder, train));
    if (train && (!has.images || (has.folders && (beside.count == 0 || holder)))) {
        note_others(&beside, self, folder);
        return SVIT_OK;
    }
    if (train)
        status = take_as_class(out, &beside, self, folder);
    split_folders_free(out);
    return status;
}

void split_folders_free(split_folders *self)
{
    for (size_t split = 0; split < 3; split++) {
        free(self->name[split]);
        self->name[split] = NULL;
    }
}
