/* A long training with checkpoints, and threads that evaluate and predict with its best weights. */
#include "soak.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 16, PIXELS = SIDE * SIDE * 3, COUNT = 256, HELD_OUT = 64, CLASSES = 4, BATCH = 16 };
enum { STEPS_OF_EPOCH = COUNT / BATCH, OTHERS = 3, SAMPLES = 20 };

/* From the first tenth to the end memory may grow by the history of the epochs, and by what the
 * other threads happen to work with. */
enum { GIVEN_BYTES = 8 << 20 };

typedef struct other {
    pthread_t thread;
    const char *best;
    atomic_bool *is_over;
    size_t predictions;
} other;

static uint8_t pixels[(COUNT + HELD_OUT) * PIXELS];
static int32_t labels[COUNT + HELD_OUT];

static void draw_images(void)
{
    uint64_t state = 1;
    for (size_t i = 0; i < COUNT + HELD_OUT; i++) {
        labels[i] = (int32_t)(i % CLASSES);
        for (size_t p = 0; p < PIXELS; p++)
            pixels[i * PIXELS + p] =
                (uint8_t)(soak_choose(&state, 128) + 30 * (size_t)labels[i] * (p % 2));
    }
}

static svit_pipeline_config pipeline(void)
{
    svit_pipeline_config config;
    svit_pipeline_config_init(&config, sizeof config);
    config.source_height = config.source_width = SIDE;
    config.resize_height = config.resize_width = SIDE + 4;
    config.output_height = config.output_width = SIDE;
    return config;
}

static svit_dataset *dataset(svit_context *context, size_t first, size_t count)
{
    svit_error err = {.struct_size = sizeof err};
    svit_dataset *out = NULL;
    WORKS(svit_dataset_memory(&out, context, pixels + first * PIXELS, labels + first, count, SIDE,
                              SIDE, 3, CLASSES, &err));
    return out;
}

/* One round of what others do with the file of the best weights. */
static void use_best(other *self, svit_context *context, svit_dataset *held_out)
{
    svit_error err = {.struct_size = sizeof err};
    svit_model *model = NULL;
    svit_predictor *predictor = NULL;
    const svit_pipeline_config how = pipeline();
    float probabilities[8 * CLASSES];
    double loss, top1, top5;
    WORKS(svit_predictor_create(&predictor, context, self->best, NULL, &err));
    for (int i = 0; i < 8; i++, self->predictions += 8) {
        WORKS(svit_predict_u8(predictor, pixels, 8, SIDE, SIDE, probabilities, &err));
        for (int e = 0; e < 8 * CLASSES; e++)
            HOLDS(probabilities[e] >= 0 && probabilities[e] <= 1, "a probability is %g",
                  (double)probabilities[e]);
    }
    svit_predictor_free(predictor);
    WORKS(svit_model_load(&model, context, self->best, &err));
    WORKS(svit_evaluate(context, model, held_out, &how, BATCH, &loss, &top1, &top5, &err));
    HOLDS(isfinite(loss) && top1 >= 0 && top1 <= 1, "the loss is %g, top-1 %g", loss, top1);
    svit_model_free(model);
}

static void *run_other(void *argument)
{
    other *self = argument;
    svit_context *context = soak_context(1);
    svit_dataset *held_out = dataset(context, COUNT, HELD_OUT);
    while (!atomic_load(self->is_over)) {
        if (access(self->best, R_OK) == 0)
            use_best(self, context, held_out);
        soak_sleep(0.02);
    }
    svit_dataset_free(held_out);
    svit_context_free(context);
    return NULL;
}

static svit_model *new_model(svit_context *context)
{
    svit_error err = {.struct_size = sizeof err};
    svit_model_config config;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(
        &config, sizeof config,
        "{\"architecture\": \"shiftvit\", \"input_height\": 16, \"input_width\": 16,"
        " \"num_classes\": 4, \"patch_size\": 2, \"dim\": 16, \"blocks\": [1, 1], \"num_div\": 8,"
        " \"mlp_ratio\": 2, \"drop_path\": 0.1}",
        &err));
    WORKS(svit_model_create(&model, context, &config, 1, &err));
    return model;
}

static svit_trainer *new_trainer(svit_context *context, svit_model *model, size_t steps,
                                 const char *folder)
{
    svit_error err = {.struct_size = sizeof err};
    svit_trainer *trainer = NULL;
    svit_trainer_config config;
    const svit_pipeline_config how = pipeline();
    svit_dataset *training = dataset(context, 0, COUNT),
                 *validation = dataset(context, COUNT, HELD_OUT);
    WORKS(svit_trainer_config_init(&config, sizeof config));
    config.epochs = (uint32_t)((steps + STEPS_OF_EPOCH - 1) / STEPS_OF_EPOCH);
    config.batch = BATCH;
    config.patience = 0;
    config.keep = SVIT_KEEP_BEST;
    config.folder = folder;
    config.checkpoint_seconds = 0.5;
    config.tensorboard = 1;
    WORKS(svit_trainer_create(&trainer, context, model, training, validation, &config, NULL, &how,
                              &err));
    svit_dataset_free(validation);
    svit_dataset_free(training);
    return trainer;
}

/* Runs the steps, and looks at the memory after an epoch now and then. */
static void run_steps(svit_trainer *trainer, size_t steps)
{
    svit_error err = {.struct_size = sizeof err};
    svit_trainer_event event = {.kind = -1};
    soak_use first = {0, 0, 0};
    size_t first_epoch = 0, every = steps / STEPS_OF_EPOCH / SAMPLES;
    printf("%8s %14s %14s %8s\n", "epoch", "given KiB", "resident KiB", "files");
    while (event.kind != SVIT_EVENT_FINISHED) {
        WORKS(svit_trainer_step(trainer, &event, sizeof event, &err));
        if (event.kind != SVIT_EVENT_EPOCH || (every > 0 && event.epoch % every != 0))
            continue;
        const soak_use now = soak_use_now();
        printf("%8zu %14zu %14zu %8zu\n", (size_t)event.epoch, now.given >> 10, now.resident >> 10,
               now.files);
        fflush(stdout);
        if (event.epoch * 10 < event.epochs)
            continue;
        if (first_epoch == 0) {
            first = now;
            first_epoch = (size_t)event.epoch;
        }
        soak_check_growth(&first, &now, GIVEN_BYTES);
    }
}

void soak_train(size_t steps, const char *folder)
{
    static other others[OTHERS];
    atomic_bool is_over = false;
    char best[1024];
    const double start = soak_seconds();
    svit_context *context = soak_context(2);
    svit_model *model = new_model(context);
    size_t predictions = 0;
    draw_images();
    snprintf(best, sizeof best, "%s/best.safetensors", folder);
    svit_trainer *trainer = new_trainer(context, model, steps, folder);
    for (int i = 0; i < OTHERS; i++) {
        others[i] = (other){.best = best, .is_over = &is_over};
        HOLDS(pthread_create(&others[i].thread, NULL, run_other, &others[i]) == 0, "no thread");
    }
    run_steps(trainer, steps);
    atomic_store(&is_over, true);
    for (int i = 0; i < OTHERS; i++) {
        pthread_join(others[i].thread, NULL);
        predictions += others[i].predictions;
    }
    const size_t rows = svit_trainer_history_count(trainer);
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_context_free(context);
    printf("%zu steps in %zu epochs, %zu predictions meanwhile, %.0f s\n", rows * STEPS_OF_EPOCH,
           rows, predictions, soak_seconds() - start);
}
