/* Runs a fuzz target on every file of the folders that the arguments name. It fails if there is
 * none. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    FUZZ_CHECK(file);
    FUZZ_CHECK(fseek(file, 0, SEEK_END) == 0);
    const long size = ftell(file);
    FUZZ_CHECK(size >= 0 && fseek(file, 0, SEEK_SET) == 0);
    /* The exact size, so that sanitizers see a read beyond the end. */
    uint8_t *data = malloc((size_t)size);
    FUZZ_CHECK(data || size == 0);
    FUZZ_CHECK(fread(data, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

static size_t run_folder(const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    FUZZ_CHECK(count >= 0);
    size_t files = 0;
    for (int i = 0; i < count; i++) {
        char path[4096];
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
            run_file(path);
            files++;
        }
        free(entries[i]);
    }
    free(entries);
    return files;
}

int main(int argc, char **argv)
{
    size_t files = 0;
    for (int i = 1; i < argc; i++)
        files += run_folder(argv[i]);
    printf("%zu inputs\n", files);
    return files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
