/* The image processors of transformers, whose class has the defaults of what their files leave out:
 * those of transformers 5.24. */
#include "open_pipeline.h"
#include "suite.h"

/* Whether one number is both sides, the filter, whether they cut a centre where nothing says so,
 * the size of resized images and whether it is that of both sides, and the centre's; 0: none. */
static const struct class
{
    const char *name;
    bool square, bicubic, crops;
    uint32_t size;
    bool is_box;
    uint32_t crop;
    double mean[3], deviation[3];
} CLASSES[] = {
    {"ViT", true, false, false, 224, true, 0, HALVES},
    {"DeiT", true, true, true, 256, true, 224, HALVES},
    {"Beit", true, true, false, 224, true, 224, HALVES},
    {"CLIP", false, true, true, 224, false, 224, OPENAI},
    {"ChineseCLIP", false, true, true, 224, false, 224, OPENAI},
    {"Bit", false, true, true, 224, false, 224, OPENAI},
    {"Siglip", false, true, false, 224, true, 0, HALVES},
    {"DINOv3ViT", true, false, false, 224, true, 0, IMAGENET},
};
enum { CLASS_COUNT = sizeof CLASSES / sizeof *CLASSES };

static const char *const KEYS[] = {"image_processor_type\":\"%sImageProcessor",
                                   "image_processor_type\":\"%sImageProcessorFast",
                                   "feature_extractor_type\":\"%sFeatureExtractor"};
enum { KEY_COUNT = sizeof KEYS / sizeof *KEYS };

#define VIT_MEMBERS                                                                                \
    "\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7,"                           \
    "\"architectures\":[\"ViTForImageClassification\"]"
static const char VIT[] = "{" VIT_MEMBERS "}", VIT_28[] = "{" VIT_MEMBERS ",\"image_size\":28}";

static void case_vit(open_case *self, const char *config)
{
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", config);
}

static int32_t filter_of(bool square, bool bicubic)
{
    return square ? (bicubic ? SVIT_SOURCE_SQUASH_BICUBIC : SVIT_SOURCE_SQUASH)
                  : (bicubic ? SVIT_SOURCE_BICUBIC : SVIT_SOURCE_SHORTER_SIDE);
}

/* Every class under every key, with a size of one number, of both sides and of the shorter one. */
START_TEST(test_classes_of_transformers_have_their_defaults)
{
    static const char *const sizes[] = {"36", "{\"height\":36,\"width\":36}",
                                        "{\"shortest_edge\":36}"};
    const struct class *class = &CLASSES[_i / KEY_COUNT];
    open_case all, *self = &all;
    case_vit(self, VIT);
    for (size_t size = 0; size < 3; size++)
        for (int nested = 0; nested < 2; nested++) {
            char key[80], text[400];
            svit_pipeline_config pipeline;
            snprintf(key, sizeof key, KEYS[_i % KEY_COUNT], class->name);
            snprintf(text, sizeof text,
                     "%s{\"size\":%s,\"crop_size\":28,\"do_center_crop\":true,\"%s\"}%s",
                     nested ? "{\"processor_class\":\"x\",\"image_processor\":" : "", sizes[size],
                     key, nested ? "}" : "");
            case_text(self, nested ? "processor_config.json" : "preprocessor_config.json", text);
            pipeline_of(&pipeline, self, NULL);
            const bool square = size == 0 ? class->square : size == 1;
            ck_assert_int_eq(pipeline.source_filter, filter_of(square, class->bicubic));
            ck_assert_uint_eq(pipeline.source_height, 36);
            ck_assert_uint_eq(pipeline.output_width, 28);
            check_colours(&pipeline, class->mean, class->deviation);
            unlink(fit_path(&self->folder,
                            nested ? "processor_config.json" : "preprocessor_config.json"));
        }
    case_end(self);
}
END_TEST

/* crop_size alone cuts nothing in a class whose do_center_crop is false where it is not stated; it
 * is the side of the centre in one that cuts by itself. Without a centre the images of 42 pixels
 * are the input. */
START_TEST(test_classes_of_transformers_cut_as_they_do)
{
    static const struct {
        const char *flag;
        int cuts; /* -1: as the class does */
    } flags[] = {{"", -1},
                 {"\"do_center_crop\":null,", 0},
                 {"\"do_center_crop\":true,", 1},
                 {"\"do_center_crop\":false,", 0}};
    const struct class *class = &CLASSES[_i];
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    char text[400];
    case_vit(self, VIT_28);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const bool cuts = flags[i].cuts < 0 ? class->crops : flags[i].cuts;
        snprintf(text, sizeof text,
                 "{\"size\":{\"height\":42,\"width\":42},\"crop_size\":28,%s"
                 "\"image_processor_type\":\"%sImageProcessor\"}",
                 flags[i].flag, class->name);
        case_text(self, "preprocessor_config.json", text);
        pipeline_of(&pipeline, self, NULL);
        ck_assert_uint_eq(pipeline.source_height, 42);
        ck_assert_uint_eq(pipeline.output_height, cuts ? 28 : 42);
        ck_assert_int_eq(pipeline.evaluation, cuts ? SVIT_EVALUATE_CROP_FLOOR : SVIT_EVALUATE_CROP);
    }
    case_end(self);
}
END_TEST

/* Makes *out the pipeline of a class with these members. */
static void pipeline_with(svit_pipeline_config *out, open_case *self, const char *class,
                          const char *members)
{
    char text[300];
    snprintf(text, sizeof text, "{\"image_processor_type\":\"%sImageProcessor\"%s}", class,
             members);
    case_text(self, "preprocessor_config.json", text);
    pipeline_of(out, self, NULL);
}

/* Files without a size or a crop_size have those of the class. Regression: they were refused. */
START_TEST(test_sizes_that_are_not_stated_are_those_of_the_class)
{
    const struct class *class = &CLASSES[_i];
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    case_vit(self, VIT_28);
    pipeline_with(&pipeline, self, class->name, "");
    ck_assert_uint_eq(pipeline.source_height, class->size);
    ck_assert_uint_eq(pipeline.source_width, class->size);
    ck_assert_uint_eq(pipeline.output_width, 224);
    ck_assert_int_eq(pipeline.source_filter, filter_of(class->is_box, class->bicubic));
    if (class->crop > 0) {
        pipeline_with(&pipeline, self, class->name, ",\"size\":301,\"do_center_crop\":true");
        ck_assert_uint_eq(pipeline.source_height, 301);
        ck_assert_uint_eq(pipeline.output_height, class->crop);
    }
    case_end(self);
}
END_TEST

/* Lists are height and width. Regression: they were refused. */
START_TEST(test_sizes_may_be_lists_of_height_and_width)
{
    const struct class *class = &CLASSES[_i];
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    case_vit(self, VIT_28);
    pipeline_with(&pipeline, self, class->name,
                  ",\"size\":[42,49],\"crop_size\":[28,35],\"do_center_crop\":true");
    ck_assert_int_eq(pipeline.source_filter, filter_of(true, class->bicubic));
    ck_assert_uint_eq(pipeline.source_height, 42);
    ck_assert_uint_eq(pipeline.source_width, 49);
    ck_assert_uint_eq(pipeline.output_height, 28);
    ck_assert_uint_eq(pipeline.output_width, 35);
    case_end(self);
}
END_TEST

/* A flag that is null is false. Regression: the class's default was taken. And no class has the
 * steps of colours of others, whatever the file says. */
START_TEST(test_flags_of_classes)
{
    static const double unchanged[2][3] = {{0, 0, 0}, {1, 1, 1}};
    const struct class *class = &CLASSES[_i];
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    case_vit(self, VIT_28);
    pipeline_with(&pipeline, self, class->name,
                  ",\"size\":28,\"crop_size\":28,\"do_rescale\":null,\"do_normalize\":null,"
                  "\"default_to_square\":null");
    ck_assert_double_eq(pipeline.scale, 1);
    check_colours(&pipeline, unchanged[0], unchanged[1]);
    ck_assert_int_eq(pipeline.source_filter, filter_of(false, class->bicubic));
    pipeline_with(&pipeline, self, class->name,
                  ",\"size\":28,\"crop_size\":28,\"do_flip_channel_order\":true,"
                  "\"rescale_offset\":true");
    check_colours(&pipeline, class->mean, class->deviation);
    case_end(self);
}
END_TEST

/* DINOv3's processor resizes floats, which bicubic takes beyond those of bytes. */
START_TEST(test_floats_that_are_resized_bicubic_are_no_pipeline)
{
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    case_vit(self, VIT_28);
    pipeline_with(&pipeline, self, "DINOv3ViT", ",\"size\":28,\"resample\":2");
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_SQUASH);
    case_text(self, "preprocessor_config.json",
              "{\"image_processor_type\":\"DINOv3ViTImageProcessorFast\",\"size\":28,"
              "\"resample\":3}");
    WORKS(case_open(self, &model, NULL));
    FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE,
          "pipeline");
    ck_assert_msg(strstr(self->warning, "resample is 3, with which DINOv3ViTImageProcessor") &&
                      strstr(self->warning, "but its mean and deviation"),
                  "%s", self->warning);
    svit_model_free(model);
    case_end(self);
}
END_TEST

static Suite *open_processors_suite(void)
{
    Suite *suite = suite_create("open_processors");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_classes_of_transformers_have_their_defaults, 0,
                        CLASS_COUNT * KEY_COUNT);
    tcase_add_loop_test(tcase, test_classes_of_transformers_cut_as_they_do, 0, CLASS_COUNT);
    tcase_add_loop_test(tcase, test_sizes_that_are_not_stated_are_those_of_the_class, 0,
                        CLASS_COUNT);
    tcase_add_loop_test(tcase, test_sizes_may_be_lists_of_height_and_width, 0, CLASS_COUNT);
    tcase_add_loop_test(tcase, test_flags_of_classes, 0, CLASS_COUNT);
    tcase_add_test(tcase, test_floats_that_are_resized_bicubic_are_no_pipeline);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_processors_suite)
