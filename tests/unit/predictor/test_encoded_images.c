/* Checks predictions of many encoded images: the bits of one at a time, whatever their sizes and
 * the batches, and what becomes of damaged ones among them. */
#include "build.h"
#include "fit.h"

#include <math.h>
#include <stdatomic.h>

enum { CLASSES = 4, SIDE = 8, COUNT = 7, MOST_BYTES = 4096 };

typedef struct picture {
    char path[512];
    uint8_t data[MOST_BYTES];
    size_t bytes;
    float wanted[CLASSES]; /* by svit_predict_file */
} picture;

static svit_context *context;
static fit_folder folder;
static svit_model *model;
static svit_predictor *predictor;
static picture pictures[COUNT];
/* The arguments of the calls. */
static const char *paths[COUNT];
static const void *data[COUNT];
static size_t bytes[COUNT];
static svit_error errors[COUNT];
static float got[COUNT * CLASSES];

static void make_picture(size_t i)
{
    picture *self = &pictures[i];
    const size_t height = SIDE + 3 * i, width = SIDE + (i * 5) % 7;
    uint8_t rgb[64 * 64 * 3];
    for (size_t k = 0; k < height * width * 3; k++)
        rgb[k] = (uint8_t)((k + 17 * i) * (k + i) % 251);
    snprintf(self->path, sizeof self->path, "%s/%zu.png", folder.path, i);
    WORKS(svit_image_write_png(context, self->path, rgb, height, width, err));
    char *file = fit_read(self->path, &self->bytes);
    ck_assert_uint_le(self->bytes, MOST_BYTES);
    memcpy(self->data, file, self->bytes);
    free(file);
    WORKS(svit_predict_file(predictor, self->path, self->wanted, err));
    paths[i] = self->path;
    data[i] = self->data;
    bytes[i] = self->bytes;
}

/* Gives memory until `left` allocations have been made; below 0 always. */
static atomic_long left;

static void *allocate(void *user, size_t size, size_t alignment)
{
    (void)user;
    if (atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) <= 0) {
        atomic_store(&left, 0);
        return NULL;
    }
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void release(void *user, void *memory, size_t size)
{
    (void)user, (void)size;
    free(memory);
}

static svit_context *context_of_allocator(void)
{
    svit_context_config config;
    svit_context *made = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 2;
    config.allocate = allocate;
    config.release = release;
    atomic_store(&left, -1);
    WORKS(svit_context_create(&made, &config, err));
    return made;
}

/* The source step resizes all images but those of its own size. */
static void setup(void)
{
    svit_pipeline_config pipeline;
    svit_predictor_config config;
    context = context_of_allocator();
    folder = fit_folder_make();
    model = fit_model(context, CLASSES, 1);
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_filter = SVIT_SOURCE_SHORTER_SIDE;
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = 3;
    WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
    for (size_t i = 0; HAS_PNG && i < COUNT; i++)
        make_picture(i);
    for (size_t i = 0; i < COUNT; i++)
        errors[i] = (svit_error){.struct_size = sizeof errors[i], .code = 1, .message = "before"};
    memset(got, 0, sizeof got);
}

static void teardown(void)
{
    for (size_t i = 0; i < COUNT; i++)
        unlink(pictures[i].path);
    svit_predictor_free(predictor);
    svit_model_free(model);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

/* Predicts from files or from memory. */
static svit_status predict(int from_memory, svit_error *each, svit_error *err)
{
    return from_memory ? svit_predict_encoded_images(predictor, data, bytes, COUNT, got, each, err)
                       : svit_predict_files(predictor, paths, COUNT, got, each, err);
}

static void is_as_alone(size_t i)
{
    ck_assert_mem_eq(got + i * CLASSES, pictures[i].wanted, sizeof pictures[i].wanted);
}

START_TEST(test_many_images_are_predicted_as_each_alone)
{
    NEEDS(HAS_PNG, "PNG");
    for (size_t i = 1; i < COUNT; i++)
        ck_assert_mem_ne(pictures[i].wanted, pictures[0].wanted, sizeof pictures[i].wanted);
    for (int with_errors = 0; with_errors < 2; with_errors++) {
        memset(got, 0, sizeof got);
        WORKS(predict(_i, with_errors ? errors : NULL, err));
        for (size_t i = 0; i < COUNT; i++)
            is_as_alone(i);
    }
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(errors[i].code, SVIT_OK);
        ck_assert_str_eq(errors[i].message, "");
    }
}
END_TEST

/* Each set of damaged images, from none to all. */
START_TEST(test_damaged_images_among_others_have_their_errors)
{
    NEEDS(HAS_PNG, "PNG");
    for (unsigned set = 0; set < 1u << COUNT; set++) {
        int32_t labels[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            const int damaged = set >> i & 1;
            paths[i] = damaged ? "/nowhere/at/all.png" : pictures[i].path;
            bytes[i] = damaged ? i % 2 * 20 : pictures[i].bytes;
        }
        WORKS(predict(_i, errors, err));
        WORKS(svit_predictor_labels(predictor, got, COUNT, labels, err));
        for (size_t i = 0; i < COUNT; i++) {
            char name[32];
            snprintf(name, sizeof name, "encoded image %zu", i);
            ck_assert_uint_eq(errors[i].struct_size, sizeof errors[i]);
            if (set >> i & 1) {
                ck_assert_int_eq(errors[i].code, _i ? SVIT_E_FORMAT : SVIT_E_IO);
                ck_assert_ptr_nonnull(strstr(errors[i].message, _i ? name : "/nowhere/at/all"));
                for (size_t c = 0; c < CLASSES; c++)
                    ck_assert(isnan(got[i * CLASSES + c]));
                ck_assert_int_eq(labels[i], -1);
            } else {
                ck_assert_int_eq(errors[i].code, SVIT_OK);
                ck_assert_str_eq(errors[i].message, "");
                ck_assert_int_ge(labels[i], 0);
                is_as_alone(i);
            }
        }
    }
}
END_TEST

/* The second image is the one of the call, so that its name is no default. */
START_TEST(test_images_without_memory_are_named)
{
    NEEDS(HAS_PNG, "PNG");
    long failures = 0;
    errors[1].code = SVIT_E_MEMORY;
    for (; errors[1].code != SVIT_OK; failures++) {
        char name[32] = "encoded image 0: ";
        atomic_store(&left, failures);
        WORKS(_i ? svit_predict_encoded_images(predictor, &data[1], &bytes[1], 1, got, &errors[1],
                                               err)
                 : svit_predict_files(predictor, &paths[1], 1, got, &errors[1], err));
        atomic_store(&left, -1);
        const char *said = errors[1].message, *wanted = _i ? name : paths[1];
        if (errors[1].code == SVIT_OK)
            break;
        ck_assert_int_eq(errors[1].code, SVIT_E_MEMORY);
        ck_assert_msg(strstr(said, wanted), "%ld: %s", failures, said);
        ck_assert_msg(!strstr(strstr(said, wanted) + 1, wanted), "%ld: %s", failures, said);
    }
    ck_assert_int_gt(failures, 4);
    ck_assert_mem_eq(got, pictures[1].wanted, sizeof pictures[1].wanted);
}
END_TEST

START_TEST(test_without_errors_the_first_damaged_image_fails_the_call)
{
    NEEDS(HAS_PNG, "PNG");
    paths[5] = "/nowhere/late.png";
    paths[4] = "/nowhere/early.png";
    FAILS(predict(0, NULL, err), SVIT_E_IO, "/nowhere/early.png");
    bytes[6] = 1;
    bytes[2] = 30;
    FAILS(predict(1, NULL, err), SVIT_E_FORMAT, "encoded image 2");
    is_as_alone(0);
    bytes[2] = pictures[2].bytes;
    FAILS(predict(1, NULL, err), SVIT_E_FORMAT, "encoded image 6");
    bytes[6] = pictures[6].bytes;
    WORKS(predict(1, NULL, err));
    is_as_alone(6);
}
END_TEST

START_TEST(test_arguments_that_are_no_images_are_refused)
{
    NEEDS(HAS_PNG, "PNG");
    FAILS(svit_predict_files(predictor, paths, 0, got, errors, err), SVIT_E_ARGUMENT, "n is 0");
    FAILS(svit_predict_encoded_images(predictor, data, bytes, 0, got, errors, err), SVIT_E_ARGUMENT,
          "n is 0");
    errors[3].struct_size = 0;
    FAILS(predict(_i, errors, err), SVIT_E_ARGUMENT, "errors[3].struct_size is 0");
    paths[1] = NULL;
    FAILS(predict(0, NULL, err), SVIT_E_ARGUMENT, "paths[1] is NULL");
    data[2] = NULL;
    FAILS(predict(1, NULL, err), SVIT_E_ARGUMENT, "data[2] is NULL");
    bytes[2] = 0;
    FAILS(predict(1, NULL, err), SVIT_E_FORMAT, "0 bytes");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("encoded_images");
    TCase *c = tcase_create("encoded_images");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_many_images_are_predicted_as_each_alone, 0, 2);
    tcase_add_loop_test(c, test_damaged_images_among_others_have_their_errors, 0, 2);
    tcase_add_loop_test(c, test_images_without_memory_are_named, 0, 2);
    tcase_add_test(c, test_without_errors_the_first_damaged_image_fails_the_call);
    tcase_add_loop_test(c, test_arguments_that_are_no_images_are_refused, 0, 2);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
