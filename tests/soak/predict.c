/* Threads that predict with one model: good images give the bits of one thread, and hostile ones an
 * answer. */
#include "soak.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 5, FILES = 512, THREADS = 64, FILE_BYTES = 1 << 16 };

/* What may be given out more from the first round to the last: the C library's own. */
enum { ROUNDS = 10, GIVEN_BYTES = 64 << 10 };

/* An image file, and what one thread says of it. */
typedef struct image_file {
    uint8_t *data;
    size_t bytes;
    svit_status status;
    float probabilities[CLASSES];
} image_file;

static image_file files[FILES];
static size_t file_count;

typedef struct worker {
    pthread_t thread;
    svit_model *model;
    double end;
    uint64_t state;
    size_t good, hostile, refused;
} worker;

static void read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    HOLDS(stream, "%s cannot be read", path);
    image_file *file = &files[file_count];
    file->data = malloc(FILE_BYTES);
    HOLDS(file->data, "no memory");
    file->bytes = fread(file->data, 1, FILE_BYTES, stream);
    fclose(stream);
    if (file->bytes > 0 && file->bytes < FILE_BYTES)
        file_count++;
    else
        free(file->data);
}

static void read_folder(const char *folder)
{
    char path[4096];
    struct dirent *entry;
    DIR *listing = opendir(folder);
    HOLDS(listing, "%s cannot be read", folder);
    while ((entry = readdir(listing)) && file_count < FILES) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            read_file(path);
    }
    closedir(listing);
}

static svit_model *new_model(svit_context *context)
{
    svit_error err = {.struct_size = sizeof err};
    svit_model_config config;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(
        &config, sizeof config,
        "{\"architecture\": \"vit\", \"input_height\": 24, \"input_width\": 24,"
        " \"num_classes\": 5, \"patch_size\": 6, \"dim\": 24, \"depth\": 2, \"heads\": 2,"
        " \"head_dim\": 12, \"mlp_dim\": 48, \"head_units\": []}",
        &err));
    WORKS(svit_model_create(&model, context, &config, 1, &err));
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = 24;
    pipeline.source_filter = SVIT_SOURCE_SHORTER_SIDE;
    pipeline.resize_height = pipeline.resize_width = 24;
    pipeline.output_height = pipeline.output_width = 24;
    WORKS(svit_model_set_pipeline(model, &pipeline, &err));
    return model;
}

static svit_predictor *new_predictor(svit_context *context, svit_model *model)
{
    svit_error err = {.struct_size = sizeof err};
    svit_predictor *predictor = NULL;
    svit_predictor_config config;
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = 1;
    config.context = context;
    WORKS(svit_predictor_create_from_model(&predictor, model, &config, &err));
    return predictor;
}

/* Predicts, and checks that the answer is one: probabilities, or a status with a message. */
static svit_status predict(svit_predictor *predictor, const void *data, size_t bytes,
                           float *probabilities)
{
    svit_error err = {.struct_size = sizeof err};
    const svit_status status = svit_predict_encoded(predictor, data, bytes, probabilities, &err);
    if (status != SVIT_OK) {
        HOLDS(err.code == status && err.message[0], "status %d has no message", status);
        return status;
    }
    float sum = 0;
    for (int i = 0; i < CLASSES; i++) {
        HOLDS(probabilities[i] >= 0 && probabilities[i] <= 1, "a probability is %g",
              (double)probabilities[i]);
        sum += probabilities[i];
    }
    HOLDS(fabsf(sum - 1) < 1e-4f, "the probabilities add up to %g", (double)sum);
    return SVIT_OK;
}

/* Changes some bytes, the end, or the order of two parts. */
static size_t damage(uint8_t *data, const image_file *file, uint64_t *state)
{
    size_t bytes = file->bytes;
    memcpy(data, file->data, bytes);
    for (size_t i = soak_choose(state, 12); i > 0; i--)
        data[soak_choose(state, bytes)] = (uint8_t)soak_choose(state, 256);
    if (soak_choose(state, 3) == 0)
        bytes = 1 + soak_choose(state, bytes);
    if (soak_choose(state, 3) == 0) {
        const size_t from = soak_choose(state, bytes), to = soak_choose(state, bytes);
        memmove(data + to, data + from, bytes - (from > to ? from : to));
    }
    return bytes;
}

static void *run_worker(void *argument)
{
    worker *self = argument;
    svit_context *context = soak_context(1);
    svit_predictor *predictor = new_predictor(context, self->model);
    uint8_t *data = malloc(FILE_BYTES);
    HOLDS(data, "no memory");
    while (soak_seconds() < self->end) {
        float probabilities[CLASSES];
        const image_file *file = &files[soak_choose(&self->state, file_count)];
        if (soak_choose(&self->state, 2)) {
            const size_t bytes = damage(data, file, &self->state);
            self->refused += predict(predictor, data, bytes, probabilities) != SVIT_OK;
            self->hostile++;
        } else {
            const svit_status status = predict(predictor, file->data, file->bytes, probabilities);
            HOLDS(status == file->status, "the status is %d, with one thread %d", status,
                  file->status);
            HOLDS(status != SVIT_OK ||
                      memcmp(probabilities, file->probabilities, sizeof probabilities) == 0,
                  "the probabilities are not those of one thread");
            self->good++;
        }
    }
    free(data);
    svit_predictor_free(predictor);
    svit_context_free(context);
    return NULL;
}

/* Runs the threads once, and adds up what they did. */
static void run_round(svit_model *model, double seconds, size_t threads, uint64_t round,
                      worker *sum)
{
    static worker workers[THREADS];
    const double end = soak_seconds() + seconds;
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (worker){.model = model, .end = end, .state = round * THREADS + i};
        HOLDS(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) == 0, "no thread");
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        sum->good += workers[i].good;
        sum->hostile += workers[i].hostile;
        sum->refused += workers[i].refused;
    }
}

/* Writes what one thread says of each file, and returns how many can be read. */
static size_t predict_alone(svit_context *context, svit_model *model)
{
    svit_predictor *alone = new_predictor(context, model);
    size_t readable = 0;
    for (size_t i = 0; i < file_count; i++) {
        files[i].status = predict(alone, files[i].data, files[i].bytes, files[i].probabilities);
        readable += files[i].status == SVIT_OK;
    }
    svit_predictor_free(alone);
    HOLDS(readable > 0, "none of the files can be read");
    return readable;
}

void soak_predict(double seconds, size_t threads, char **folders, int count)
{
    worker sum = {0};
    soak_use first = {0, 0, 0}, now = {0, 0, 0};
    HOLDS(threads > 0 && threads <= THREADS, "%zu threads; 1 to %d are accepted", threads, THREADS);
    for (int i = 0; i < count; i++)
        read_folder(folders[i]);
    HOLDS(file_count > 0, "no files");
    svit_context *context = soak_context(1);
    svit_model *model = new_model(context);
    const size_t readable = predict_alone(context, model);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        run_round(model, seconds / ROUNDS, threads, round, &sum);
        now = soak_use_now();
        printf("%zu KiB given, %zu KiB resident, %zu files\n", now.given >> 10, now.resident >> 10,
               now.files);
        fflush(stdout);
        if (round == 0)
            first = now;
        soak_check_growth(&first, &now, GIVEN_BYTES);
    }
    svit_model_free(model);
    svit_context_free(context);
    for (size_t i = 0; i < file_count; i++)
        free(files[i].data);
    printf("%zu threads, %.0f s: %zu images as they are, of %zu files (%zu readable); %zu damaged, "
           "%zu of them refused\n",
           threads, seconds, sum.good, file_count, readable, sum.hostile, sum.refused);
}
