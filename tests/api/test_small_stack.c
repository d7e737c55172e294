/* Checks that threads of a program need no large stack: 64 KiB for all that is computed in float32
 * by the tile backend, 128 KiB for the other types and backends (docs/threading.md). The context
 * has one thread, so that the small stack does all the work. */
#include "fit.h"

#include <pthread.h>

enum {
    IMAGES = 16,
    CLASSES = 10,
    SIDE = 32,
    SMALL = 64 * 1024,
    LARGER = 128 * 1024,
};

/* What a thread does, and what it could not do. An assertion would end another thread. */
typedef struct job {
    fit_folder folder;
    const char *preset;
    const char *gemm;
    int32_t compute;
    size_t stack;
    svit_error error;
    const char *failed; /* NULL: all calls succeeded */
} job;

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != SVIT_OK) {                                                                   \
            self->failed = #call;                                                                  \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* The handles of a job, which are freed whether or not it failed. */
typedef struct handles {
    svit_context *context;
    svit_model *model;
    svit_dataset *data;
    svit_trainer *trainer;
    svit_features *features;
    svit_predictor *predictor;
    svit_image *image;
} handles;

static void path_of(const job *self, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", self->folder.path, name);
}

static void create(job *self, handles *all)
{
    svit_context_config context;
    svit_model_config model;
    TRY(svit_context_config_init(&context, sizeof context));
    context.threads = 1;
    context.gemm = self->gemm;
    TRY(svit_context_create(&all->context, &context, &self->error));
    TRY(svit_model_config_preset(&model, sizeof model, self->preset, &self->error));
    model.num_classes = CLASSES;
    TRY(svit_model_create(&all->model, all->context, &model, 1, &self->error));
    TRY(svit_dataset_synthetic(&all->data, all->context, 1, SVIT_SPLIT_TRAIN, IMAGES,
                               &self->error));
}

static void train(job *self, handles *all, int resume)
{
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    TRY(svit_training_preset(self->preset, &trainer, sizeof trainer, &optimizer, sizeof optimizer,
                             &pipeline, sizeof pipeline, &self->error));
    trainer.epochs = resume ? 2 : 1;
    trainer.existing = resume ? SVIT_EXISTING_RESUME : SVIT_EXISTING_REFUSE;
    trainer.batch = IMAGES / 2;
    trainer.folder = self->folder.path;
    trainer.compute = self->compute == SVIT_COMPUTE_INT8 ? SVIT_COMPUTE_F32 : self->compute;
    TRY(svit_trainer_create(&all->trainer, all->context, all->model, all->data, all->data, &trainer,
                            &optimizer, &pipeline, &self->error));
    if (resume)
        TRY(svit_trainer_resume(all->trainer, &self->error));
    TRY(svit_trainer_run(all->trainer, NULL, NULL, &self->error));
    svit_trainer_free(all->trainer);
    all->trainer = NULL;
}

static void fit_head(job *self, handles *all)
{
    svit_features_config features;
    svit_head_config head;
    TRY(svit_features_config_init(&features, sizeof features));
    features.compute = self->compute;
    features.batch = IMAGES / 2;
    features.layer = "input of the head";
    if (svit_features_compute(&all->features, all->model, all->data, NULL, &features,
                              &self->error) != SVIT_E_ARGUMENT) {
        self->failed = "a layer that does not exist";
        return;
    }
    features.layer = NULL;
    TRY(svit_features_compute(&all->features, all->model, all->data, NULL, &features,
                              &self->error));
    TRY(svit_head_config_init(&head, sizeof head));
    head.epochs = 2;
    TRY(svit_model_fit_head(all->model, all->features, &head, &self->error));
}

static void predict(job *self, handles *all)
{
    char model[128], image[128], graph[128];
    static uint8_t pixels[SIDE * SIDE * 3];
    float probabilities[CLASSES];
    svit_predictor_config config;
    path_of(self, "model.safetensors", model);
    path_of(self, "image.png", image);
    path_of(self, "model.onnx", graph);
    TRY(svit_model_save(all->model, model, &self->error));
    TRY(svit_image_write_png(all->context, image, pixels, SIDE, SIDE, &self->error));
    TRY(svit_image_read(&all->image, all->context, image, 3, &self->error));
    TRY(svit_predictor_config_init(&config, sizeof config));
    config.compute = self->compute;
    TRY(svit_predictor_create(&all->predictor, all->context, model, &config, &self->error));
    TRY(svit_predict_file(all->predictor, image, probabilities, &self->error));
    TRY(svit_model_export_onnx(all->model, graph, NULL, &self->error));
    unlink(graph);
}

static void *run(void *argument)
{
    job *self = argument;
    handles all = {0};
    create(self, &all);
    if (!self->failed)
        train(self, &all, 0);
    if (!self->failed)
        train(self, &all, 1);
    if (!self->failed && strstr(self->preset, "shiftvit"))
        fit_head(self, &all);
    if (!self->failed)
        predict(self, &all);
    svit_image_free(all.image);
    svit_predictor_free(all.predictor);
    svit_features_free(all.features);
    svit_trainer_free(all.trainer);
    svit_dataset_free(all.data);
    svit_model_free(all.model);
    svit_context_free(all.context);
    return NULL;
}

static const job JOBS[] = {
    {.preset = "shiftvit-cifar10", .gemm = "tile", .stack = SMALL},
    {.preset = "shiftvit-cifar10-fast", .gemm = "tile", .stack = SMALL},
    {.preset = "slvit-cifar100", .gemm = "tile", .stack = SMALL},
    {.preset = "shiftvit-cifar10", .compute = SVIT_COMPUTE_BF16, .stack = LARGER},
    {.preset = "slvit-cifar100", .compute = SVIT_COMPUTE_BF16, .stack = LARGER},
    {.preset = "shiftvit-cifar10", .compute = SVIT_COMPUTE_INT8, .stack = LARGER},
};
enum { JOB_COUNT = sizeof JOBS / sizeof *JOBS };

START_TEST(test_a_thread_needs_little_stack)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip_check("a sanitizer makes frames larger");
    return;
#endif
    job self = JOBS[_i];
    self.folder = fit_folder_make();
    self.error.struct_size = sizeof self.error;
    pthread_attr_t attributes;
    pthread_t thread;
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, self.stack), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, run, &self), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    ck_assert_msg(!self.failed, "%s: %s", self.failed, self.error.message);
    fit_folder_remove(&self.folder);
}
END_TEST

static Suite *small_stack_suite(void)
{
    Suite *suite = suite_create("small_stack");
    TCase *all = tcase_create("small_stack");
    tcase_add_loop_test(all, test_a_thread_needs_little_stack, 0, JOB_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(small_stack_suite)
