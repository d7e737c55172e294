/* Gives each public function that reports errors NULL for each of its pointers in turn: it is
 * refused by name, unless the function's comment says what NULL means there. */
#include "fit.h"

enum { SIDE = 8, CLASSES = 3, IMAGES = 4 };

/* What functions are called with: handles that work, and memory for all else. No call gets so far
 * as to read it. */
static svit_context *svit_context_handle;
static svit_model *svit_model_handle;
static svit_dataset *svit_dataset_handle;
static svit_session *svit_session_handle;
static svit_optimizer *svit_optimizer_handle;
static svit_predictor *svit_predictor_handle;
static svit_loader *svit_loader_handle;
static svit_trainer *svit_trainer_handle;
static svit_features *svit_features_handle;
static svit_extractor *svit_extractor_handle;
static svit_checkpoint *svit_checkpoint_handle;
static svit_folder_lock *svit_folder_lock_handle;
static fit_folder folder;
static char text[1 << 12] = "text";
static uint64_t memory[1 << 12];
static svit_error error = {.struct_size = sizeof error};

#define HANDLE(type) type##_handle
#define TEXT text
#define MEMORY ((void *)memory)
#define NUMBER 1
#define CALLBACK(type) ((type)never_called)

static void never_called(void)
{
    abort();
}

/* pointers.h, which the build makes of the public headers, has
 * POINTER(function, argument, type, (arguments)) for each pointer, with NULL for that one. */
typedef struct pointer {
    const char *function, *argument, *type;
    svit_status (*call)(void);
} pointer;

#define POINTER(function, argument, type, arguments)                                               \
    static svit_status function##_without_##argument(void)                                         \
    {                                                                                              \
        return function arguments;                                                                 \
    }
#include "pointers.h"
#undef POINTER
#define POINTER(function, argument, type, arguments)                                               \
    {#function, #argument, #type, function##_without_##argument},
static const pointer POINTERS[] = {
#include "pointers.h"
};

/* The pointers that may be NULL by the comment of their function. */
static const struct {
    const char *function, *arguments;
} OPTIONAL[] = {
    {"*", "needed user"}, /* of all functions */
    {"svit_error_set", "message"},
    {"svit_context_create", "config"},
    {"svit_image_decode", "name"},
    {"svit_pipeline_config_to_json", "buffer"},
    {"svit_dataset_memory_f32", "labels targets"},
    {"svit_dataset_verify", "bad bad_count"},
    {"svit_loader_config_to_json", "buffer"},
    {"svit_loader_create", "config"},
    {"svit_model_config_to_json", "buffer"},
    {"svit_model_multiply_adds", "forward training"},
    {"svit_model_set_pipeline", "config"},
    {"svit_model_export_onnx", "options"},
    {"svit_model_load_mapped", "map"},
    {"svit_model_load_into", "map report"},
    {"svit_model_open", "options report"},
    {"svit_session_config_to_json", "buffer"},
    {"svit_session_create", "config"},
    {"svit_session_memory_needed", "config"},
    {"svit_session_set_reducer", "reducer"},
    {"svit_cross_entropy", "mean_loss dlogits"},
    {"svit_cross_entropy_soft", "mean_loss dlogits"},
    {"svit_cross_entropy_weighted", "class_weights mean_loss dlogits"},
    {"svit_binary_cross_entropy", "pos_weight mean_loss dlogits"},
    {"svit_mean_squared_error", "mean_loss dpredictions"},
    {"svit_multilabel_metrics", "element_accuracy exact_match micro_f1 macro_f1"},
    {"svit_regression_errors", "mean_absolute root_mean_square"},
    {"svit_optimizer_config_to_json", "buffer"},
    {"svit_optimizer_create", "config"},
    {"svit_checkpoint_save", "optimizer session"},
    {"svit_checkpoint_restore", "model optimizer session"},
    {"svit_trainer_config_to_json", "buffer"},
    {"svit_training_to_json", "buffer"},
    {"svit_config_fields", "buffer"},
    {"svit_training_preset", "trainer optimizer pipeline"},
    {"svit_fine_tuning_settings", "trainer optimizer pipeline"},
    {"svit_trainer_create", "validation config optimizer pipeline"},
    {"svit_trainer_set_loss", "function"},
    {"svit_trainer_run", "callback"},
    {"svit_evaluate", "pipeline loss top1 top5"},
    {"svit_evaluate_with_compute", "pipeline loss top1 top5"},
    {"svit_evaluate_logits", "pipeline labels"},
    {"svit_features_compute", "pipeline config"},
    {"svit_extractor_create", "pipeline config"},
    {"svit_features_create", "labels class_names"},
    {"svit_head_config_to_json", "buffer"},
    {"svit_model_fit_head", "config"},
    {"svit_class_config_to_json", "buffer"},
    {"svit_model_fit_class", "name old config"},
    {"svit_model_open", "options report"},
    {"svit_predictor_create", "config"},
    {"svit_predictor_create_from_memory", "config"},
    {"svit_predictor_create_from_model", "config"},
    {"svit_predict_files", "errors"},
    {"svit_predict_encoded_images", "errors"},
};

static void setup(void)
{
    static uint8_t pixels[IMAGES * SIDE * SIDE * 3];
    static const int32_t labels[IMAGES] = {0, 1, 2, 0};
    static const float values[IMAGES * 2] = {1, 2, 3, 4};
    svit_trainer_config training;
    svit_pipeline_config pipeline;
    folder = fit_folder_make();
    svit_context_handle = fit_context(1);
    svit_model_handle = fit_model(svit_context_handle, CLASSES, 1);
    WORKS(svit_dataset_memory(&svit_dataset_handle, svit_context_handle, pixels, labels, IMAGES,
                              SIDE, SIDE, 3, CLASSES, err));
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    WORKS(svit_model_set_pipeline(svit_model_handle, &pipeline, err));
    WORKS(svit_session_create(&svit_session_handle, svit_model_handle, NULL, err));
    WORKS(svit_optimizer_create(&svit_optimizer_handle, svit_model_handle, NULL, err));
    WORKS(svit_predictor_create_from_model(&svit_predictor_handle, svit_model_handle, NULL, err));
    WORKS(svit_loader_create(&svit_loader_handle, svit_dataset_handle, &pipeline, NULL, err));
    WORKS(svit_trainer_config_init(&training, sizeof training));
    WORKS(svit_trainer_create(&svit_trainer_handle, svit_context_handle, svit_model_handle,
                              svit_dataset_handle, NULL, &training, NULL, &pipeline, err));
    WORKS(svit_extractor_create(&svit_extractor_handle, svit_model_handle, NULL, NULL, err));
    WORKS(svit_features_create(&svit_features_handle, svit_context_handle, values, labels, IMAGES,
                               2, CLASSES, NULL, err));
    WORKS(svit_checkpoint_save(fit_path(&folder, "checkpoint.safetensors"), svit_model_handle,
                               svit_optimizer_handle, svit_session_handle, NULL, NULL, 0, err));
    WORKS(svit_checkpoint_open(&svit_checkpoint_handle, svit_context_handle,
                               fit_path(&folder, "checkpoint.safetensors"), err));
    WORKS(svit_folder_lock_create(&svit_folder_lock_handle, svit_context_handle, folder.path, err));
}

static void teardown(void)
{
    svit_folder_lock_free(svit_folder_lock_handle);
    svit_checkpoint_free(svit_checkpoint_handle);
    svit_features_free(svit_features_handle);
    svit_extractor_free(svit_extractor_handle);
    svit_trainer_free(svit_trainer_handle);
    svit_loader_free(svit_loader_handle);
    svit_predictor_free(svit_predictor_handle);
    svit_optimizer_free(svit_optimizer_handle);
    svit_session_free(svit_session_handle);
    svit_dataset_free(svit_dataset_handle);
    svit_model_free(svit_model_handle);
    svit_context_free(svit_context_handle);
    fit_folder_remove(&folder);
}

static int has_word(const char *words, const char *word)
{
    char padded[128], wanted[64];
    snprintf(padded, sizeof padded, " %s ", words);
    snprintf(wanted, sizeof wanted, " %s ", word);
    return strstr(padded, wanted) != NULL;
}

static int is_optional(const pointer *of)
{
    for (size_t i = 0; i < sizeof OPTIONAL / sizeof *OPTIONAL; i++)
        if ((OPTIONAL[i].function[0] == '*' || strcmp(OPTIONAL[i].function, of->function) == 0) &&
            has_word(OPTIONAL[i].arguments, of->argument))
            return 1;
    return 0;
}

START_TEST(test_a_pointer_that_is_null_is_refused_by_its_name)
{
    const pointer *of = &POINTERS[_i];
    if (is_optional(of))
        return;
    error.message[0] = '\0';
    const svit_status status = of->call();
    ck_assert_msg(status == SVIT_E_ARGUMENT && strstr(error.message, "NULL") &&
                      (strstr(error.message, of->argument) || strstr(error.message, of->type)),
                  "%s without %s gave %d (%s)", of->function, of->argument, (int)status,
                  error.message);
    /* A message that names a function names the one that was called. */
    const char *colon = strchr(error.message, ':');
    const size_t length = strlen(of->function);
    ck_assert_msg(!colon || strncmp(error.message, "svit_", 5) != 0 ||
                      ((size_t)(colon - error.message) == length &&
                       strncmp(error.message, of->function, length) == 0),
                  "%s without %s gave '%s'", of->function, of->argument, error.message);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("null_arguments");
    TCase *c = tcase_create("null_arguments");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_pointer_that_is_null_is_refused_by_its_name, 0,
                        sizeof POINTERS / sizeof *POINTERS);
    suite_add_tcase(s, c);
    return s;
}

TEST_MAIN(suite)
