/* Checks resized crops that take the place of the source step: which box of an image they see, and
 * that all kinds of datasets see the same. */
#include "build.h"
#include "data/augmentation/steps.h"
#include "data/resampling/antialias.h"
#include "data_support.h"
#include "tar_make.h"

#include <shiftvit/image.h>
#include <shiftvit/loader.h>

/* The image's red is its column, its green twice its row, its blue noise. */
enum { HEIGHT = 100, WIDTH = 240, SIDE = 16, PIXELS = SIDE * SIDE, SEED = 7, EPOCHS = 300 };

static uint8_t rgb[HEIGHT * WIDTH * 3];
static test_folder folder;
static svit_context *context;

static void setup(void)
{
    context = context_open();
    folder = folder_make();
    bytes_fill(rgb, sizeof rgb, 5);
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++) {
            rgb[3 * (y * WIDTH + x)] = (uint8_t)x;
            rgb[3 * (y * WIDTH + x) + 1] = (uint8_t)(2 * y);
        }
}

static void teardown(void)
{
    folder_remove(&folder);
    svit_context_free(context);
}

/* Values are the bytes, so that the crops can be read. */
static svit_pipeline_config pipeline_make(const char *augment)
{
    char text[400];
    svit_pipeline_config pipeline;
    snprintf(text, sizeof text,
             "{\"source_height\":%d,\"source_width\":%d,\"resize_height\":%d,\"resize_width\":%d,"
             "\"output_height\":%d,\"output_width\":%d,\"source_filter\":\"bicubic\",\"scale\":1,"
             "\"mean\":[0,0,0],\"variance\":[1,1,1],\"flip_probability\":0,\"augment\":%s}",
             SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, augment);
    WORKS(svit_pipeline_config_from_json(&pipeline, sizeof pipeline, text, err));
    return pipeline;
}

static svit_loader *loader_make(svit_dataset *dataset, const svit_pipeline_config *pipeline)
{
    svit_loader_config config;
    ck_assert_int_eq(svit_loader_config_init(&config, sizeof config), SVIT_OK);
    config.batch = 1;
    config.seed = SEED;
    config.augment = 1;
    config.prefetch = 0;
    svit_loader *loader = NULL;
    WORKS(svit_loader_create(&loader, dataset, pipeline, &config, err));
    return loader;
}

static void read_epoch(svit_loader *loader, uint64_t epoch, float image[3 * PIXELS])
{
    int32_t label;
    size_t n;
    WORKS(svit_loader_seek(loader, epoch, 0, err));
    WORKS(svit_loader_next(loader, image, &label, &n, err));
    ck_assert_uint_eq(n, 1);
}

static svit_dataset *array_open(void)
{
    static const int32_t label;
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_memory(&dataset, context, rgb, &label, 1, HEIGHT, WIDTH, 3, 1, err));
    return dataset;
}

/* The box, resized by each axis' own scale, as torchvision does it. */
static void crop_plainly(const svit_pipeline_config *pipeline, uint64_t epoch,
                         uint8_t out[3 * PIXELS])
{
    const sv_first_crop crop = {&pipeline->augment[0], {SEED, epoch, 0}};
    const sv_crop_box box = sv_augment_draw_box(&crop, HEIGHT, WIDTH);
    static uint8_t cut[sizeof rgb];
    for (size_t y = 0; y < box.height; y++)
        memcpy(cut + 3 * y * box.width, rgb + 3 * ((box.top + y) * WIDTH + box.left),
               3 * box.width);
    const sv_allocator allocator = sv_allocator_default();
    const sv_antialias_options options = {.height = box.height,
                                          .width = box.width,
                                          .channels = 3,
                                          .out_height = SIDE,
                                          .out_width = SIDE,
                                          .filter = SV_ANTIALIAS_BICUBIC};
    WORKS(sv_antialias_resize(&allocator, &options, cut, out, err));
}

START_TEST(test_the_box_is_one_of_the_whole_image)
{
    const svit_pipeline_config pipeline =
        pipeline_make("[{\"name\":\"resized-crop\",\"mode\":\"bicubic\"}]");
    svit_dataset *dataset = array_open();
    svit_loader *loader = loader_make(dataset, &pipeline);
    float image[3 * PIXELS], left = WIDTH, right = 0;
    uint8_t wanted[3 * PIXELS];
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        read_epoch(loader, epoch, image);
        crop_plainly(&pipeline, epoch, wanted);
        for (size_t i = 0; i < 3 * PIXELS; i++)
            ck_assert_float_eq(image[i], wanted[i]);
        const float first = image[0], last = image[3 * (SIDE - 1)];
        left = first < left ? first : left;
        right = last > right ? last : right;
        /* Columns and rows of a pixel: their ratio is in 3/4 to 4/3, up to rounding. */
        const float columns = last - first, rows = (image[3 * (PIXELS - 1) + 1] - image[1]) / 2;
        ck_assert_msg(columns > 0.65F * rows && columns < 1.5F * rows, "%g by %g", (double)columns,
                      (double)rows);
    }
    /* The square in the centre has the columns 70 to 169. */
    ck_assert_float_lt(left, 20);
    ck_assert_float_gt(right, WIDTH - 20);
    svit_loader_free(loader);
    svit_dataset_free(dataset);
}
END_TEST

/* An image in memory, a file in a folder, in a list and in a shard, and views of files. */
static svit_dataset *opened(size_t kind, const svit_pipeline_config *pipeline)
{
    static const size_t index;
    static const char *const names[] = {"other", "only"};
    svit_dataset *dataset = NULL, *parent = NULL;
    char path[512];
    snprintf(path, sizeof path, "%s", path_in(&folder, kind == 2 ? "list.csv" : "a.tar"));
    if (kind == 1)
        WORKS(svit_dataset_folder_pipeline(&dataset, context, folder.path, pipeline, err));
    else if (kind == 2)
        WORKS(svit_dataset_list(&dataset, context, path, pipeline, err));
    else if (kind == 3)
        WORKS(svit_dataset_shards(&dataset, context, path, pipeline, err));
    else if (kind == 4)
        WORKS(svit_dataset_slice(&dataset, parent = opened(1, pipeline), 0, 1, err));
    else if (kind == 5)
        WORKS(svit_dataset_select(&dataset, parent = opened(2, pipeline), &index, 1, err));
    else if (kind == 6)
        WORKS(svit_dataset_match_classes(&dataset, parent = opened(1, pipeline), names, 2, err));
    else
        dataset = array_open();
    svit_dataset_free(parent);
    return dataset;
}

static void write_files(void)
{
    subfolder_make(&folder, "only");
    WORKS(svit_image_write_png(context, path_in(&folder, "only/p.png"), rgb, HEIGHT, WIDTH, err));
    static const char list[] = "path,label\nonly/p.png,x\n";
    file_write(&folder, "list.csv", list, sizeof list - 1);
    void *png = NULL;
    size_t bytes = 0;
    const sv_allocator allocator = sv_allocator_default();
    WORKS(sv_file_read(&png, &bytes, &allocator, path_in(&folder, "only/p.png"), 1 << 20, err));
    tar_archive tar = {0};
    tar_member(&tar, '0', "p.png", png, bytes);
    tar_member(&tar, '0', "p.cls", "0", 1);
    tar_fill(&tar, 2 * TAR_BLOCK);
    file_write(&folder, "a.tar", tar.data, tar.bytes);
    tar_free(&tar);
    sv_release(&allocator, png, bytes + 1);
}

START_TEST(test_all_kinds_of_datasets_see_the_same_boxes)
{
    NEEDS(HAS_PNG, "PNG");
    enum { KINDS = 7 };
    const svit_pipeline_config pipeline =
        pipeline_make("[{\"name\":\"resized-crop\",\"scale\":[0.02,0.3]},{\"name\":\"flip\"},"
                      "{\"name\":\"trivialaugment\"},{\"name\":\"erasing\"}]");
    static float images[EPOCHS / 30][3 * PIXELS];
    write_files();
    for (size_t kind = 0; kind < KINDS; kind++) {
        svit_dataset *dataset = opened(kind, &pipeline);
        svit_loader *loader = loader_make(dataset, &pipeline);
        for (uint64_t epoch = 0; epoch < EPOCHS / 30; epoch++) {
            float image[3 * PIXELS];
            read_epoch(loader, epoch, image);
            if (kind == 0)
                memcpy(images[epoch], image, sizeof image);
            ck_assert_msg(memcmp(image, images[epoch], sizeof image) == 0, "kind %zu, epoch %u",
                          kind, (unsigned)epoch);
        }
        svit_loader_free(loader);
        svit_dataset_free(dataset);
    }
}
END_TEST

static Suite *resized_crop_suite(void)
{
    Suite *suite = suite_create("resized_crop");
    TCase *tcase = tcase_create("resized crop");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_the_box_is_one_of_the_whole_image);
    tcase_add_test(tcase, test_all_kinds_of_datasets_see_the_same_boxes);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(resized_crop_suite)
