/* Checks the presets of pretrained families against timm's configurations. */
#include "fit.h"

/* The preprocessing of timm's weights: the shorter side becomes floor(input / crop_pct). */
static const struct {
    const char *preset;
    uint32_t source, output;
    double mean[3], deviation[3];
} families[] = {
    {"deit-tiny-patch16-224", 248, 224, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"deit-base-distilled-patch16-224", 248, 224, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"vit-tiny-patch16-224", 248, 224, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
    {"vit-base-patch32-224", 248, 224, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
    {"vit-small-patch14-dinov2", 518, 518, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"vit-base-patch14-reg4-dinov2", 518, 518, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"vit-small-patch16-rope-mixed-224", 248, 224, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"vit-base-patch16-dinov3-qkvb", 256, 256, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"eva02-small-patch14-224",
     248,
     224,
     {0.48145466, 0.4578275, 0.40821073},
     {0.26862954, 0.26130258, 0.27577711}},
    {"vit-base-patch32-clip-224",
     248,
     224,
     {0.48145466, 0.4578275, 0.40821073},
     {0.26862954, 0.26130258, 0.27577711}},
    {"deit3-small-patch16-224", 248, 224, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"deit3-base-patch16-384", 384, 384, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"flexivit-base", 252, 240, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
    {"vit-base-patch16-siglip-224", 248, 224, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
    {"vit-base-patch32-siglip-256", 284, 256, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
    {"vit-base-patch16-siglip-384", 426, 384, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
    {"vit-medium-patch16-reg4-gap-256", 269, 256, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
};

START_TEST(test_pretrained_families_have_timms_preprocessing)
{
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    WORKS(svit_training_preset(families[_i].preset, &trainer, sizeof trainer, &optimizer,
                               sizeof optimizer, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.source_height, families[_i].source);
    ck_assert_uint_eq(pipeline.resize_width, families[_i].source);
    ck_assert_uint_eq(pipeline.output_width, families[_i].output);
    ck_assert_int_eq(pipeline.evaluation, SVIT_EVALUATE_CROP);
    ck_assert_double_eq(pipeline.scale, 1.0 / 255);
    for (int c = 0; c < 3; c++) {
        ck_assert_double_eq(pipeline.mean[c], families[_i].mean[c]);
        ck_assert_double_eq_tol(sqrt(pipeline.variance[c]), families[_i].deviation[c], 1e-12);
    }
    ck_assert_uint_eq(trainer.epochs, 10);
    ck_assert_uint_eq(trainer.batch, 64);
    ck_assert_double_eq(optimizer.learning_rate, 1e-4);
}
END_TEST

static Suite *presets_suite(void)
{
    Suite *suite = suite_create("presets of pretrained families");
    TCase *all = tcase_create("presets");
    tcase_add_loop_test(all, test_pretrained_families_have_timms_preprocessing, 0,
                        sizeof families / sizeof *families);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(presets_suite)
