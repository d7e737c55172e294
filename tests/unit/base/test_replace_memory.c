/* Files that the calls of a context replace take memory of its allocator. */
#include "build.h"
#include "ledger.h"
#include "trainer_support.h"

#include "base/files/file.h"

static ledger book;
static size_t of_context, of_others;

svit_status __real_sv_replacement_begin(sv_replacement **out, const sv_allocator *allocator,
                                        const char *path, svit_error *error);
svit_status __wrap_sv_replacement_begin(sv_replacement **out, const sv_allocator *allocator,
                                        const char *path, svit_error *error);

svit_status __wrap_sv_replacement_begin(sv_replacement **out, const sv_allocator *allocator,
                                        const char *path, svit_error *error)
{
    ++*(allocator->user == &book ? &of_context : &of_others);
    return __real_sv_replacement_begin(out, allocator, path, error);
}

/* Gives the data of setup() and a context with an allocator of its own. */
static void setup_counted(void)
{
    svit_context_config config;
    setup();
    svit_dataset_free(validation);
    svit_dataset_free(training);
    svit_context_free(context);
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 2;
    config.allocate = ledger_allocate;
    config.release = ledger_release;
    config.allocator_user = &book;
    WORKS(svit_context_create(&context, &config, err));
    WORKS(svit_dataset_memory(&training, context, images, labels, SAMPLES, SIDE, SIDE, 3, CLASSES,
                              err));
    WORKS(svit_dataset_slice(&validation, training, 0, VALIDATION, err));
    of_context = of_others = 0;
}

/* A regression: run.json and the first events were written with the C library's allocator. */
START_TEST(test_a_run_takes_memory_of_its_context)
{
    svit_model *model = fit_model(context, CLASSES, 1);
    plan p = plan_make(2);
    p.trainer.tensorboard = 1;
    p.trainer.description = "{\"name\":\"x\"}";
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    svit_model_free(model);
    ck_assert_int_eq(unlink(fit_path(&folder, "events.out.tfevents.shiftvit")), 0);
    ck_assert_uint_gt(of_context, 3);
    ck_assert_uint_eq(of_others, 0);
}
END_TEST

/* A regression: likewise. */
START_TEST(test_an_image_is_written_with_memory_of_its_context)
{
    NEEDS(HAS_PNG, "PNG");
    WORKS(svit_image_write_png(context, fit_path(&folder, "image.png"), images, SIDE, SIDE, err));
    ck_assert_uint_eq(of_context, 1);
    ck_assert_uint_eq(of_others, 0);
}
END_TEST

START_TEST(test_a_file_without_a_context_takes_none_of_it)
{
    WORKS(svit_file_replace(fit_path(&folder, "run.json"), "x", 1, err));
    ck_assert_uint_eq(of_context, 0);
    ck_assert_uint_eq(of_others, 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("replace_memory");
    TCase *c = tcase_create("replace_memory");
    tcase_add_checked_fixture(c, setup_counted, teardown);
    tcase_add_test(c, test_a_run_takes_memory_of_its_context);
    tcase_add_test(c, test_an_image_is_written_with_memory_of_its_context);
    tcase_add_test(c, test_a_file_without_a_context_takes_none_of_it);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
