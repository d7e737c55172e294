/* A folder of images of one class, which the library reads as a list of absolute paths. */
#include "data/image_folder.h"

#include "program/path_text.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_image(const struct dirent *entry)
{
    return path_is_image(entry->d_name);
}

/* Keeps the images among the entries: the name of a folder may have the ending of one, and the
 * curves of a training run are drawn. Returns their number; the others are freed. */
static int keep_images(struct dirent **entries, int count, const char *folder)
{
    char path[PATH_CAPACITY];
    const int is_run = path_is_run(folder);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
        const int is_curves = is_run && strcmp(name, "curves.png") == 0;
        if (is_curves || (length < PATH_CAPACITY && path_is_folder(path)))
            free(entries[i]);
        else
            entries[kept++] = entries[i];
    }
    return kept;
}

/* Writes one line of a CSV file, in which quotes are doubled. */
static void put_line(FILE *list, const char *folder, const char *name)
{
    fputc('"', list);
    for (const char *c = folder; *c; c++)
        fputs(*c == '"' ? "\"\"" : (char[]){*c, '\0'}, list);
    fputc('/', list);
    for (const char *c = name; *c; c++)
        fputs(*c == '"' ? "\"\"" : (char[]){*c, '\0'}, list);
    fputs("\",new\n", list);
}

/* The library reads the list, whose fields are UTF-8. */
static int is_utf8(const char *text)
{
    json_t *value = json_string(text);
    json_decref(value);
    return value != NULL;
}

/* Writes the list of the images in `folder`, an absolute path, to an open file, which it closes. */
static svit_status write_list(struct program *self, FILE *list, const char *folder)
{
    struct dirent **entries = NULL;
    const int found = scandir(folder, &entries, is_image, alphasort);
    const int code = errno;
    const int count = keep_images(entries, found, folder);
    svit_status status = SVIT_OK;
    fputs("path,label\n", list);
    for (int i = 0; i < count; i++) {
        if (status == SVIT_OK && !is_utf8(entries[i]->d_name))
            status = program_fail(self, SVIT_E_FORMAT,
                                  "'%s/%s': the name is no UTF-8; another name is needed", folder,
                                  entries[i]->d_name);
        put_line(list, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    int failed = ferror(list);
    failed |= fclose(list) != 0;
    TRY(status);
    if (found < 0)
        return program_fail(self, SVIT_E_IO, "cannot list '%s': %s", folder, strerror(code));
    if (count == 0)
        return program_fail(
            self, SVIT_E_FORMAT,
            "'%s' has no image; files in it that end in %s are read, those in its subfolders "
            "are not",
            folder, svit_image_endings());
    if (failed)
        return program_fail(self, SVIT_E_IO, "cannot write the list of the images of '%s'", folder);
    return SVIT_OK;
}

/* Opens a temporary file and writes its path to path[PATH_CAPACITY]. */
static svit_status open_temporary(struct program *self, char *path, FILE **out)
{
    const char *folder = getenv("TMPDIR");
    TRY(path_join(self, path, folder && folder[0] ? folder : "/tmp", "shiftvit-XXXXXX"));
    const int file = mkstemp(path);
    *out = file < 0 ? NULL : fdopen(file, "w");
    const int code = errno;
    if (file >= 0 && !*out) {
        close(file);
        unlink(path);
    }
    if (!*out)
        return program_fail(self, SVIT_E_IO,
                            "cannot create the temporary file '%s': %s; its folder is that of the "
                            "variable TMPDIR, or /tmp",
                            path, strerror(code));
    return SVIT_OK;
}

svit_status image_folder_open(svit_dataset **out, struct program *self, const char *folder,
                              const svit_pipeline_config *pipeline)
{
    char path[PATH_CAPACITY];
    FILE *list = NULL;
    char *absolute = realpath(folder, NULL);
    if (!absolute)
        return program_fail(self, SVIT_E_IO, "cannot open '%s': %s", folder, strerror(errno));
    svit_status status =
        is_utf8(absolute) ? open_temporary(self, path, &list)
                          : program_fail(self, SVIT_E_FORMAT,
                                         "the folder '%s': its path is no UTF-8; another name is "
                                         "needed",
                                         absolute);
    if (status == SVIT_OK) {
        status = write_list(self, list, absolute);
        if (status == SVIT_OK)
            status = svit_dataset_list(out, self->context, path, pipeline, &self->err);
        unlink(path); /* the data set has read it */
    }
    free(absolute);
    return status;
}
