/* Checks the presets whose settings are those of another one with changes: the whole recipe of the
 * SL-ViT paper's code, the narrow recipe for CIFAR-10, and that for CIFAR-100; and the recipes for
 * ImageNet. */
#include "fit.h"

#include <math.h>

static const char *const papers[] = {"slvit-paper-cifar10", "slvit-paper-cifar100",
                                     "vit-paper-cifar100"};

/* The model and the settings of a preset. */
typedef struct preset {
    svit_model_config model;
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
} preset;

static preset read_preset(const char *name)
{
    preset p;
    WORKS(svit_model_config_preset(&p.model, sizeof p.model, name, err));
    WORKS(svit_training_preset(name, &p.trainer, sizeof p.trainer, &p.optimizer, sizeof p.optimizer,
                               &p.pipeline, sizeof p.pipeline, err));
    return p;
}

static int is_same_training(const preset *a, const preset *b)
{
    char x[16384], y[16384];
    WORKS(svit_training_to_json(&a->trainer, &a->optimizer, &a->pipeline, x, sizeof x, NULL, err));
    WORKS(svit_training_to_json(&b->trainer, &b->optimizer, &b->pipeline, y, sizeof y, NULL, err));
    return strcmp(x, y) == 0;
}

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
    char name[64];
    snprintf(name, sizeof name, "%s-full", papers[_i]);
    preset both[2] = {read_preset(papers[_i]), read_preset(name)};
    ck_assert(fit_same_config(&both[0].model, &both[1].model));
    ck_assert_uint_eq(both[1].trainer.epochs, 300);
    ck_assert_uint_eq(both[1].optimizer.decay_exclude, 0);
    ck_assert_int_eq(both[1].optimizer.epsilon_form, SVIT_EPSILON_TORCH);
    ck_assert_double_eq(both[1].optimizer.lr_start, 1e-6);
    ck_assert_double_eq(both[1].pipeline.flip_probability, 0);
    ck_assert_uint_eq(both[1].pipeline.augment_count, sizeof steps / sizeof *steps);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const svit_augment_step *step = &both[1].pipeline.augment[i];
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
    ck_assert_uint_eq(both[0].pipeline.augment_count, 0);
    both[1].trainer.epochs = both[0].trainer.epochs;
    both[1].optimizer.decay_exclude = both[0].optimizer.decay_exclude;
    both[1].optimizer.epsilon_form = both[0].optimizer.epsilon_form;
    both[1].optimizer.lr_start = both[0].optimizer.lr_start;
    both[1].pipeline.flip_probability = both[0].pipeline.flip_probability;
    both[1].pipeline.augment_count = 0;
    ck_assert(is_same_training(&both[0], &both[1]));
}
END_TEST

/* What the narrow recipe changes of the fast one. */
START_TEST(test_the_narrow_recipe)
{
    preset fast = read_preset("shiftvit-cifar10-fast");
    const preset narrow = read_preset("shiftvit-cifar10-narrow");
    ck_assert_uint_eq(narrow.pipeline.augment_count, 3);
    ck_assert_int_eq(narrow.pipeline.augment[0].kind, SVIT_AUGMENT_FLIP);
    ck_assert_int_eq(narrow.pipeline.augment[0].mode, SVIT_FLIP_ALTERNATING);
    ck_assert_int_eq(narrow.pipeline.augment[1].kind, SVIT_AUGMENT_CROP);
    ck_assert_uint_eq(narrow.pipeline.augment[1].padding, 4);
    ck_assert_int_eq(narrow.pipeline.augment[2].kind, SVIT_AUGMENT_TRIVIALAUGMENT);
    fast.pipeline = narrow.pipeline;
    fast.trainer.epochs = 68;
    fast.trainer.early_fraction = 0.5;
    fast.trainer.early_height = fast.trainer.early_width = 24;
    fast.optimizer.weight_decay = 0.05;
    fast.optimizer.adamw_learning_rate = 0.006;
    fast.optimizer.ema_momentum = 0.998;
    ck_assert(is_same_training(&fast, &narrow));
    fast.model.dim = 72;
    fast.model.drop_path = 0;
    ck_assert(fit_same_config(&fast.model, &narrow.model));
}
END_TEST

/* What the recipe for CIFAR-100 changes of the narrow one. */
START_TEST(test_the_recipe_for_cifar100)
{
    preset narrow = read_preset("shiftvit-cifar10-narrow");
    const preset many = read_preset("shiftvit-cifar100");
    ck_assert_uint_eq(many.pipeline.augment_count, 4);
    svit_augment_step cutmix = many.pipeline.augment[3];
    ck_assert_int_eq(cutmix.kind, SVIT_AUGMENT_CUTMIX);
    ck_assert_double_eq(cutmix.probability, 0.3);
    ck_assert_double_eq(cutmix.alpha, 1);
    narrow.pipeline.augment[3] = cutmix;
    narrow.pipeline.augment_count = 4;
    for (int c = 0; c < 3; c++) {
        narrow.pipeline.mean[c] = ((const double[]){0.507, 0.4865, 0.4409})[c];
        narrow.pipeline.variance[c] = ((const double[]){0.0714, 0.0658, 0.0763})[c];
    }
    narrow.trainer.epochs = 38;
    narrow.optimizer.adamw_learning_rate = 0.003;
    narrow.optimizer.ema_momentum = 0.995;
    narrow.optimizer.point_count = 3;
    const double points[3][2] = {{0, 0}, {0.1, 1}, {1, 0}};
    memset(narrow.optimizer.points, 0, sizeof narrow.optimizer.points);
    memcpy(narrow.optimizer.points, points, sizeof points);
    ck_assert(is_same_training(&narrow, &many));
    narrow.model.num_classes = 100;
    narrow.model.dim = 96;
    narrow.model.drop_path = 0.05;
    ck_assert(fit_same_config(&narrow.model, &many.model));
}
END_TEST

/* The settings of docs/reproduction.md for images of 224 pixels. */
static const struct {
    const char *name;
    uint32_t batch;
    int32_t schedule;
    double smoothing, warmup, start, decay, clip; /* warmup: the fraction of the steps */
    uint32_t exclude;
    double mean, deviation; /* of red */
} IMAGENET[] = {
    {"shiftvit-t", 1024, SVIT_SCHEDULE_WARMUP_COSINE, 0.1, 1.0 / 15, 1e-6, 0.05, 5,
     SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM, 0.485, 0.229},
    {"mixer-b16-224", 4096, SVIT_SCHEDULE_LINEAR, 0, 10000.0 * 4096 / (300 * 1281167.0), 0, 0.1, 1,
     0, 0.5, 0.5},
};

START_TEST(test_the_recipes_for_imagenet)
{
    const preset p = read_preset(IMAGENET[_i].name);
    ck_assert_uint_eq(p.trainer.epochs, 300);
    ck_assert_uint_eq(p.trainer.batch, IMAGENET[_i].batch);
    ck_assert_uint_eq(p.trainer.patience, 0);
    ck_assert_double_eq(p.trainer.label_smoothing, IMAGENET[_i].smoothing);
    ck_assert_double_eq_tol(p.trainer.warmup_fraction, IMAGENET[_i].warmup, 1e-15);
    ck_assert_int_eq(p.optimizer.kind, SVIT_OPTIMIZER_ADAMW);
    ck_assert_int_eq(p.optimizer.schedule, IMAGENET[_i].schedule);
    ck_assert_double_eq(p.optimizer.learning_rate, 1e-3);
    ck_assert_double_eq(p.optimizer.lr_start, IMAGENET[_i].start);
    ck_assert_double_eq(p.optimizer.epsilon, 1e-8);
    ck_assert_double_eq(p.optimizer.weight_decay, IMAGENET[_i].decay);
    ck_assert_double_eq(p.optimizer.clip_norm, IMAGENET[_i].clip);
    ck_assert_uint_eq(p.optimizer.decay_exclude, IMAGENET[_i].exclude);
    ck_assert_uint_eq(p.pipeline.resize_height, 256);
    ck_assert_uint_eq(p.pipeline.output_height, 224);
    ck_assert_double_eq(p.pipeline.flip_probability, 0.5);
    ck_assert_double_eq(p.pipeline.scale, 1.0 / 255);
    ck_assert_double_eq(p.pipeline.mean[0], IMAGENET[_i].mean);
    ck_assert_double_eq_tol(sqrt(p.pipeline.variance[0]), IMAGENET[_i].deviation, 1e-15);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("full presets");
    TCase *c = tcase_create("full presets");
    tcase_add_loop_test(c, test_full_presets_add_what_the_papers_code_has, 0,
                        sizeof papers / sizeof *papers);
    tcase_add_test(c, test_the_narrow_recipe);
    tcase_add_test(c, test_the_recipe_for_cifar100);
    tcase_add_loop_test(c, test_the_recipes_for_imagenet, 0, sizeof IMAGENET / sizeof *IMAGENET);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
