/* Checks that a handle keeps alive what it was created from. Each kind of handle is used and freed
 * after the context that it was created with, and after all other handles. The allocator of the
 * test overwrites freed memory, so that a use after free is seen. */
#include "build.h"
#include "fit.h"

#include <stdatomic.h>

enum { COUNT = 8, SIDE = 8, CLASSES = 4, PIXELS = SIDE * SIDE * 3 };

/* Counts the blocks that are not released yet, and overwrites those that are. */
typedef struct ledger {
    atomic_int live;
} ledger;

static void *ledger_allocate(void *user, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, bytes) == 0)
        atomic_fetch_add(&((ledger *)user)->live, 1);
    return memory;
}

static void ledger_release(void *user, void *memory, size_t bytes)
{
    memset(memory, 0xA5, bytes);
    free(memory);
    atomic_fetch_sub(&((ledger *)user)->live, 1);
}

static uint8_t rgb[COUNT * PIXELS];
static int32_t labels[COUNT];
static fit_folder folder;

static svit_context *context_of(ledger *book)
{
    svit_context_config config;
    svit_context *context = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 2;
    config.allocate = ledger_allocate;
    config.release = ledger_release;
    config.allocator_user = book;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

static svit_pipeline_config pipeline_make(void)
{
    svit_pipeline_config pipeline;
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE + 2;
    pipeline.output_height = pipeline.output_width = SIDE;
    return pipeline;
}

static svit_dataset *dataset_make(svit_context *context)
{
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_memory(&dataset, context, rgb, labels, COUNT, SIDE, SIDE, 3, CLASSES, err));
    return dataset;
}

static svit_session *session_make(svit_model *model)
{
    svit_session_config config;
    svit_session *session = NULL;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = 2;
    config.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

static void with_context(svit_context *context)
{
    svit_context *same = svit_context_retain(context);
    ck_assert_ptr_eq(same, context);
    svit_context_free(context);
    ck_assert_uint_eq(svit_context_threads(same), 2);
    svit_context_free(same);
}

static void with_model(svit_context *context)
{
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_context_free(context);
    WORKS(svit_model_save(model, fit_path(&folder, "model.safetensors"), err));
    svit_model_free(model);
}

static void with_session(svit_context *context)
{
    static float images[2 * PIXELS], logits[2 * CLASSES];
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_session *session = session_make(model);
    svit_context_free(context);
    svit_model_free(model);
    WORKS(svit_forward(session, images, 2, logits, err));
    WORKS(svit_backward(session, logits, 2, err));
    svit_session_free(session);
}

static void with_optimizer(svit_context *context)
{
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_session *session = session_make(model);
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    svit_context_free(context);
    svit_model_free(model);
    WORKS(svit_step(optimizer, session, err));
    svit_session_free(session);
    ck_assert_uint_eq(svit_optimizer_steps(optimizer), 1);
    svit_optimizer_free(optimizer);
}

static void with_dataset(svit_context *context)
{
    static uint8_t one[PIXELS];
    int32_t label;
    svit_dataset *whole = dataset_make(context), *part = NULL;
    WORKS(svit_dataset_slice(&part, whole, 2, 3, err));
    svit_context_free(context);
    svit_dataset_free(whole);
    WORKS(svit_dataset_sample(part, 1, one, &label, err));
    svit_dataset_free(part);
}

static void with_loader(svit_context *context)
{
    static float images[2 * PIXELS];
    int32_t two[2];
    size_t n;
    svit_loader_config config;
    svit_loader *loader = NULL;
    svit_pipeline_config pipeline = pipeline_make();
    svit_dataset *dataset = dataset_make(context);
    WORKS(svit_loader_config_init(&config, sizeof config));
    config.batch = 2;
    WORKS(svit_loader_create(&loader, dataset, &pipeline, &config, err));
    svit_context_free(context);
    svit_dataset_free(dataset);
    WORKS(svit_loader_next(loader, images, two, &n, err));
    svit_loader_free(loader);
}

static void with_predictor(svit_context *context)
{
    float probabilities[CLASSES];
    svit_predictor *predictor = NULL;
    svit_pipeline_config pipeline = pipeline_make();
    svit_model *model = fit_model(context, CLASSES, 1);
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_predictor_create_from_model(&predictor, model, NULL, err));
    svit_context_free(context);
    svit_model_free(model);
    WORKS(svit_predict_u8(predictor, rgb, 1, SIDE, SIDE, probabilities, err));
    svit_predictor_free(predictor);
}

static void with_checkpoint(svit_context *context)
{
    const char *path = fit_path(&folder, "checkpoint.safetensors");
    const char *key = "mine", *value = "1";
    svit_checkpoint *checkpoint = NULL;
    svit_model *model = fit_model(context, CLASSES, 1);
    WORKS(svit_checkpoint_save(path, model, NULL, NULL, &key, &value, 1, err));
    svit_model_free(model);
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    svit_context_free(context);
    ck_assert_str_eq(svit_checkpoint_value(checkpoint, "mine"), "1");
    svit_checkpoint_free(checkpoint);
}

static void with_image(svit_context *context)
{
    const char *path = fit_path(&folder, "image.png");
    svit_image *image = NULL;
    if (!HAS_PNG) {
        skip_check("this build has no PNG");
        svit_context_free(context);
        return;
    }
    WORKS(svit_image_write_png(context, path, rgb, SIDE, SIDE, err));
    WORKS(svit_image_read(&image, context, path, 3, err));
    svit_context_free(context);
    ck_assert_uint_eq(svit_image_width(image), SIDE);
    ck_assert_mem_eq(svit_image_pixels(image), rgb, PIXELS);
    svit_image_free(image);
}

static void with_folder_lock(svit_context *context)
{
    svit_folder_lock *lock = NULL;
    WORKS(svit_folder_lock_create(&lock, context, folder.path, err));
    svit_context_free(context);
    ck_assert_int_eq(svit_folder_lock_has(lock, ".lock"), 1);
    svit_folder_lock_free(lock);
}

/* Regression: a trainer that stores only the pointer to a context outlives it if the model has
 * another context. */
static void with_trainer(svit_context *context)
{
    ledger book = {0};
    svit_context *of_model = context_of(&book), *of_data = context_of(&book);
    svit_pipeline_config pipeline = pipeline_make();
    svit_model *model = fit_model(of_model, CLASSES, 1);
    svit_dataset *dataset = dataset_make(of_data);
    svit_trainer_config config;
    svit_trainer *trainer = NULL;
    WORKS(svit_trainer_config_init(&config, sizeof config));
    config.epochs = 1;
    config.batch = 4;
    config.folder = folder.path;
    WORKS(svit_trainer_create(&trainer, context, model, dataset, dataset, &config, NULL, &pipeline,
                              err));
    svit_context_free(context);
    svit_context_free(of_model);
    svit_context_free(of_data);
    svit_model_free(model);
    svit_dataset_free(dataset);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    ck_assert_int_eq(atomic_load(&book.live), 0);
}

static const struct {
    const char *name;
    void (*body)(svit_context *context); /* frees the context before it uses the handle */
} HANDLES[] = {
    {"context", with_context},         {"model", with_model},           {"session", with_session},
    {"optimizer", with_optimizer},     {"dataset", with_dataset},       {"loader", with_loader},
    {"predictor", with_predictor},     {"checkpoint", with_checkpoint}, {"image", with_image},
    {"folder lock", with_folder_lock}, {"trainer", with_trainer},
};

START_TEST(test_a_handle_outlives_its_context)
{
    ledger book = {0};
    folder = fit_folder_make();
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * i % 251);
    for (size_t i = 0; i < COUNT; i++)
        labels[i] = (int32_t)(i % CLASSES);
    HANDLES[_i].body(context_of(&book));
    ck_assert_msg(atomic_load(&book.live) == 0, "%s: %d blocks are left", HANDLES[_i].name,
                  atomic_load(&book.live));
    fit_folder_remove(&folder);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("lifetimes");
    TCase *c = tcase_create("lifetimes");
    tcase_add_loop_test(c, test_a_handle_outlives_its_context, 0, sizeof HANDLES / sizeof *HANDLES);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
