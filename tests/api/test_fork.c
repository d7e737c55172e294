/* Checks a child process made by fork: it can free what it has inherited, gets an error where it
 * would need threads, and does not disturb its parent. Regression: freeing a context hangs in
 * pthread_cond_destroy, and so does every call that waits for a worker. */
#include "fit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { COUNT = 12, SIDE = 8, CLASSES = 4, BATCH = 4, PIXELS = SIDE * SIDE * 3 };

typedef struct scene {
    svit_context *context;
    svit_model *model, *changing;
    svit_session *session, *inferring, *sharing, *reducing;
    svit_optimizer *optimizer;
    svit_dataset *dataset;
    svit_loader *loader;
    svit_predictor *predictor;
    svit_trainer *trainer;
    svit_checkpoint *checkpoint;
    svit_pipeline_config pipeline;
} scene;

static fit_folder folder;
static uint8_t rgb[COUNT * PIXELS];
static int32_t labels[COUNT];
static char file[1 << 16]; /* a model file */
static size_t file_bytes;
static float images[BATCH * PIXELS], logits[BATCH * CLASSES];
static int32_t batch_labels[BATCH];

static void make_session(scene *s)
{
    svit_session_config config;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = BATCH;
    config.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&s->session, s->model, &config, err));
}

/* Two sessions of a model of their own, which share packed weights. */
static void make_inferring(scene *s)
{
    svit_model *model = fit_model(s->context, CLASSES, 1);
    WORKS(svit_session_create(&s->inferring, model, NULL, err));
    WORKS(svit_session_create(&s->sharing, model, NULL, err));
    s->changing = model;
}

static svit_status begin_sums(void *user, const svit_bucket *bucket, svit_error *error)
{
    (void)user, (void)bucket, (void)error;
    return SVIT_OK;
}

/* What a reducer waits for, other ranks, answers its own process alone. */
static svit_status finish_sums(void *user, svit_error *error)
{
    (void)error;
    if (getpid() != *(const pid_t *)user)
        _exit(97);
    return SVIT_OK;
}

/* A session whose gradients are on their way to another rank. */
static void make_reducing(scene *s)
{
    static pid_t process;
    svit_session_config config;
    process = getpid();
    const svit_reducer reducer = {.struct_size = sizeof reducer,
                                  .leaves = 2,
                                  .ranks = 2,
                                  .user = &process,
                                  .begin = begin_sums,
                                  .finish = finish_sums};
    const float zeros[BATCH * CLASSES] = {0};
    float out[BATCH * CLASSES];
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = BATCH;
    config.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&s->reducing, s->model, &config, err));
    WORKS(svit_session_set_reducer(s->reducing, &reducer, err));
    WORKS(svit_forward(s->reducing, images, BATCH, out, err));
    WORKS(svit_backward(s->reducing, zeros, BATCH, err));
}

static void make_pipeline(scene *s)
{
    WORKS(svit_pipeline_config_init(&s->pipeline, sizeof s->pipeline));
    s->pipeline.source_height = s->pipeline.source_width = SIDE;
    s->pipeline.resize_height = s->pipeline.resize_width = SIDE + 2;
    s->pipeline.output_height = s->pipeline.output_width = SIDE;
}

static void make_trainer(scene *s)
{
    svit_trainer_config config;
    WORKS(svit_trainer_config_init(&config, sizeof config));
    config.batch = BATCH;
    config.folder = folder.path;
    WORKS(svit_trainer_create(&s->trainer, s->context, s->model, s->dataset, s->dataset, &config,
                              NULL, &s->pipeline, err));
    WORKS(svit_trainer_checkpoint(s->trainer, err));
    WORKS(svit_checkpoint_open(&s->checkpoint, s->context,
                               fit_path(&folder, "checkpoint.safetensors"), err));
}

static scene scene_make(void)
{
    scene s = {.context = fit_context(4)};
    size_t n;
    for (size_t i = 0; i < COUNT; i++)
        labels[i] = (int32_t)(i % CLASSES);
    s.model = fit_model(s.context, CLASSES, 1);
    WORKS(svit_model_save_memory(s.model, file, sizeof file, &file_bytes, err));
    make_session(&s);
    make_inferring(&s);
    make_pipeline(&s);
    WORKS(svit_optimizer_create(&s.optimizer, s.model, NULL, err));
    WORKS(svit_dataset_memory(&s.dataset, s.context, rgb, labels, COUNT, SIDE, SIDE, 3, CLASSES,
                              err));
    svit_loader_config config;
    WORKS(svit_loader_config_init(&config, sizeof config));
    config.batch = BATCH;
    WORKS(svit_loader_create(&s.loader, s.dataset, &s.pipeline, &config, err));
    WORKS(svit_loader_next(s.loader, images, batch_labels, &n, err));
    make_trainer(&s);
    WORKS(svit_predictor_create_from_model(&s.predictor, s.model, NULL, err));
    WORKS(svit_forward(s.session, images, BATCH, logits, err));
    make_reducing(&s);
    return s;
}

static void scene_free(scene *s)
{
    svit_context_free(s->context);
    svit_checkpoint_free(s->checkpoint);
    svit_trainer_free(s->trainer);
    svit_predictor_free(s->predictor);
    svit_loader_free(s->loader);
    svit_dataset_free(s->dataset);
    svit_optimizer_free(s->optimizer);
    svit_session_free(s->session);
    svit_session_free(s->inferring);
    svit_session_free(s->sharing);
    svit_session_free(s->reducing);
    svit_model_free(s->changing);
    svit_model_free(s->model);
}

/* Returns the number of the first call that does not return the expected error; 0 if all do. */
static int first_not_refused(scene *s)
{
    svit_error error = {.struct_size = sizeof error};
    svit_error *err = &error;
    svit_trainer_event event;
    svit_model_config config;
    svit_model *model = NULL;
    svit_loader *loader = NULL;
    svit_session *session = NULL;
    svit_predictor *predictor = NULL;
    svit_matmul product;
    size_t n;
    double speed, loss, mean[3], variance[3];
    float out[BATCH * CLASSES];
    svit_model_get_config(s->model, &config, sizeof config, NULL);
    svit_matmul_init(&product, sizeof product);
    product.m = product.n = product.k = 8;
    const char *path = fit_path(&folder, "checkpoint.safetensors");
    const svit_status statuses[] = {
        svit_forward(s->session, images, BATCH, out, err),
        svit_backward(s->session, logits, BATCH, err),
        svit_forward(s->sharing, images, BATCH, out, err),
        svit_session_create(&session, s->model, NULL, err),
        svit_predictor_create_from_model(&predictor, s->model, NULL, err),
        svit_step(s->optimizer, s->session, err),
        svit_loader_next(s->loader, images, batch_labels, &n, err),
        svit_loader_seek(s->loader, 0, 0, err),
        svit_loader_create(&loader, s->dataset, &s->pipeline, NULL, err),
        svit_model_create(&model, s->context, &config, 1, err),
        svit_model_load(&model, s->context, path, err),
        svit_model_map(&model, s->context, path, err),
        svit_model_load_memory(&model, s->context, file, file_bytes, err),
        svit_predict_u8(s->predictor, rgb, 1, SIDE, SIDE, out, err),
        svit_predict_files(s->predictor, &path, 1, out, NULL, err),
        svit_pipeline_apply_evaluation(s->context, &s->pipeline, rgb, 1, SIDE, SIDE, images, err),
        svit_dataset_verify(s->dataset, NULL, NULL, NULL, err),
        svit_dataset_statistics(s->dataset, 1, mean, variance, err),
        svit_benchmark_matmul(s->context, &product, 0, &speed, err),
        svit_evaluate(s->context, s->model, s->dataset, &s->pipeline, BATCH, &loss, NULL, NULL,
                      err),
        svit_trainer_step(s->trainer, &event, sizeof event, err),
        svit_trainer_run(s->trainer, NULL, NULL, err),
        svit_trainer_checkpoint(s->trainer, err),
        svit_trainer_resume(s->trainer, err),
        svit_context_check(s->context, err),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i] != SVIT_E_STATE)
            return (int)i + 1;
    return strstr(error.message, "belongs to process") ? 0 : 99;
}

/* The child creates and uses a context of its own. */
static int own_context_fails(void)
{
    svit_context *context = NULL;
    svit_context_config config;
    svit_context_config_init(&config, sizeof config);
    config.threads = 4;
    if (svit_context_create(&context, &config, NULL) != SVIT_OK)
        return 1;
    svit_model_config small;
    svit_model *model = NULL;
    svit_model_config_init(&small, sizeof small);
    int failed = svit_model_create(&model, context, &small, 1, NULL) != SVIT_OK;
    svit_model_free(model);
    svit_context_free(context);
    return failed;
}

/* Waits for the child, which SIGALRM ends after some seconds if it hangs. */
static void check_child(scene *s)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        signal(SIGALRM, SIG_DFL); /* the exit of the test itself would end the test */
        alarm(60);
        int wrong = first_not_refused(s);
        if (!wrong && own_context_fails())
            wrong = 98;
        scene_free(s);
        _exit(wrong);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "the child ended by signal %d", WTERMSIG(status));
    ck_assert_msg(WEXITSTATUS(status) == 0, "call %d was not refused", WEXITSTATUS(status));
}

START_TEST(test_a_child_of_an_idle_parent_frees_all_and_the_parent_goes_on)
{
    folder = fit_folder_make();
    scene s = scene_make();
    size_t n;
    float again[BATCH * CLASSES];
    WORKS(svit_session_set_mode(s.session, SVIT_MODE_INFER, err));
    WORKS(svit_forward(s.session, images, BATCH, logits, err));
    check_child(&s);
    WORKS(svit_forward(s.session, images, BATCH, again, err));
    ck_assert_mem_eq(logits, again, sizeof logits);
    WORKS(svit_loader_next(s.loader, images, batch_labels, &n, err));
    svit_trainer_event event;
    WORKS(svit_trainer_step(s.trainer, &event, sizeof event, err));
    WORKS(svit_trainer_checkpoint(s.trainer, err));
    scene_free(&s);
    fit_folder_remove(&folder);
}
END_TEST

typedef struct busy_thread {
    scene *scene;
    atomic_int end;
} busy_thread;

/* Keeps the workers busy, and holds the lock of a model's packed weights most of the time. */
static void *keep_busy(void *argument)
{
    busy_thread *busy = argument;
    const float bias[CLASSES] = {0};
    float few[CLASSES];
    uint8_t one[PIXELS] = {0};
    float out[PIXELS];
    while (!atomic_load(&busy->end)) {
        svit_pipeline_apply_evaluation(busy->scene->context, &busy->scene->pipeline, one, 1, SIDE,
                                       SIDE, out, NULL);
        svit_model_set_parameter(busy->scene->changing, "head.bias", bias, CLASSES, NULL);
        svit_forward(busy->scene->inferring, out, 1, few, NULL);
    }
    return NULL;
}

START_TEST(test_a_child_of_a_busy_parent_frees_all_and_the_parent_goes_on)
{
#ifdef __SANITIZE_ADDRESS__
    skip_check("AddressSanitizer's allocator may be locked in a child of several threads");
    return;
#endif
    folder = fit_folder_make();
    scene s = scene_make();
    busy_thread busy = {.scene = &s};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, keep_busy, &busy), 0);
    for (int i = 0; i < 10; i++)
        check_child(&s);
    atomic_store(&busy.end, 1);
    pthread_join(thread, NULL);
    WORKS(svit_forward(s.session, images, BATCH, logits, err));
    scene_free(&s);
    fit_folder_remove(&folder);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("fork");
    TCase *c = tcase_create("fork");
    tcase_add_test(c, test_a_child_of_an_idle_parent_frees_all_and_the_parent_goes_on);
    tcase_add_test(c, test_a_child_of_a_busy_parent_frees_all_and_the_parent_goes_on);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
