/* Folders of images: the input gives the names of files and folders, which end with NUL each, and
 * the first byte of a name says what it is. svit_dataset_folder reads what was made of them. */
#include "datasets.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 24, LONGEST = 80 };

/* Makes the folders of a path below the folder of the process. */
static void make_parents(const char *name)
{
    char part[LONGEST + 16];
    for (const char *at = name; (at = strchr(at, '/')); at++) {
        snprintf(part, sizeof part, "images/%.*s", (int)(at - name), name);
        mkdir(fuzz_path(part), 0700);
    }
}

/* A path that stays inside the folder: ".." would leave it. */
static bool is_usable(const char *name)
{
    return *name && *name != '/' && strlen(name) < LONGEST && !strstr(name, "..");
}

static void make_entry(unsigned kind, const char *name)
{
    static const uint8_t rgb[4 * 4 * 3] = {3};
    char inside[LONGEST + 16];
    svit_error err = FUZZ_ERROR;
    snprintf(inside, sizeof inside, "images/%s", name);
    make_parents(name);
    const char *path = fuzz_path(inside);
    struct stat state;
    if (lstat(path, &state) == 0)
        return;
    switch (kind % 8) {
    case 0:
        mkdir(path, 0700);
        break;
    case 1:
        (void)!symlink(".", path);
        break;
    case 2:
        (void)!symlink("a/b.png", path);
        break;
    case 3:
        (void)!mkfifo(path, 0600);
        break;
    default:
        svit_image_write_png(fuzz_context(), path, rgb, 4, 4, &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_dataset *dataset = NULL;
    size_t bad;
    fuzz_clear_folder();
    const char *folder = fuzz_path("images");
    mkdir(folder, 0700);
    char *text = fuzz_text(data, size);
    size_t at = 0;
    for (int i = 0; i < NAMES && at < size; i++) {
        const char *name = text + at + 1;
        if (at + 1 < size && is_usable(name))
            make_entry((unsigned char)text[at], name);
        at += at + 1 < size ? strlen(name) + 2 : 1;
    }
    folder = fuzz_path("images");
    if (fuzz_ok(svit_dataset_folder(&dataset, fuzz_context(), folder, 8, 8, 3, 0, &err), &err)) {
        FUZZ_CHECK(svit_dataset_count(dataset) > 0);
        check_dataset(dataset);
        if (fuzz_ok(svit_dataset_verify(dataset, NULL, NULL, &bad, &err), &err))
            FUZZ_CHECK(bad <= svit_dataset_count(dataset));
    }
    svit_dataset_free(dataset);
    free(text);
    return fuzz_end();
}
