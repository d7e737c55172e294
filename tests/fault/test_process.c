/* Makes any allocation of the whole process fail, those of other libraries included. A call then
 * either succeeds with exactly the right result, or returns SVIT_E_MEMORY and leaves the old file
 * as it is. */
#include "fit.h"
#include "jpeg_make.h"

#include <dlfcn.h>

enum { SIDE = 24, CLASSES = 3, EXIT_SKIPPED = 77 };

/* The functions of failing_malloc.c; NULL if it is not preloaded. */
static void (*arm)(size_t n, int always);
static size_t (*disarm)(void);

static fit_folder folder;
static svit_context *context;
static svit_model *model;
static svit_model_config config;
static svit_pipeline_config pipeline;
static svit_session *session;
static svit_optimizer *optimizer;
static char model_path[128], checkpoint_path[128], out_path[128];
static uint8_t rgb[SIDE * SIDE * 3];
static char text[8192], config_json[4096], pipeline_json[4096], description[8192];
static unsigned char *png;
static size_t png_bytes;
static jpeg_file jpeg;

/* The result of a call, to be compared and freed. */
static svit_model *made;
static svit_image *image;
static svit_predictor *predictor;
static svit_checkpoint *checkpoint;
static svit_model_config made_config;
static svit_pipeline_config made_pipeline;

/* The content of the file that a call replaces: before the call, and after it. */
static const char OLD[] = "the old file";
static char *wanted_file;
static size_t wanted_bytes;

static svit_status save_model(svit_error *err)
{
    return svit_model_save(model, out_path, err);
}

static svit_status save_checkpoint(svit_error *err)
{
    static const char *const keys[] = {"note", "other"}, *const values[] = {"kept", "\"too\""};
    return svit_checkpoint_save(out_path, model, optimizer, session, keys, values, 2, err);
}

static svit_status write_png(svit_error *err)
{
    return svit_image_write_png(context, out_path, rgb, SIDE, SIDE, err);
}

static svit_status load_model(svit_error *err)
{
    return svit_model_load(&made, context, model_path, err);
}

static svit_status load_as(svit_error *err)
{
    return svit_model_load_with_config(&made, context, &config, model_path, err);
}

static svit_status map_model(svit_error *err)
{
    return svit_model_map(&made, context, model_path, err);
}

static void check_model(void)
{
    svit_model_config loaded;
    WORKS(svit_model_get_config(made, &loaded, sizeof loaded, err));
    ck_assert(fit_same_config(&loaded, &config));
    ck_assert(fit_same(made, model));
    ck_assert_str_eq(svit_model_class_name(made, 2), "c\xc3\xa9");
    WORKS(svit_model_get_pipeline(made, &made_pipeline, sizeof made_pipeline, err));
    ck_assert(fit_same_pipeline(&made_pipeline, &pipeline));
}

static svit_status open_checkpoint(svit_error *err)
{
    return svit_checkpoint_open(&checkpoint, context, checkpoint_path, err);
}

static void check_checkpoint(void)
{
    ck_assert_str_eq(svit_checkpoint_value(checkpoint, "note"), "kept");
    ck_assert_str_eq(svit_checkpoint_value(checkpoint, "other"), "\"too\"");
}

static svit_checkpoint *whole_checkpoint;

static svit_status restore_checkpoint(svit_error *err)
{
    return svit_checkpoint_restore(whole_checkpoint, model, optimizer, session, err);
}

static void check_restored(void)
{
    made = NULL;
    WORKS(svit_model_load(&made, context, model_path, err));
    ck_assert(fit_same(made, model));
}

static svit_status config_from_json(svit_error *err)
{
    return svit_model_config_from_json(&made_config, sizeof made_config, config_json, err);
}

static void check_config(void)
{
    ck_assert(fit_same_config(&made_config, &config));
}

static svit_status config_to_json(svit_error *err)
{
    return svit_model_config_to_json(&config, text, sizeof text, NULL, err);
}

static void check_config_json(void)
{
    ck_assert_str_eq(text, config_json);
}

static svit_status pipeline_from_json(svit_error *err)
{
    return svit_pipeline_config_from_json(&made_pipeline, sizeof made_pipeline, pipeline_json, err);
}

static void check_pipeline(void)
{
    ck_assert(fit_same_pipeline(&made_pipeline, &pipeline));
}

static svit_status pipeline_to_json(svit_error *err)
{
    return svit_pipeline_config_to_json(&pipeline, text, sizeof text, NULL, err);
}

static void check_pipeline_json(void)
{
    ck_assert_str_eq(text, pipeline_json);
}

static svit_status decode_png(svit_error *err)
{
    return svit_image_decode(&image, context, png, png_bytes, "a.png", 3, err);
}

static svit_status decode_jpeg(svit_error *err)
{
    return svit_image_decode(&image, context, jpeg.data, jpeg.bytes, "a.jpg", 3, err);
}

static void check_image(void)
{
    ck_assert_uint_eq(svit_image_width(image), SIDE);
    ck_assert_mem_eq(svit_image_pixels(image), rgb, sizeof rgb);
}

/* The JPEG is grey, so that decoders agree closely enough to compare with a small tolerance. */
static void check_jpeg(void)
{
    const uint8_t *pixels = svit_image_pixels(image);
    ck_assert_uint_eq(svit_image_height(image), SIDE);
    for (size_t i = 0; i < sizeof rgb; i++)
        ck_assert_int_le(abs((int)pixels[i] - 100), 2);
}

static svit_status describe(svit_error *err)
{
    return svit_context_describe(context, text, sizeof text, NULL, err);
}

static void check_description(void)
{
    ck_assert_str_eq(text, description);
}

static svit_status create_predictor(svit_error *err)
{
    return svit_predictor_create(&predictor, context, model_path, NULL, err);
}

static void check_predictor(void)
{
    float probabilities[CLASSES];
    WORKS(svit_predict_u8(predictor, rgb, 1, SIDE, SIDE, probabilities, err));
    ck_assert_float_gt(probabilities[0] + probabilities[1] + probabilities[2], 0.999f);
}

typedef struct call {
    const char *name;
    svit_status (*run)(svit_error *err);
    void (*check)(void); /* NULL: the file is compared instead */
} call;

static const call calls[] = {
    {"svit_model_save", save_model, NULL},
    {"svit_checkpoint_save", save_checkpoint, NULL},
    {"svit_image_write_png", write_png, NULL},
    {"svit_model_load", load_model, check_model},
    {"svit_model_load_with_config", load_as, check_model},
    {"svit_model_map", map_model, check_model},
    {"svit_checkpoint_open", open_checkpoint, check_checkpoint},
    {"svit_checkpoint_restore", restore_checkpoint, check_restored},
    {"svit_model_config_from_json", config_from_json, check_config},
    {"svit_model_config_to_json", config_to_json, check_config_json},
    {"svit_pipeline_config_from_json", pipeline_from_json, check_pipeline},
    {"svit_pipeline_config_to_json", pipeline_to_json, check_pipeline_json},
    {"svit_context_describe", describe, check_description},
    {"svit_predictor_create", create_predictor, check_predictor},
    {"svit_image_decode of a PNG", decode_png, check_image},
    {"svit_image_decode of a JPEG", decode_jpeg, check_jpeg},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void free_made(void)
{
    svit_model_free(made);
    svit_image_free(image);
    svit_predictor_free(predictor);
    svit_checkpoint_free(checkpoint);
    made = NULL;
    image = NULL;
    predictor = NULL;
    checkpoint = NULL;
    text[0] = '\0';
}

static void check_file(const char *contents, size_t bytes)
{
    size_t found;
    char *file = fit_read(out_path, &found);
    ck_assert_uint_eq(found, bytes);
    ck_assert_mem_eq(file, contents, bytes);
    free(file);
}

/* Runs one call whose n-th allocation fails. Returns how many allocations have failed. */
static size_t try_call(const call *what, size_t n, int for_ever)
{
    svit_error err = {.struct_size = sizeof err};
    fit_write(out_path, OLD, sizeof OLD);
    arm(n, for_ever);
    svit_status status = what->run(&err);
    size_t failed = disarm();
    ck_assert_msg(status == SVIT_OK || (failed && status == SVIT_E_MEMORY),
                  "%s: allocation %zu%s failed: %s: %s", what->name, n,
                  for_ever ? " and all after it" : "", svit_status_name(status), err.message);
    if (status != SVIT_OK)
        check_file(OLD, sizeof OLD);
    else if (what->check)
        what->check();
    else
        check_file(wanted_file, wanted_bytes);
    free_made();
    return failed;
}

static void write_jpeg(void)
{
    uint8_t grey[sizeof rgb];
    memset(grey, 100, sizeof grey);
    jpeg = jpeg_make(grey, SIDE, SIDE, (jpeg_options){.channels = 3, .quality = 95});
}

static void setup_model(void)
{
    static const char *const names[] = {"a", "b", "c\xc3\xa9"};
    static float images[8 * 8 * 3], logits[CLASSES];
    model = fit_model(context, CLASSES, 5);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.resize_height = pipeline.resize_width = 9;
    pipeline.output_height = pipeline.output_width = 8;
    pipeline.scale = 1.0 / 3;
    WORKS(svit_model_set_classes(model, names, CLASSES, err));
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    svit_session_config settings;
    WORKS(svit_session_config_init(&settings, sizeof settings));
    settings.mode = SVIT_MODE_TRAIN;
    settings.max_batch = 1;
    WORKS(svit_session_create(&session, model, &settings, err));
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    WORKS(svit_forward(session, images, 1, logits, err));
    WORKS(svit_backward(session, logits, 1, err));
    WORKS(svit_step(optimizer, session, err));
}

static void setup(void)
{
    folder = fit_folder_make();
    snprintf(model_path, sizeof model_path, "%s", fit_path(&folder, "model.safetensors"));
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s",
             fit_path(&folder, "checkpoint.safetensors"));
    snprintf(out_path, sizeof out_path, "%s", fit_path(&folder, "other.safetensors"));
    context = fit_context(1);
    setup_model();
    WORKS(svit_model_save(model, model_path, err));
    WORKS(save_checkpoint(err));
    ck_assert_int_eq(rename(out_path, checkpoint_path), 0);
    WORKS(svit_checkpoint_open(&whole_checkpoint, context, checkpoint_path, err));
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * 7);
    WORKS(write_png(err));
    png = (unsigned char *)fit_read(out_path, &png_bytes);
    write_jpeg();
    WORKS(svit_model_config_to_json(&config, config_json, sizeof config_json, NULL, err));
    WORKS(svit_pipeline_config_to_json(&pipeline, pipeline_json, sizeof pipeline_json, NULL, err));
    WORKS(svit_context_describe(context, description, sizeof description, NULL, err));
}

static void teardown(void)
{
    svit_checkpoint_free(whole_checkpoint);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
    free(png);
    free(jpeg.data);
    free(wanted_file);
    jpeg.data = NULL;
    wanted_file = NULL;
    fit_folder_remove(&folder);
}

START_TEST(test_any_allocation_of_the_process_may_fail)
{
    const call *what = &calls[_i];
    WORKS(what->run(err));
    if (!what->check)
        wanted_file = fit_read(out_path, &wanted_bytes);
    free_made();
    size_t failing = 0;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t n = 1;
        while (try_call(what, n, for_ever))
            n++;
        failing = n - 1;
    }
    printf("%s: %zu failing allocations, each alone and with all after it\n", what->name, failing);
    fflush(stdout);
    ck_assert_uint_gt(failing, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("failing allocations of the process");
    TCase *c = tcase_create("malloc");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_any_allocation_of_the_process_may_fail, 0, CALLS);
    suite_add_tcase(all, c);
    return all;
}

/* A memory checker may have replaced the allocator before this library. */
static int is_in_front(void)
{
    arm(1, 0);
    void *volatile memory = malloc(1);
    free(memory);
    return disarm() == 1;
}

int main(void)
{
    *(void **)&arm = dlsym(RTLD_DEFAULT, "failing_malloc_arm");
    *(void **)&disarm = dlsym(RTLD_DEFAULT, "failing_malloc_disarm");
    if (!arm || !disarm || !is_in_front())
        return EXIT_SKIPPED;
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
