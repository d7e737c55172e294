/* The folder of a run: a real one, of two epochs that were stopped in the second, with one of its
 * files replaced or damaged. A trainer resumes it, or explains why not.
 *
 * The first byte chooses the file, the second whether the rest replaces it, or overwrites it from
 * the place that the next two bytes give; then a byte each to cut off and for the configuration. */
#include "datasets.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES = 16, COUNT = 6, CLASSES = 3 };

typedef struct run_file {
    char name[64];
    uint8_t *data;
    size_t size;
} run_file;

static run_file files[FILES];
static unsigned file_count;

static svit_trainer_config run_config(void)
{
    svit_trainer_config config;
    svit_trainer_config_init(&config, sizeof config);
    config.epochs = 2;
    config.batch = 2;
    config.prefetch = 0;
    config.tensorboard = 1;
    config.keep = SVIT_KEEP_BEST;
    config.folder = fuzz_path("run");
    return config;
}

static svit_dataset *run_data(void)
{
    static uint8_t pixels[COUNT * 8 * 8 * 3];
    static const int32_t labels[COUNT] = {0, 1, 2, 0, 1, 2};
    svit_error err = FUZZ_ERROR;
    svit_dataset *dataset = NULL;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 7);
    FUZZ_CHECK(svit_dataset_memory(&dataset, fuzz_context(), pixels, labels, COUNT, 8, 8, 3,
                                   CLASSES, &err) == SVIT_OK);
    return dataset;
}

static svit_status create(svit_trainer **trainer, svit_model *model, svit_dataset *dataset,
                          const svit_trainer_config *config, svit_error *err)
{
    const svit_pipeline_config pipeline = small_pipeline();
    return svit_trainer_create(trainer, fuzz_context(), model, dataset, dataset, config, NULL,
                               &pipeline, err);
}

static const char *path_of(const run_file *file)
{
    char inside[80];
    FUZZ_CHECK(snprintf(inside, sizeof inside, "run/%s", file->name) < (int)sizeof inside);
    return fuzz_path(inside);
}

static void read_file(const char *name)
{
    run_file *file = &files[file_count++];
    FUZZ_CHECK(file_count <= FILES && strlen(name) < sizeof file->name);
    strcpy(file->name, name);
    FILE *stream = fopen(path_of(file), "rb");
    FUZZ_CHECK(stream && fseek(stream, 0, SEEK_END) == 0);
    file->size = (size_t)ftell(stream);
    rewind(stream);
    file->data = malloc(file->size + 1);
    FUZZ_CHECK(file->data && fread(file->data, 1, file->size, stream) == file->size);
    fclose(stream);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const run_file *)a)->name, ((const run_file *)b)->name);
}

/* Trains an epoch and a half and keeps the files of the folder. */
static void make_run(void)
{
    svit_error err = FUZZ_ERROR;
    svit_trainer *trainer = NULL;
    svit_trainer_event event;
    svit_model *model = fuzz_model(1);
    svit_dataset *dataset = run_data();
    const svit_trainer_config config = run_config();
    fuzz_clear_folder();
    FUZZ_CHECK(create(&trainer, model, dataset, &config, &err) == SVIT_OK);
    for (int i = 0; i < 5; i++)
        FUZZ_CHECK(svit_trainer_step(trainer, &event, sizeof event, &err) == SVIT_OK);
    FUZZ_CHECK(svit_trainer_checkpoint(trainer, &err) == SVIT_OK);
    svit_trainer_free(trainer);
    DIR *listing = opendir(fuzz_path("run"));
    FUZZ_CHECK(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] != '.')
            read_file(entry->d_name);
    closedir(listing);
    qsort(files, file_count, sizeof *files, by_name);
    svit_dataset_free(dataset);
    svit_model_free(model);
}

static void write_file(const run_file *file, const void *data, size_t size)
{
    FILE *stream = fopen(path_of(file), "wb");
    FUZZ_CHECK(stream && fwrite(data, 1, size, stream) == size);
    fclose(stream);
}

/* Writes the folder with the file of the input in place of its own. */
static void write_folder(fuzz_bytes *bytes)
{
    fuzz_clear_folder();
    FUZZ_CHECK(mkdir(fuzz_path("run"), 0700) == 0);
    for (unsigned i = 0; i < file_count; i++)
        write_file(&files[i], files[i].data, files[i].size);
    const run_file *chosen = &files[fuzz_take(bytes, 1) % file_count];
    if (fuzz_take(bytes, 1) % 2) {
        write_file(chosen, bytes->data, bytes->size);
        return;
    }
    uint8_t *data = malloc(chosen->size + 65536 + bytes->size);
    FUZZ_CHECK(data);
    const size_t place = (size_t)fuzz_take(bytes, 2) % (chosen->size + 1);
    const size_t cut = (size_t)fuzz_take(bytes, 1);
    memcpy(data, chosen->data, chosen->size);
    memcpy(data + place, bytes->data, bytes->size);
    const size_t size = place + bytes->size > chosen->size ? place + bytes->size : chosen->size;
    write_file(chosen, data, size > cut ? size - cut : 0);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_trainer *trainer = NULL;
    svit_trainer_event event;
    fuzz_bytes bytes = {data, size};
    if (size < 6)
        return 0;
    if (file_count == 0)
        make_run();
    write_folder(&bytes);
    svit_model *model = fuzz_model(1);
    svit_dataset *dataset = run_data();
    svit_trainer_config config = run_config();
    config.existing = SVIT_EXISTING_RESUME;
    if (fuzz_ok(create(&trainer, model, dataset, &config, &err), &err))
        for (int i = 0; i < 3; i++)
            if (!fuzz_ok(svit_trainer_step(trainer, &event, sizeof event, &err), &err))
                break;
    for (size_t i = 0; i < svit_trainer_history_count(trainer); i++)
        FUZZ_CHECK(svit_trainer_history(trainer, i, &event, sizeof event, &err) == SVIT_OK);
    svit_trainer_free(trainer);
    svit_dataset_free(dataset);
    svit_model_free(model);
    return fuzz_end();
}
