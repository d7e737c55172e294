/* Checks that everything that the library writes leaves the files and folders of others alone,
 * whose names look like those of temporary files, and leaves none of its own behind. */
#include "build.h"
#include "trainer_support.h"

#include <dirent.h>
#include <shiftvit/onnx.h>
#include <sys/stat.h>

static svit_model *model;

static svit_status write_file(const char *path, svit_error *error)
{
    return svit_file_replace(path, "whole", 5, error);
}

static svit_status write_png(const char *path, svit_error *error)
{
    return svit_image_write_png(context, path, images, SIDE, SIDE, error);
}

static svit_status save_model(const char *path, svit_error *error)
{
    return svit_model_save(model, path, error);
}

static svit_status save_int8(const char *path, svit_error *error)
{
    return svit_model_save_as(model, path, SVIT_DTYPE_I8, error);
}

static svit_status export_onnx(const char *path, svit_error *error)
{
    return svit_model_export_onnx(model, path, NULL, error);
}

static svit_status save_checkpoint(const char *path, svit_error *error)
{
    svit_optimizer *optimizer = NULL;
    svit_session *session = NULL;
    svit_session_config config;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    svit_status status =
        svit_checkpoint_save(path, model, optimizer, session, NULL, NULL, 0, error);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    return status;
}

static svit_status save_features(const char *path, svit_error *error)
{
    static const float values[] = {1, 2, 3, 4};
    static const int32_t classes[] = {0, 1};
    svit_features *features = NULL;
    WORKS(svit_features_create(&features, context, values, classes, 2, 2, 2, NULL, err));
    svit_status status = svit_features_save(features, path, error);
    svit_features_free(features);
    return status;
}

/* A run of one epoch in the folder of `path`, which writes all its files. */
static svit_status train(const char *path, svit_error *error)
{
    (void)path;
    plan p = plan_make(1);
    svit_trainer *trainer = NULL;
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    svit_status status = svit_trainer_create(&trainer, context, model, training, validation,
                                             &p.trainer, &p.optimizer, &p.pipeline, error);
    if (status == SVIT_OK)
        status = svit_trainer_run(trainer, NULL, NULL, error);
    svit_trainer_free(trainer);
    return status;
}

static const struct {
    const char *name;
    svit_status (*write)(const char *path, svit_error *error);
} WRITERS[] = {
    {"other.safetensors", write_file},    {"image.png", write_png},
    {"model.safetensors", save_model},    {"model.safetensors", save_int8},
    {"other.safetensors", export_onnx},   {"checkpoint.safetensors", save_checkpoint},
    {"other.safetensors", save_features}, {"checkpoint.safetensors", train},
    {"best.safetensors", train},          {"history.csv", train},
};

static const char *const ENDINGS[] = {".part", ".part1", ".tmp", "~"};

/* The entries of the folder that no test has put there and no writer writes. */
static void assert_no_strangers(const char *name)
{
    DIR *list = opendir(folder.path);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;)
        ck_assert_msg(!strstr(entry->d_name, ".part") && !strstr(entry->d_name, ".tmp") &&
                          !strstr(entry->d_name, "~"),
                      "%s has left '%s'", name, entry->d_name);
    closedir(list);
}

/* Every writer x every ending x a file, a folder. */
START_TEST(test_files_of_others_stay)
{
    const char *name = WRITERS[_i].name;
    if (WRITERS[_i].write == write_png) {
        NEEDS(HAS_PNG, "PNG");
    }
    model = fit_model(context, CLASSES, 1);
    for (int c = 0; c < 2 * 4; c++) {
        char path[512], wanted[512];
        struct stat state;
        svit_error error = {sizeof error, 0, ""};
        const int is_folder = c / 4;
        snprintf(wanted, sizeof wanted, "%s/%s", folder.path, name);
        snprintf(path, sizeof path, "%s%s", wanted, ENDINGS[c % 4]);
        if (is_folder)
            ck_assert_int_eq(mkdir(path, 0700), 0);
        else
            fit_write(path, "mine", 4);
        svit_status status = WRITERS[_i].write(wanted, &error);
        ck_assert_msg(status == SVIT_OK, "%s beside '%s': %s", name, path, error.message);
        ck_assert_int_eq(lstat(path, &state), 0);
        ck_assert_int_eq(S_ISDIR(state.st_mode), is_folder);
        ck_assert(is_folder || state.st_size == 4);
        ck_assert_int_eq(is_folder ? rmdir(path) : unlink(path), 0);
        assert_no_strangers(name);
    }
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("file_writers");
    TCase *c = tcase_create("file_writers");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_files_of_others_stay, 0, sizeof WRITERS / sizeof *WRITERS);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
