/* Checks the presets that have the whole recipe of the SL-ViT paper's code. */
#include "fit.h"

static const char *const papers[] = {"slvit-paper-cifar10", "slvit-paper-cifar100",
                                     "vit-paper-cifar100"};

/* The settings of the SL-ViT paper's code that its presets without augmentation lack. */
START_TEST(test_full_presets_add_what_the_papers_code_has)
{
    static const svit_augment_step steps[] = {
        {.kind = SVIT_AUGMENT_FLIP, .probability = 0.5},
        {.kind = SVIT_AUGMENT_CROP, .padding = 4},
        {.kind = SVIT_AUGMENT_AUTOAUGMENT, .mode = SVIT_AUTOAUGMENT_CIFAR10},
        {.kind = SVIT_AUGMENT_ERASING,
         .probability = 0.25,
         .scale = {0.02, 0.4},
         .ratio = {0.3, 1 / 0.3}},
        {.kind = SVIT_AUGMENT_MIXUP, .probability = 0.5, .alpha = 1},
        {.kind = SVIT_AUGMENT_CUTMIX, .probability = 0.5, .alpha = 1}};
    svit_model_config models[2];
    svit_trainer_config trainers[2];
    svit_optimizer_config optimizers[2];
    svit_pipeline_config pipelines[2];
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", papers[_i], i ? "-full" : "");
        WORKS(svit_model_config_preset(&models[i], sizeof models[i], name, err));
        WORKS(svit_training_preset(name, &trainers[i], sizeof trainers[i], &optimizers[i],
                                   sizeof optimizers[i], &pipelines[i], sizeof pipelines[i], err));
    }
    ck_assert(fit_same_config(&models[0], &models[1]));
    ck_assert_uint_eq(trainers[1].epochs, 300);
    ck_assert_uint_eq(optimizers[1].decay_exclude, 0);
    ck_assert_int_eq(optimizers[1].epsilon_form, SVIT_EPSILON_TORCH);
    ck_assert_double_eq(optimizers[1].lr_start, 1e-6);
    ck_assert_double_eq(pipelines[1].flip_probability, 0);
    ck_assert_uint_eq(pipelines[1].augment_count, sizeof steps / sizeof *steps);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const svit_augment_step *step = &pipelines[1].augment[i];
        ck_assert_int_eq(step->kind, steps[i].kind);
        ck_assert_double_eq(step->probability, steps[i].probability);
        ck_assert_uint_eq(step->padding, steps[i].padding);
        ck_assert_int_eq(step->mode, steps[i].mode);
        ck_assert_double_eq(step->alpha, steps[i].alpha);
        for (size_t end = 0; end < 2; end++) {
            ck_assert_double_eq(step->scale[end], steps[i].scale[end]);
            ck_assert_double_eq(step->ratio[end], steps[i].ratio[end]);
        }
    }
    /* All else is that of the preset without augmentation. */
    ck_assert_uint_eq(pipelines[0].augment_count, 0);
    trainers[1].epochs = trainers[0].epochs;
    optimizers[1].decay_exclude = optimizers[0].decay_exclude;
    optimizers[1].epsilon_form = optimizers[0].epsilon_form;
    optimizers[1].lr_start = optimizers[0].lr_start;
    pipelines[1].flip_probability = pipelines[0].flip_probability;
    pipelines[1].augment_count = 0;
    char json[2][16384];
    for (size_t i = 0; i < 2; i++)
        WORKS(svit_training_to_json(&trainers[i], &optimizers[i], &pipelines[i], json[i],
                                    sizeof json[i], NULL, err));
    ck_assert_str_eq(json[0], json[1]);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("full presets");
    TCase *c = tcase_create("full presets");
    tcase_add_loop_test(c, test_full_presets_add_what_the_papers_code_has, 0,
                        sizeof papers / sizeof *papers);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
